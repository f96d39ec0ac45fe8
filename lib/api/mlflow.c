/* SPDX-License-Identifier: MIT */
/* <resmon/mlflow.h>, but for resmon_monitor_add_mlflow(). */
#include <resmon/mlflow.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "sink/mlflow.h"

resmon_status resmon_run_push_mlflow(const resmon_run *run, const resmon_mlflow_options *options)
{
    return run != NULL ? rm_mlflow_push(run, options)
                       : rm_error(RESMON_EINVAL, "resmon_run_push_mlflow: the run is NULL");
}

resmon_status resmon_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                                   resmon_mlflow_replay_info *ret_info)
{
    resmon_mlflow_replay_info info = {0};
    if (path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_mlflow_replay: the path is NULL");
    }
    resmon_status status = rm_mlflow_replay(path, options, &info);
    if (ret_info == NULL) {
        return status;
    }
    resmon_status given =
        rm_struct_give(&info, RM_STRUCT_SIZE(resmon_mlflow_replay_info), ret_info);
    return status == RESMON_OK ? given : status;
}
