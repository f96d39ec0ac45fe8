/* SPDX-License-Identifier: MIT */
/* <resmon/mlflow.h>, but for resmon_monitor_add_mlflow(). */
#include <resmon/mlflow.h>

#include "base/keep_errno.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "sink/mlflow.h"
#include "sink/sinks.h"

static resmon_status take(const resmon_mlflow_options *given, resmon_mlflow_options *ret_known)
{
    return rm_sink_take(rm_sink_kind_find("mlflow"), given, ret_known);
}

resmon_status resmon_run_push_mlflow(const resmon_run *run, const resmon_mlflow_options *options)
{
    RM_KEEP_ERRNO;
    resmon_mlflow_options known;
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_push_mlflow: the run is NULL");
    }
    resmon_status status = take(options, &known);
    return status == RESMON_OK ? rm_mlflow_push(run, &known) : status;
}

resmon_status resmon_mlflow_replay(const char *path, const resmon_mlflow_options *options,
                                   resmon_mlflow_replay_info *ret_info)
{
    RM_KEEP_ERRNO;
    resmon_mlflow_replay_info info = {0};
    if (path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_mlflow_replay: the path is NULL");
    }
    resmon_mlflow_options known;
    resmon_status status = take(options, &known);
    status = status == RESMON_OK ? rm_mlflow_replay(path, &known, &info) : status;
    if (ret_info == NULL) {
        return status;
    }
    resmon_status given =
        rm_struct_give(&info, RM_STRUCT_SIZE(resmon_mlflow_replay_info), ret_info);
    return status == RESMON_OK ? given : status;
}

/* ---- options as text ---------------------------------------------------------------------- */

static resmon_status parse(const char *text, struct rm_sink_options *ret_options)
{
    return text != NULL ? rm_sink_parse(rm_sink_kind_find("mlflow"), text, ret_options)
                        : rm_error(RESMON_EINVAL, "the options for MLflow are NULL");
}

resmon_status resmon_run_push_mlflow_text(const resmon_run *run, const char *options)
{
    RM_KEEP_ERRNO;
    struct rm_sink_options known = {.values = NULL};
    resmon_status status = parse(options, &known);
    if (status == RESMON_OK) {
        status = resmon_run_push_mlflow(run, known.values);
        rm_sink_options_free(&known);
    }
    return status;
}

resmon_status resmon_mlflow_replay_text(const char *path, const char *options,
                                        resmon_mlflow_replay_info *ret_info)
{
    RM_KEEP_ERRNO;
    struct rm_sink_options known = {.values = NULL};
    resmon_status status = parse(options, &known);
    if (status == RESMON_OK) {
        status = resmon_mlflow_replay(path, known.values, ret_info);
        rm_sink_options_free(&known);
    }
    return status;
}
