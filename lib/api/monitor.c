/* SPDX-License-Identifier: MIT */
/* <resmon/monitor.h>, and the sinks of other headers: checks arguments and calls down. */
#include <resmon/monitor.h>
#include <resmon/prometheus.h>
#include <resmon/stack.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "engine/monitor.h"
#include "sink/csv.h"
#include "sink/document.h"
#include "sink/emissions.h"
#include "sink/mlflow.h"
#include "sink/openmetrics.h"
#include "sink/pushgateway.h"
#include "sink/stacks.h"
#include "sink/textfile.h"
#include "sink/trace.h"

static resmon_status null_argument(const char *function)
{
    return rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                 resmon_monitor **ret_monitor)
{
    return ret_monitor != NULL ? rm_monitor_new(options, ret_monitor) : null_argument(__func__);
}

resmon_status resmon_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                      void *context)
{
    return monitor != NULL ? rm_monitor_add_sink(monitor, ops, context) : null_argument(__func__);
}

/* Hands a sink that was made over to the monitor, or closes it. */
static resmon_status hand_over(resmon_monitor *monitor, resmon_status made, struct rm_sink *sink)
{
    if (made != RESMON_OK) {
        return made;
    }
    sink->ops.struct_size = sizeof sink->ops;
    resmon_status status = rm_monitor_add_sink(monitor, &sink->ops, sink->context);
    if (status != RESMON_OK && sink->ops.close != NULL) {
        sink->ops.close(sink->context);
    }
    return status;
}

resmon_status resmon_monitor_add_json(resmon_monitor *monitor, const resmon_json_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_json_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_csv(resmon_monitor *monitor, const resmon_csv_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_csv_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_emissions(resmon_monitor *monitor,
                                           const resmon_emissions_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_emissions_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_trace(resmon_monitor *monitor, const resmon_trace_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_trace_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_stacks(resmon_monitor *monitor,
                                        const resmon_stacks_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_stacks_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_mlflow(resmon_monitor *monitor,
                                        const resmon_mlflow_options *options)
{
    struct rm_sink sink;
    return monitor == NULL ? null_argument(__func__)
                           : hand_over(monitor, rm_mlflow_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_prometheus(resmon_monitor *monitor,
                                            const resmon_prometheus_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_prometheus_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_pushgateway(resmon_monitor *monitor,
                                             const resmon_pushgateway_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_pushgateway_sink_new(options, &sink), &sink);
}

resmon_status resmon_monitor_add_openmetrics(resmon_monitor *monitor,
                                             const resmon_openmetrics_options *options)
{
    struct rm_sink sink;
    return monitor == NULL || options == NULL
               ? null_argument(__func__)
               : hand_over(monitor, rm_openmetrics_sink_new(options, &sink), &sink);
}

size_t resmon_monitor_sink_count(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_sink_count(monitor) : 0;
}

resmon_status resmon_monitor_get_sink(resmon_monitor *monitor, size_t index,
                                      resmon_sink_info *ret_info)
{
    resmon_sink_info info;
    if (monitor == NULL || ret_info == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = rm_monitor_get_sink(monitor, index, &info);
    return status == RESMON_OK ? rm_struct_give(&info, RM_STRUCT_SIZE(resmon_sink_info), ret_info)
                               : status;
}

resmon_status resmon_monitor_start(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_start(monitor) : null_argument(__func__);
}

resmon_status resmon_monitor_stop(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_stop(monitor) : null_argument(__func__);
}

void resmon_monitor_free(resmon_monitor *monitor)
{
    rm_monitor_free(monitor);
}

resmon_status resmon_monitor_tag(resmon_monitor *monitor, const char *label)
{
    if (monitor == NULL || label == NULL) {
        return RESMON_EINVAL; /* no text: this may be a signal handler */
    }
    return rm_monitor_tag(monitor, label);
}

resmon_status resmon_monitor_set_label(resmon_monitor *monitor, const char *label)
{
    return monitor != NULL && label != NULL ? rm_monitor_set_label(monitor, label)
                                            : null_argument(__func__);
}

resmon_status resmon_monitor_sample_now(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_sample(monitor) : null_argument(__func__);
}

static resmon_status capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run,
                             const char *function)
{
    return monitor != NULL && ret_run != NULL ? rm_monitor_capture(monitor, parts, ret_run)
                                              : null_argument(function);
}

resmon_status resmon_monitor_snapshot(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_ALL, ret_run, __func__);
}

resmon_status resmon_monitor_summary(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SUMMARY | RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_scopes(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SCOPES, ret_run, __func__);
}

resmon_status resmon_monitor_sources(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_save(resmon_monitor *monitor, const char *path)
{
    resmon_run *run = NULL;
    resmon_status status =
        path != NULL ? resmon_monitor_snapshot(monitor, &run) : null_argument(__func__);
    if (status == RESMON_OK) {
        status = resmon_run_save(run, path);
        resmon_run_free(run);
    }
    return status;
}
