/* SPDX-License-Identifier: MIT */
/*
 * <resmon/mlflow.h>, except resmon_monitor_add_mlflow(), and <resmon/prometheus.h>: checks
 * arguments and calls lower layers.
 */
#include <resmon/mlflow.h>
#include <resmon/prometheus.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "format/prometheus.h"
#include "sink/sinks.h"

#define LARGEST_REQUESTS   ((size_t)1 << 30)
#define LARGEST_EXPOSITION ((size_t)256 << 20)

/* ---- MLflow --------------------------------------------------------------------------------- */

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

/* ---- MLflow, options as text ---------------------------------------------------------------- */

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
    rm_buffer_init(&text, LARGEST_REQUESTS);
    status = take(known.values, &complete);
    status = status == RESMON_OK ? rm_mlflow_requests(run, &complete, &text) : status;
    rm_sink_options_free(&known);
    return rm_buffer_give(&text, status, ret_text);
}

/* ---- Prometheus ----------------------------------------------------------------------------- */

static resmon_status read_options(const resmon_prometheus_options *given,
                                  resmon_prometheus_options *ret_options)
{
    *ret_options = (resmon_prometheus_options){.struct_size = sizeof *ret_options};
    if (given == NULL) {
        return RESMON_OK;
    }
    resmon_status status =
        rm_struct_take(given, RM_STRUCT_SIZE(resmon_prometheus_options), ret_options);
    if (status == RESMON_OK && (ret_options->flags & ~RM_PROMETHEUS_FLAGS) != 0) {
        return rm_error(RESMON_EINVAL, "resmon_prometheus_options: unknown flags");
    }
    return status;
}

resmon_status resmon_prometheus_text(const resmon_run *run,
                                     const resmon_prometheus_options *options, char **ret_text)
{
    RM_KEEP_ERRNO;
    resmon_prometheus_options known;
    struct rm_labels labels = {0};
    struct rm_buffer buffer;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_prometheus_text: an argument is NULL");
    }
    resmon_status status = read_options(options, &known);
    if (status == RESMON_OK) {
        status = rm_labels_take(known.labels, known.label_count, &labels);
    }
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_prometheus how = {.flags = known.flags, .labels = &labels};
    rm_buffer_init(&buffer, LARGEST_EXPOSITION);
    status = rm_prometheus_print(run, &how, &buffer);
    rm_labels_free(&labels);
    return rm_buffer_give(&buffer, status, ret_text);
}
