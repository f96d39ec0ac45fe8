/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "engine/options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/stack.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/text.h"
#include "store/block.h"
#include "store/scope_counts.h"
#include "sys/pfm.h"

/* Whole numbers: from where to where, default, bounds. */
static const struct {
    const char *name;
    size_t from, to;
    uint64_t fallback, low, high;
} numbers[] = {
#define NUMBER(field, target, fallback, low, high)                                            \
    {                                                                                         \
#field, offsetof(resmon_monitor_options, field), offsetof(struct rm_options, target), \
            (fallback), (low), (high)                                                         \
    }
    NUMBER(interval_ms, interval_ms, 100, 1, 86400000),
    NUMBER(max_rows, rows, 400, 2, RM_MAX_ROWS),
    NUMBER(max_tags, tags, 1024, 1, RM_MAX_TAGS),
    NUMBER(max_scope_paths, paths, 2048, 8, RM_MAX_NODES),
    NUMBER(max_scope_threads, threads, 256, 1, RM_MAX_THREADS),
    NUMBER(max_scope_depth, depth, 64, 1, RM_MAX_DEPTH),
    NUMBER(stop_timeout_ms, stop_timeout_ms, 10000, 1, 86400000),
    NUMBER(max_events, events, 0, 0, RM_MAX_EVENTS),
    NUMBER(stack_hz, stack_hz, 99, 1, 1000),
    NUMBER(fault_period, fault_period, 64, 1, 1000000),
#undef NUMBER
};

/* Sets of bits: from where to where, default, what is known. */
static const struct {
    const char *name;
    size_t from, to;
    uint64_t fallback, known;
} sets[] = {
#define SET(field, target, fallback, known)                                                   \
    {                                                                                         \
#field, offsetof(resmon_monitor_options, field), offsetof(struct rm_options, target), \
            (fallback), (known)                                                               \
    }
    SET(domains, domains, RESMON_DOMAIN_ALL, RESMON_DOMAIN_ALL),
    SET(flags, flags, 0,
        RESMON_FLAG_SMAPS | RESMON_FLAG_NO_SCOPES | RESMON_FLAG_IDLE_NONE |
            RESMON_FLAG_IDLE_ALLOCATED),
    SET(scope_meters, meters, RESMON_METER_WALL, RESMON_METER_ALL),
    SET(stacks, stacks, 0, RESMON_STACKS_ALL),
#undef SET
};

static uint64_t field_at(const void *base, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)base + offset, sizeof value);
    return value;
}

static void set_field(struct rm_options *options, size_t offset, uint64_t value)
{
    memcpy((char *)options + offset, &value, sizeof value);
}

static resmon_status read_numbers(const resmon_monitor_options *given, struct rm_options *options)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        uint64_t value = field_at(given, numbers[i].from);
        value = value != 0 ? value : numbers[i].fallback;
        if (value < numbers[i].low || value > numbers[i].high) {
            return rm_error(RESMON_ERANGE, "%s is %llu: it may be %llu to %llu", numbers[i].name,
                            (unsigned long long)value, (unsigned long long)numbers[i].low,
                            (unsigned long long)numbers[i].high);
        }
        set_field(options, numbers[i].to, value);
    }
    if (options->rows % 2 != 0) {
        return rm_error(RESMON_ERANGE, "max_rows is %llu: it must be even, for halving",
                        (unsigned long long)options->rows);
    }
    options->interval_ns = (int64_t)options->interval_ms * RM_NS_PER_MS;
    return RESMON_OK;
}

static resmon_status read_sets(const resmon_monitor_options *given, struct rm_options *options)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(sets); i++) {
        uint64_t value = field_at(given, sets[i].from);
        if ((value & ~sets[i].known) != 0) {
            return rm_error(RESMON_EINVAL, "%s has unknown bits: 0x%llx", sets[i].name,
                            (unsigned long long)(value & ~sets[i].known));
        }
        set_field(options, sets[i].to, value != 0 ? value : sets[i].fallback);
    }
    options->meters |= RESMON_METER_WALL;
    return RESMON_OK;
}

static resmon_status read_share(const char *name, double given, double fallback, double high,
                                double *ret_share)
{
    if (isnan(given) || given < 0.0 || given > high) {
        return rm_error(RESMON_ERANGE, "%s is %g: it may be 0 (the default, %g) to %g", name, given,
                        fallback, high);
    }
    *ret_share = given > 0.0 ? given : fallback;
    return RESMON_OK;
}

static resmon_status copy_text(const char *given, char **ret_copy)
{
    *ret_copy = given != NULL ? rm_strdup(given) : NULL;
    if (given != NULL && *ret_copy == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the options of a monitor");
    }
    return RESMON_OK;
}

static resmon_status copy_texts(const resmon_monitor_options *given, struct rm_options *options)
{
    resmon_status status = copy_text(given->name != NULL ? given->name : "", &options->name);
    if (status == RESMON_OK) {
        status = copy_text(given->fs_root, &options->fs_root);
    }
    if (status == RESMON_OK) {
        status = copy_text(given->record, &options->record);
    }
    if (status == RESMON_OK) {
        status = copy_text(secure_getenv("RESMON_ENERGY_ROOT"), &options->energy_root);
    }
    return status;
}

