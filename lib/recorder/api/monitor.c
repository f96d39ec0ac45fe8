/* SPDX-License-Identifier: MIT */
/* <resmon/monitor.h>, and the sinks of other headers: checks arguments and calls the engine. */
#include <stdbool.h>
#include <string.h>

#include <resmon/emissions.h>
#include <resmon/mlflow.h>
#include <resmon/monitor.h>
#include <resmon/option.h>
#include <resmon/otlp.h>
#include <resmon/prometheus.h>
#include <resmon/stack.h>
#include <resmon/trace.h>

#include "api/plan.h"
#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "engine/lane.h"
#include "engine/monitor.h"
#include "os/reader.h"
#include "sink/sinks.h"

static resmon_status null_argument(const char *function)
{
    return rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                 resmon_monitor **ret_monitor)
{
    RM_KEEP_ERRNO;
    return ret_monitor != NULL ? rm_monitor_new(options, ret_monitor) : null_argument(__func__);
}

static resmon_status add_sinks(const struct rm_plan *plan, resmon_monitor *monitor)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < plan->sink_count && status == RESMON_OK; i++) {
        if (plan->sinks[i].is_wanted) {
            status =
                resmon_monitor_add(monitor, plan->sinks[i].set->name, plan->sinks[i].text.text);
        }
    }
    return status;
}

static resmon_status make_planned(const struct rm_plan *plan, resmon_monitor **ret_monitor)
{
    resmon_monitor *monitor = NULL;
    resmon_status status = rm_monitor_new(&plan->options, &monitor);
    if (status == RESMON_OK) {
        status = add_sinks(plan, monitor);
    }
    if (status != RESMON_OK) {
        rm_monitor_free(monitor);
        return status;
    }
    *ret_monitor = monitor;
    return RESMON_OK;
}

resmon_status resmon_monitor_new_text(const char *options, resmon_monitor **ret_monitor)
{
    RM_KEEP_ERRNO;
    if (options == NULL || ret_monitor == NULL) {
        return null_argument(__func__);
    }
    struct rm_plan *plan = rm_alloc(1, sizeof *plan);
    if (plan == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
    }
    resmon_status status = rm_plan_read(options, false, plan);
    if (status == RESMON_OK) {
        status = make_planned(plan, ret_monitor);
    }
    rm_plan_free(plan);
    rm_free(plan);
    return status;
}

resmon_status resmon_monitor_join(resmon_monitor *monitor, const char *path)
{
    RM_KEEP_ERRNO;
    resmon_run *part = NULL;
    if (monitor == NULL || path == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = resmon_run_load(path, &part);
    if (status == RESMON_OK) {
        status = rm_monitor_join(monitor, part);
    }
    if (status != RESMON_OK) {
        rm_run_free(part);
    }
    return status;
}

resmon_status resmon_monitor_remarks(const resmon_monitor *monitor, char **ret_text)
{
    RM_KEEP_ERRNO;
    char text[1024];
    if (monitor == NULL || ret_text == NULL) {
        return null_argument(__func__);
    }
    rm_monitor_remarks(monitor, text, sizeof text);
    char *copy = rm_strdup(text);
    if (copy == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for remarks on a monitor");
    }
    *ret_text = copy;
    return RESMON_OK;
}

resmon_status resmon_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                      void *context)
{
    RM_KEEP_ERRNO;
    return monitor != NULL ? rm_monitor_add_sink(monitor, ops, context) : null_argument(__func__);
}

/* Passes a new sink to the monitor, which owns it then.  On failure, closes the sink. */
static resmon_status hand_over(resmon_monitor *monitor, const struct rm_sink_kind *kind,
                               struct rm_sink *sink)
{
    sink->ops.struct_size = sizeof sink->ops;
    if (sink->take_note != NULL) {
        sink->take_note(sink->context, rm_lane_note);
    }
    resmon_status status = rm_monitor_need(monitor, kind->set.name, kind->stacks, kind->events);
    if (status == RESMON_OK && sink->file != NULL) {
        status = rm_monitor_check_file(monitor, sink->file);
    }
    if (status == RESMON_OK) {
        status = rm_monitor_add_sink(monitor, &sink->ops, sink->context);
    }
    if (status == RESMON_OK) {
        const struct rm_own_sink own = {
            .name = kind->set.name,
            .file = sink->file,
            .wants_draft = sink->wants_draft,
            .snapshot_parts = sink->snapshot_parts,
        };
        rm_monitor_own_sink(monitor, &own);
    } else if (sink->ops.close != NULL) {
        sink->ops.close(sink->context);
    }
    return status;
}

