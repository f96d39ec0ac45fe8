/* SPDX-License-Identifier: MIT */
/* <resmon/baseline.h>: checks arguments and calls down. */
#include <resmon/baseline.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/thread.h"
#include "compare/comparison.h"
#include "view/benchmarks.h"

#define LONGEST_IDLE_S (7 * 86400.0)
#define LARGEST_TEXT   ((size_t)64 << 10)

/* Sleeps until a deadline, so that interruptions by signals do not lengthen the total time. */
static void sleep_for(double seconds)
{
    int64_t until_ns = rm_clock_monotonic_ns() + (int64_t)(seconds * (double)RM_NS_PER_S);
    while (rm_clock_monotonic_ns() < until_ns) {
        rm_condition_nap(until_ns - rm_clock_monotonic_ns());
    }
}

/* The options, and in addition what the sources of energy need.  Scopes belong to the run of work,
 * so they are off unless requested. */
static resmon_monitor_options options_of(const resmon_monitor_options *given)
{
    resmon_monitor_options options = *given;
    if (options.domains != 0) {
        options.domains |= RESMON_DOMAIN_ENERGY | RESMON_DOMAIN_CPU;
    }
    if (options.scopes == 0) {
        options.flags |= RESMON_FLAG_NO_SCOPES;
    }
    return options;
}

/* Observes the machine while this thread sleeps. */
static resmon_status measure(double seconds, const resmon_monitor_options *options,
                             resmon_run **ret_run)
{
    const resmon_monitor_options known = options_of(options);
    resmon_monitor *monitor = NULL;
    resmon_status status = resmon_monitor_new(&known, &monitor);
    if (status == RESMON_OK) {
        status = resmon_monitor_start(monitor);
    }
    if (status == RESMON_OK) {
        sleep_for(seconds);
        status = resmon_monitor_stop(monitor);
    }
    if (status == RESMON_OK) {
        status = resmon_monitor_snapshot(monitor, ret_run);
    }
    resmon_monitor_free(monitor);
    return status;
}

resmon_status resmon_measure_idle(double seconds, const resmon_monitor_options *options,
                                  resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    resmon_monitor_options known = {.struct_size = sizeof known};
    if (ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_measure_idle: an argument is NULL");
    }
    if (!(seconds > 0.0 && seconds <= LONGEST_IDLE_S)) {
        return rm_error(RESMON_EINVAL,
                        "resmon_measure_idle: %g s: the time must be above 0 and at most %.0f",
                        seconds, LONGEST_IDLE_S);
    }
    resmon_status status = RESMON_OK;
    if (options != NULL) {
        status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_monitor_options), &known);
        known.struct_size = sizeof known;
    }
    return status == RESMON_OK ? measure(seconds, &known, ret_run) : status;
}

static resmon_status take_amount(const char *name, double given, double fallback, double most,
                                 double *ret_amount)
{
    if (!(given >= 0.0 && given <= most)) {
        return rm_error(RESMON_EINVAL, "%s is %g: it must be above 0 and at most %g", name, given,
                        most);
    }
    *ret_amount = given > 0.0 ? given : fallback;
    return RESMON_OK;
}

static resmon_status take_options(const resmon_comparison_options *given,
                                  resmon_comparison_options *ret_options)
{
    resmon_comparison_options known = {.struct_size = sizeof known};
    resmon_status status = RESMON_OK;
    if (given != NULL) {
        status = rm_struct_take(given, RM_STRUCT_SIZE(resmon_comparison_options), &known);
    }
    if (status == RESMON_OK) {
        status = take_amount("hours_per_day", known.hours_per_day, 8.0, 24.0,
                             &ret_options->hours_per_day);
    }
    if (status == RESMON_OK) {
        status = take_amount("days_per_year", known.days_per_year, 365.0, 366.0,
                             &ret_options->days_per_year);
    }
    return status;
}

static resmon_status check_list(const struct rm_run_list *list)
{
    if (list->runs == NULL || list->count == 0) {
        return rm_error(RESMON_EINVAL, "resmon_compare_runs: there is no %s run", list->name);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->runs[i] == NULL) {
            return rm_error(RESMON_EINVAL, "resmon_compare_runs: %s run %zu is NULL", list->name,
                            i + 1);
        }
    }
    return RESMON_OK;
}

resmon_status resmon_compare_runs(const resmon_run *const *work, size_t work_count,
                                  const resmon_run *const *idle, size_t idle_count,
                                  const resmon_comparison_options *options,
                                  resmon_comparison *ret_comparison)
{
    RM_KEEP_ERRNO;
    const struct rm_run_list works = {work, work_count, "work"};
    const struct rm_run_list idles = {idle, idle_count, "idle"};
    resmon_comparison_options known = {.struct_size = sizeof known};
    struct rm_comparison comparison;
    resmon_status status = check_list(&works);
    if (status == RESMON_OK) {
        status = check_list(&idles);
    }
    if (status == RESMON_OK) {
        status = take_options(options, &known);
    }
    if (status == RESMON_OK) {
        status = rm_compare_runs(&works, &idles, &known, &comparison);
    }
    if (status != RESMON_OK) {
        return status;
    }
    rm_comparison_put_in_words(&comparison);
    return rm_struct_give(&comparison.figures, RM_STRUCT_SIZE(resmon_comparison), ret_comparison);
}

resmon_status resmon_comparison_text(const resmon_comparison *comparison, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    resmon_comparison known;
    if (ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_comparison_text: an argument is NULL");
    }
    resmon_status status = rm_struct_take(comparison, RM_STRUCT_SIZE(resmon_comparison), &known);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_init(&buffer, LARGEST_TEXT);
    status = rm_comparison_write(&buffer, &known);
    return rm_buffer_give(&buffer, status, ret_text);
}
