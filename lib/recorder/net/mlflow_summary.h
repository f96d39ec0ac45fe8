/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures of a run that MLflow is sent once: of the nodes, the run, its scopes and its
 * energy; and what performance counters of scopes are called there: "instructions", "cache_misses",
 * and with the unit where they have one, "task_clock_seconds", behind the path of the scope.
 * Called by mlflow_plan.c.
 */
#ifndef RM_NET_MLFLOW_SUMMARY_H
#define RM_NET_MLFLOW_SUMMARY_H

#include "net/mlflow_plan.h"

/** Adds the points of a plan, the names of its counters, and how many scopes are left out. */
resmon_status rm_mlflow_summary_add(struct rm_mlflow_plan *plan);

#endif
