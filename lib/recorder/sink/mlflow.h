/* SPDX-License-Identifier: MIT */
/*
 * Owns the delivery of a run to MLflow: as a sink while it lasts and at its end, and of a run that
 * is there.  What a sink could not send is in a run document, with what a later push needs as
 * facts.
 */
#ifndef RM_SINK_MLFLOW_H
#define RM_SINK_MLFLOW_H

#include <resmon/mlflow.h>

#include "base/buffer.h"
#include "run/run.h"

/* Facts of a run, group "run", that tell which run in MLflow it has begun. */
#define RM_MLFLOW_FACT_UUID     "mlflow_uuid" /* the tag resmon.uuid that it is made with */
#define RM_MLFLOW_FACT_RUN      "mlflow_run"  /* the run that was made: its address for people */
#define RM_MLFLOW_FACT_ATTACHED "mlflow_attached" /* the run that it was attached to, likewise */
#define RM_MLFLOW_FACT_LEFT     "mlflow_left" /* the artifact that only MLflow's package can write */

/* Options are complete (rm_sink_take()). */
resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options);

/** Adds what a push would send, as JSON, for a store that only MLflow's package can write to. */
resmon_status rm_mlflow_requests(const struct resmon_run *run, const resmon_mlflow_options *options,
                                 struct rm_buffer *text);

#endif
