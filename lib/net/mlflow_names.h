/* SPDX-License-Identifier: MIT */
/*
 * Owns names as MLflow allows them.
 */
#ifndef RM_NET_MLFLOW_NAMES_H
#define RM_NET_MLFLOW_NAMES_H

#include <stddef.h>

#include <resmon/run.h>

#define RM_MLFLOW_KEY_BYTES 250       /* the longest, and its terminator */
#define RM_MLFLOW_SYSTEM    "system/" /* of keys in the tab "System metrics" */

/** A name as MLflow allows it, in `target` of `room` bytes (at most 251): of letters, digits and
 * "_.- :/", without empty, "." and ".." parts. */
void rm_mlflow_clean_name(char *target, size_t room, const char *name);

/** Of a metric that the table of views does not name, with its instance: "node.fs.used_/home". */
void rm_mlflow_column_name(char name[RM_MLFLOW_KEY_BYTES], const resmon_column *column);

#endif
