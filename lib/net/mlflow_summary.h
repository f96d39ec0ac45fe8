/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures of a run that MLflow is sent once: of the nodes, the run, its scopes and its
 * energy.
 * Called by mlflow_plan.c.
 */
#ifndef RM_NET_MLFLOW_SUMMARY_H
#define RM_NET_MLFLOW_SUMMARY_H

#include "net/mlflow_plan.h"

/** Sets the points of a plan, and what is left out. */
resmon_status rm_mlflow_summary_make(struct rm_mlflow_plan *plan);

#endif
