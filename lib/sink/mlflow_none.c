/* SPDX-License-Identifier: MIT */
/* In place of sink/mlflow*.c when the library is built without JSON. */
#include "sink/mlflow.h"

#include "base/status.h"

static resmon_status unsupported(void)
{
    return rm_error(RESMON_ENOTSUP, "this libresmon was built without JSON (cJSON), which MLflow "
                                    "needs");
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
