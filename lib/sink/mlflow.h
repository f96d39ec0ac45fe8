/* SPDX-License-Identifier: MIT */
/*
 * Owns the delivery of a run to MLflow: as a sink while it lasts and at its end, of a run that is
 * there, and of a spool file.
 */
#ifndef RM_SINK_MLFLOW_H
#define RM_SINK_MLFLOW_H

#include <resmon/mlflow.h>

#include "run/run.h"

/* Facts of a run, group "run", that tell which run in MLflow it has begun. */
#define RM_MLFLOW_FACT_UUID     "mlflow_uuid" /* the tag resmon.uuid that it is made with */
#define RM_MLFLOW_FACT_RUN      "mlflow_run"  /* the run that was made: its address for people */
#define RM_MLFLOW_FACT_ATTACHED "mlflow_attached" /* the run that it was attached to, likewise */
#define RM_MLFLOW_FACT_LEFT     "mlflow_left" /* the artifact that only MLflow's package can write */

/* Options are complete (rm_sink_take()). */
resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options);

/** `info` is filled in whatever happens. */
resmon_status rm_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                               resmon_mlflow_replay_info *info);

#endif
