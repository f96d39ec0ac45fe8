/* SPDX-License-Identifier: MIT */
/*
 * Owns names as MLflow allows them.
 * Called by all that makes keys for MLflow.
 */
#ifndef RM_NET_MLFLOW_NAMES_H
#define RM_NET_MLFLOW_NAMES_H

#include <stddef.h>

#include <resmon/run.h>

#define RM_MLFLOW_LONGEST_KEY 250           /* bytes that a server takes */
#define RM_MLFLOW_SYSTEM      "system/"     /* of keys in the tab "System metrics" */
#define RM_MLFLOW_POINT_HEAD  "{\"key\":\"" /* of a point in JSON, up to its key */

/** A name as MLflow allows it, in `target` of `room` bytes (at most 251): of letters, digits and
 * "_.- :/", without empty, "." and ".." parts. */
void rm_mlflow_clean_name(char *target, size_t room, const char *name);

/** Of a metric that the table of views does not name, with its instance: "node.fs.used_/home".
 * There is room before it, within the longest key, for "system/resmon/run/". */
void rm_mlflow_column_name(char name[RM_MLFLOW_LONGEST_KEY], const resmon_column *column);

#endif
