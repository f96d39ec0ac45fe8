/* SPDX-License-Identifier: MIT */
/* In place of sink/mlflow.c when the library is built without the network, or without JSON, which
 * the answers of MLflow need. */
#include "sink/mlflow.h"

#include "base/feature.h"
#include "sink/sinks.h"

static resmon_status unsupported(void)
{
    resmon_status status = rm_feature_need(RM_FEATURE_NET);
    return status == RESMON_OK ? rm_feature_need(RM_FEATURE_CJSON) : status;
}

resmon_status rm_mlflow_sink_new(const resmon_mlflow_options *options, struct rm_sink *ret_sink)
{
    (void)options, (void)ret_sink;
    return unsupported();
}

resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options)
{
    (void)run, (void)options;
    return unsupported();
}

resmon_status rm_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                               resmon_mlflow_replay_info *info)
{
    (void)path, (void)options, (void)info;
    return unsupported();
}