static resmon_status add(resmon_monitor *monitor, const struct rm_sink_kind *kind,
                         const void *options)
{
    struct rm_sink sink = {0};
    resmon_status status = rm_sink_make(kind, options, &sink);
    return status == RESMON_OK ? hand_over(monitor, kind, &sink) : status;
}

/* Adds the sink `name`, whose options are a struct, for the API function `function`. */
static resmon_status add_struct(resmon_monitor *monitor, const char *name, const void *options,
                                const char *function)
{
    return monitor != NULL && options != NULL ? add(monitor, rm_sink_kind_find(name), options)
                                              : null_argument(function);
}

static resmon_status no_such_sink(const char *name)
{
    char names[256] = "";
    size_t length = 0;
    struct rm_nearest nearest = rm_nearest_new(name, strlen(name));
    const struct rm_option_part part = {.from = name, .length = strlen(name), .key = name};
    const struct rm_sink_kind *kind;
    for (size_t i = 0; (kind = rm_sink_kind_at(i)) != NULL; i++) {
        rm_nearest_try(&nearest, kind->set.name);
        length +=
            rm_text_set(names + length, sizeof names - length, i > 0 ? ", " : "the sinks are ");
        length += rm_text_set(names + length, sizeof names - length, kind->set.name);
    }
    return rm_option_unknown("", &part, &nearest, names);
}

/* Finds a sink by its name, and parses its options. */
static resmon_status find_sink(const char *name, const char *options,
                               const struct rm_sink_kind **ret_kind,
                               struct rm_sink_options *ret_options)
{
    *ret_kind = rm_sink_kind_find(name);
    return *ret_kind != NULL ? rm_sink_parse(*ret_kind, options != NULL ? options : "", ret_options)
                             : no_such_sink(name);
}

resmon_status resmon_monitor_add(resmon_monitor *monitor, const char *sink, const char *options)
{
    RM_KEEP_ERRNO;
    const struct rm_sink_kind *kind = NULL;
    struct rm_sink_options known = {.values = NULL};
    if (monitor == NULL || sink == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = find_sink(sink, options, &kind, &known);
    if (status == RESMON_OK) {
        status = add(monitor, kind, known.values);
        rm_sink_options_free(&known);
    }
    return status;
}

resmon_status resmon_run_export(const resmon_run *run, const char *sink, const char *options)
{
    RM_KEEP_ERRNO;
    const struct rm_sink_kind *kind = NULL;
    struct rm_sink_options known = {.values = NULL};
    if (run == NULL || sink == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = find_sink(sink, options, &kind, &known);
    if (status == RESMON_OK) {
        status = rm_sink_export(kind, known.values, run);
        rm_sink_options_free(&known);
    }
    return status;
}

resmon_status resmon_monitor_add_json(resmon_monitor *monitor, const resmon_json_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "json", options, __func__);
}

resmon_status resmon_monitor_add_csv(resmon_monitor *monitor, const resmon_csv_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "csv", options, __func__);
}

resmon_status resmon_monitor_add_emissions(resmon_monitor *monitor,
                                           const resmon_emissions_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "emissions", options, __func__);
}

resmon_status resmon_monitor_add_trace(resmon_monitor *monitor, const resmon_trace_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "trace", options, __func__);
}

/* The name of a sink of stacks, by the format, and for folded stacks also by the kind. */
static const char *name_of_stacks(int32_t format, int32_t kind)
{
    static const char *const folded[] = {
        [RESMON_STACK_CPU] = "folded",
        [RESMON_STACK_MEMORY] = "folded_memory",
        [RESMON_STACK_FILE] = "folded_file",
        [RESMON_STACK_RESIDENT] = "folded_resident",
    };
    bool has_kind = format == RESMON_STACKS_FOLDED;
    if (kind < 0 || kind >= (has_kind ? (int32_t)RM_ARRAY_LEN(folded) : 1)) {
        return NULL;
    }
    return has_kind ? folded[kind] : format == RESMON_STACKS_PPROF ? "pprof" : NULL;
}

