/* SPDX-License-Identifier: MIT */
/*
 * Owns what performance counters of scopes are called in MLflow: "instructions", "cache_misses",
 * and with the unit where they have one, "task_clock_seconds".  net/mlflow_summary.c puts the path
 * of the scope before it.
 */
#ifndef RM_NET_MLFLOW_COUNTERS_H
#define RM_NET_MLFLOW_COUNTERS_H

#include "run/run.h"

#define RM_MLFLOW_COUNTER_BYTES 72 /* a name of libpfm4, "_seconds", "_2" */

/** A name for each counter of the run: none twice, none that a figure of scopes has; "" for those
 * that were not counted. */
void rm_mlflow_counters_name(const struct resmon_run *run,
                             char ret_names[RM_SCOPE_COUNTERS][RM_MLFLOW_COUNTER_BYTES]);

#endif
