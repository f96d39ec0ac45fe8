/* SPDX-License-Identifier: MIT */
/*
 * Owns the delivery of a run to MLflow: as a sink while it lasts and at its end, of a run that is
 * there, and of a spool file.
 */
#ifndef RM_SINK_MLFLOW_H
#define RM_SINK_MLFLOW_H

#include <resmon/mlflow.h>

#include "sink/sink.h"
#include "store/run.h"

resmon_status rm_mlflow_sink_new(const resmon_mlflow_options *options, struct rm_sink *ret_sink);

resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options);

/** `info` is filled in whatever happens. */
resmon_status rm_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                               resmon_mlflow_replay_info *info);

#endif
