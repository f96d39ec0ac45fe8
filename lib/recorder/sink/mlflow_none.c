/* SPDX-License-Identifier: MIT */
/* Replaces sink/mlflow.c in a library that is built without JSON, which replies of MLflow need. */
#include "sink/sinks.h"

#include "base/feature.h"

resmon_status rm_mlflow_sink_new(const resmon_mlflow_options *options, struct rm_sink *ret_sink)
{
    (void)options, (void)ret_sink;
    return rm_feature_need(RM_FEATURE_CJSON);
}

resmon_status rm_mlflow_push(const struct resmon_run *run, const resmon_mlflow_options *options)
{
    (void)run, (void)options;
    return rm_feature_need(RM_FEATURE_CJSON);
}

resmon_status rm_mlflow_requests(const struct resmon_run *run, const resmon_mlflow_options *options,
                                 struct rm_buffer *text)
{
    (void)run, (void)options, (void)text;
    return rm_feature_need(RM_FEATURE_CJSON);
}
