/* SPDX-License-Identifier: MIT */
/*
 * Owns which series of a run are shown in MLflow's "System metrics", under which names and in which
 * units.
 * Called by mlflow_plan.c.
 */
#ifndef RM_NET_MLFLOW_SERIES_H
#define RM_NET_MLFLOW_SERIES_H

#include "net/mlflow_plan.h"

/** Adds the series of a plan. */
resmon_status rm_mlflow_series_add(struct rm_mlflow_plan *plan);

#endif