resmon_status resmon_monitor_add_stacks(resmon_monitor *monitor,
                                        const resmon_stacks_options *options)
{
    RM_KEEP_ERRNO;
    resmon_stacks_options known;
    if (monitor == NULL || options == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_stacks_options), &known);
    if (status != RESMON_OK) {
        return status;
    }
    const char *name = name_of_stacks(known.format, known.kind);
    if (name == NULL) {
        return rm_error(RESMON_EINVAL,
                        "options of stacks: there is no format %d with kind %d; only folded stacks "
                        "have a kind other than 0",
                        known.format, known.kind);
    }
    return add_struct(monitor, name, options, __func__);
}

resmon_status resmon_monitor_add_mlflow(resmon_monitor *monitor,
                                        const resmon_mlflow_options *options)
{
    RM_KEEP_ERRNO;
    return monitor != NULL ? add(monitor, rm_sink_kind_find("mlflow"), options)
                           : null_argument(__func__);
}

resmon_status resmon_monitor_add_otlp(resmon_monitor *monitor, const resmon_otlp_options *options)
{
    RM_KEEP_ERRNO;
    return monitor != NULL ? add(monitor, rm_sink_kind_find("otlp"), options)
                           : null_argument(__func__);
}

resmon_status resmon_monitor_add_prometheus(resmon_monitor *monitor,
                                            const resmon_prometheus_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "prometheus", options, __func__);
}

resmon_status resmon_monitor_add_pushgateway(resmon_monitor *monitor,
                                             const resmon_pushgateway_options *options)
{
    RM_KEEP_ERRNO;
    return add_struct(monitor, "pushgateway", options, __func__);
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
    RM_KEEP_ERRNO;
    return monitor != NULL ? rm_monitor_start(monitor) : null_argument(__func__);
}

resmon_status resmon_monitor_stop(resmon_monitor *monitor)
{
    RM_KEEP_ERRNO;
    if (monitor == NULL) {
        return null_argument(__func__);
    }
    resmon_status status = rm_monitor_stop(monitor);
    rm_monitor_wait_closed(monitor);
    return status;
}

void resmon_monitor_free(resmon_monitor *monitor)
{
    RM_KEEP_ERRNO;
    rm_monitor_free(monitor);
}

resmon_status resmon_monitor_tag(resmon_monitor *monitor, const char *label)
{
    RM_KEEP_ERRNO;
    if (monitor == NULL || label == NULL) {
        return RESMON_EINVAL; /* no error text, since this may be a signal handler */
    }
    return rm_monitor_tag(monitor, label);
}

resmon_status resmon_monitor_set_label(resmon_monitor *monitor, const char *label)
{
    RM_KEEP_ERRNO;
    return monitor != NULL && label != NULL ? rm_monitor_set_label(monitor, label)
                                            : null_argument(__func__);
}

resmon_status resmon_monitor_sample_now(resmon_monitor *monitor)
{
    RM_KEEP_ERRNO;
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
    RM_KEEP_ERRNO;
    return capture(monitor, RM_PART_ALL | RM_PART_NAMES, ret_run, __func__);
}

resmon_status resmon_monitor_summary(resmon_monitor *monitor, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    return capture(monitor, RM_PART_SUMMARY | RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_scopes(resmon_monitor *monitor, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    return capture(monitor, RM_PART_SCOPES, ret_run, __func__);
}

resmon_status resmon_monitor_sources(resmon_monitor *monitor, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    return capture(monitor, RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_save(resmon_monitor *monitor, const char *path)
{
    RM_KEEP_ERRNO;
    resmon_run *run = NULL;
    resmon_status status =
        path != NULL ? resmon_monitor_snapshot(monitor, &run) : null_argument(__func__);
    if (status == RESMON_OK) {
        status = resmon_run_save(run, path);
        resmon_run_free(run);
    }
    return status;
}

resmon_status resmon_load_reader(void)
{
    RM_KEEP_ERRNO;
    return rm_reader() != NULL ? RESMON_OK : RESMON_ENOTSUP;
}
