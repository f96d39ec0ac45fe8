/* SPDX-License-Identifier: MIT */
/* <resmon/mlflow.h>, but for resmon_monitor_add_mlflow(). */
#include <resmon/mlflow.h>

#include "base/buffer.h"
#include "base/keep_errno.h"
#include "base/status.h"
#include "sink/sinks.h"

#define LARGEST_TEXT ((size_t)1 << 30)

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

resmon_status resmon_run_mlflow_requests(const resmon_run *run, const char *options,
                                         char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_sink_options known = {.values = NULL};
    struct rm_buffer text;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_mlflow_requests: an argument is NULL");
    }
    resmon_mlflow_options complete;
    resmon_status status = parse(options, &known);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_init(&text, LARGEST_TEXT);
    status = take(known.values, &complete);
    status = status == RESMON_OK ? rm_mlflow_requests(run, &complete, &text) : status;
    rm_sink_options_free(&known);
    if (status != RESMON_OK) {
        rm_buffer_free(&text);
        return status;
    }
    *ret_text = text.text;
    return RESMON_OK;
}