/* Options that are wrong are refused; a site's file that is wrong is a remark in the run. */
static resmon_status find_place(const resmon_monitor_options *given, struct rm_options *options)
{
    resmon_carbon_options carbon;
    struct rm_job_environment environment = rm_job_own_environment;
    environment.root = options->fs_root;
    resmon_status status =
        given->carbon != NULL
            ? rm_struct_take(given->carbon, RM_STRUCT_SIZE(resmon_carbon_options), &carbon)
            : RESMON_OK;
    if (status != RESMON_OK || (options->domains & RESMON_DOMAIN_ENERGY) == 0) {
        return status;
    }
    status = rm_place_find(given->carbon != NULL ? &carbon : NULL, &environment, &options->place);
    if (status != RESMON_OK && status != RESMON_EINVAL) {
        (void)rm_text_set(options->place_remark, sizeof options->place_remark, resmon_last_error());
        rm_log(RESMON_LOG_WARNING, "where the machine stands: %s", options->place_remark);
        status = RESMON_OK;
    } else if (status == RESMON_OK && options->place.unknown[0] != '\0') {
        (void)snprintf(options->place_remark, sizeof options->place_remark,
                       "the place '%s' is in no table: the world's average is taken",
                       options->place.unknown);
    }
    return status;
}

/* Names that libpfm4 does not know are refused; where there is no libpfm4, the run says so. */
static resmon_status read_counters(const char *name, const char *text, size_t most,
                                   struct rm_counters_wanted *ret_wanted)
{
    char why[RM_ERROR_TEXT_BYTES];
    struct rm_pfm_code code;
    resmon_status status = rm_counters_parse(text, most, ret_wanted);
    for (size_t i = 0; i < ret_wanted->event_count && status == RESMON_OK; i++) {
        const struct rm_perf_event *event = &ret_wanted->events[i];
        status = event->is_named ? rm_pfm_encode(event->name, &code) : RESMON_OK;
        status = status == RESMON_ENOTSUP ? RESMON_OK : status;
    }
    if (status != RESMON_OK) {
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        return rm_error(status, "%s: %s", name, why);
    }
    return RESMON_OK;
}

static resmon_status read_all_counters(const resmon_monitor_options *given,
                                       struct rm_options *options)
{
    const char *of_scopes = given->scope_counters != NULL ? given->scope_counters : "default";
    resmon_status status =
        given->counters != NULL
            ? read_counters("counters", given->counters, RM_WANTED_EVENTS, &options->counters)
            : RESMON_OK;
    options->meters |= given->scope_counters != NULL ? RESMON_METER_PERF : 0;
    if (status == RESMON_OK && (options->meters & RESMON_METER_PERF) != 0) {
        status =
            read_counters("scope_counters", of_scopes, RM_SCOPE_COUNTERS, &options->scope_counters);
    }
    if (status == RESMON_OK &&
        (options->scope_counters.groups & ~(RM_COUNTERS_DEFAULT | RM_COUNTERS_EVENTS)) != 0) {
        status = rm_error(RESMON_EINVAL, "scope_counters: of the groups, only default is for "
                                         "scopes; events may be named");
    }
    if (status == RESMON_OK && (options->scope_counters.groups & RM_COUNTERS_DEFAULT) != 0 &&
        options->scope_counters.event_count > RM_SCOPE_COUNTERS / 2) {
        status = rm_error(RESMON_EINVAL,
                          "scope_counters: %s is one event too many: beside the "
                          "default ones there may be %d",
                          options->scope_counters.events[RM_SCOPE_COUNTERS / 2].name,
                          RM_SCOPE_COUNTERS / 2);
    }
    return status;
}

static resmon_status read_all(const resmon_monitor_options *given, struct rm_options *options)
{
    resmon_status status = read_numbers(given, options);
    if (status == RESMON_OK) {
        status = read_sets(given, options);
    }
    if (status == RESMON_OK) {
        status = read_share("max_overhead", given->max_overhead, 0.01, 1.0, &options->max_overhead);
    }
    if (status == RESMON_OK) {
        status = read_share("max_meter_share", given->max_meter_share, 0.01, 1e9,
                            &options->max_meter_share);
    }
    if (status == RESMON_OK && given->pid < 0) {
        status = rm_error(RESMON_EINVAL, "pid is %lld", (long long)given->pid);
    }
    if (status != RESMON_OK) {
        return status;
    }
    options->pid = given->pid;
    options->wants_scopes = (options->flags & RESMON_FLAG_NO_SCOPES) == 0;
    options->needs_scopes = options->wants_scopes && given->scope_meters != 0;
    status = copy_texts(given, options);
    if (status == RESMON_OK) {
        status = read_all_counters(given, options);
    }
    return status == RESMON_OK ? find_place(given, options) : status;
}

resmon_status rm_options_read(const resmon_monitor_options *given, struct rm_options *ret_options)
{
    resmon_monitor_options known = {.struct_size = sizeof known};
    struct rm_options options = {0};
    resmon_status status =
        given != NULL ? rm_struct_take(given, RM_STRUCT_SIZE(resmon_monitor_options), &known)
                      : RESMON_OK;
    if (status == RESMON_OK) {
        status = read_all(&known, &options);
    }
    if (status != RESMON_OK) {
        rm_options_free(&options);
        return status;
    }
    *ret_options = options;
    return RESMON_OK;
}

void rm_options_free(struct rm_options *options)
{
    rm_free(options->name);
    rm_free(options->fs_root);
    rm_free(options->record);
    rm_free(options->energy_root);
    *options = (struct rm_options){0};
}
