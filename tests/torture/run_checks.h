/* SPDX-License-Identifier: MIT */
/*
 * What must hold of every run, whoever recorded it and however its program died.  Plain predicates
 * with a reason, so that forked children and steppers can use them too.
 */
#ifndef RESMON_TESTS_RUN_CHECKS_H
#define RESMON_TESTS_RUN_CHECKS_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runs.h"

struct verdict {
    bool is_bad;
    char why[400];
};

__attribute__((format(printf, 2, 3))) static inline bool object(struct verdict *verdict,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!verdict->is_bad) {
        (void)vsnprintf(verdict->why, sizeof verdict->why, format, args);
    }
    va_end(args);
    verdict->is_bad = true;
    return false;
}

static inline resmon_run_scope scope_of(const resmon_run *run, size_t index)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    (void)resmon_run_get_scope(run, index, &scope);
    return scope;
}

static inline resmon_run_event event_of(const resmon_run *run, size_t index)
{
    resmon_run_event event = {.struct_size = sizeof event};
    (void)resmon_run_get_event(run, index, &event);
    return event;
}

/* Sorted by thread and start, with figures that can be. */
static inline bool check_event_bounds(const resmon_run *run, struct verdict *verdict)
{
    for (size_t i = 0; i < resmon_run_event_count(run); i++) {
        resmon_run_event event = event_of(run, i);
        resmon_run_event before = event_of(run, i > 0 ? i - 1 : 0);
        if (event.start_ns < 0 || event.duration_ns < 0 || event.depth > 255 || event.is_open > 1) {
            return object(verdict, "event %zu '%s': start %lld, duration %lld, depth %llu", i,
                          event.name, (long long)event.start_ns, (long long)event.duration_ns,
                          (unsigned long long)event.depth);
        }
        if (before.thread_id > event.thread_id ||
            (before.thread_id == event.thread_id && before.start_ns > event.start_ns)) {
            return object(verdict, "event %zu '%s' is out of order", i, event.name);
        }
    }
    return true;
}

/* And each event inside of one that is less deep by one: an outer one is younger when it ends, so
 * that it is kept if one inside of it is. */
static inline bool check_events(const resmon_run *run, struct verdict *verdict)
{
    struct {
        int64_t start, end;
    } outer[256];
    size_t known = 0;
    if (!check_event_bounds(run, verdict)) {
        return false;
    }
    for (size_t i = 0; i < resmon_run_event_count(run); i++) {
        resmon_run_event event = event_of(run, i);
        int64_t end = event.start_ns + event.duration_ns;
        if (i > 0 && event_of(run, i - 1).thread_id != event.thread_id) {
            known = 0;
        }
        if (event.depth > known ||
            (event.depth > 0 &&
             (event.start_ns < outer[event.depth - 1].start || end > outer[event.depth - 1].end))) {
            return object(verdict, "event %zu '%s' at depth %llu is in none of depth %llu", i,
                          event.name, (unsigned long long)event.depth,
                          (unsigned long long)event.depth - 1);
        }
        outer[event.depth].start = event.start_ns;
        outer[event.depth].end = end;
        known = (size_t)event.depth + 1;
    }
    return true;
}

/* Rows follow each other without overlap, and hold every sample once.  A run that was killed, or
 * looked at from outside, while it halved its rows has some at the front that are merged already.
 */
static inline bool check_spans(const resmon_run *run, uint64_t max_rows, struct verdict *verdict)
{
    resmon_run_info info = info_of(run);
    size_t rows = resmon_run_row_count(run);
    const int64_t *first = resmon_run_row_first_ns(run);
    const int64_t *last = resmon_run_row_last_ns(run);
    const uint64_t *samples = resmon_run_row_samples(run);
    uint64_t sum = 0;
    uint64_t width = strcmp(info.state, "stopped") != 0 ? 2 * info.stride : info.stride;
    if (rows > max_rows + 1) {
        return object(verdict, "%zu rows with max_rows %llu", rows, (unsigned long long)max_rows);
    }
    for (size_t r = 0; r < rows; r++) {
        bool is_last = r + 1 == rows;
        sum += samples[r];
        if (first[r] > last[r] || (r > 0 && first[r] <= last[r - 1])) {
            return object(verdict, "row %zu spans %lld to %lld after %lld", r, (long long)first[r],
                          (long long)last[r], r > 0 ? (long long)last[r - 1] : -1LL);
        }
        width = samples[r] == width ? width : info.stride;
        if (samples[r] == 0 || samples[r] > width || (!is_last && samples[r] != width)) {
            return object(verdict, "row %zu of %zu has %llu samples at stride %llu", r, rows,
                          (unsigned long long)samples[r], (unsigned long long)info.stride);
        }
    }
    if (sum != info.samples) {
        return object(verdict, "the rows hold %llu samples, the run %llu", (unsigned long long)sum,
                      (unsigned long long)info.samples);
    }
    if (rows > 0 && (first[0] < 0 || last[rows - 1] > info.duration_ns)) {
        return object(verdict, "rows outside of the run");
    }
    return true;
}

/* Extremes and totals of the rows are those of the statistics, exactly. */
static inline bool check_column(const resmon_run *run, size_t c, struct verdict *verdict)
{
    resmon_column stats = {.struct_size = sizeof stats};
    resmon_column column = {.struct_size = sizeof column};
    size_t rows = resmon_run_row_count(run);
    if (resmon_run_get_column(run, c, &stats) != RESMON_OK ||
        resmon_run_get_column(run, c, &column) != RESMON_OK) {
        return object(verdict, "column %zu has no statistics", c);
    }
    const double *last = resmon_run_series(run, c, RESMON_SERIES_LAST);
    const double *low = resmon_run_series(run, c, RESMON_SERIES_MIN);
    const double *high = resmon_run_series(run, c, RESMON_SERIES_MAX);
    const double *mean = resmon_run_series(run, c, RESMON_SERIES_MEAN);
    double lowest = NAN, highest = NAN, newest = NAN;
    for (size_t r = 0; r < rows; r++) {
        lowest = fmin(lowest, low[r]);
        highest = fmax(highest, high[r]);
        if (column.kind == RESMON_COUNTER && last[r] < newest) {
            return object(verdict, "%s falls from %g to %g in row %zu", column.metric, newest,
                          last[r], r);
        }
        newest = isnan(last[r]) ? newest : last[r];
        double slack = 1e-9 * (fabs(low[r]) + fabs(high[r]));
        if (mean[r] < low[r] - slack || mean[r] > high[r] + slack) {
            return object(verdict, "%s: mean %g outside of %g ... %g in row %zu", column.metric,
                          mean[r], low[r], high[r], r);
        }
    }
    if (stats.n > info_of(run).samples) {
        return object(verdict, "%s: more readings than samples", column.metric);
    }
    if (stats.n > 0 && rows > 0 &&
        ((lowest != stats.min && !(isnan(lowest) && isnan(stats.min))) ||
         (highest != stats.max && !(isnan(highest) && isnan(stats.max))) || newest != stats.last)) {
        return object(verdict, "%s: rows say %g ... %g, last %g; statistics %g ... %g, last %g",
                      column.metric, lowest, highest, newest, stats.min, stats.max, stats.last);
    }
    return true;
}

static inline bool check_columns(const resmon_run *run, struct verdict *verdict)
{
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        if (!check_column(run, c, verdict)) {
            return false;
        }
    }
    return true;
}

/* Of a scope, the calls that ended. */
static inline resmon_run_scope ended_of(resmon_run_scope scope)
{
    scope.calls -= scope.open;
    scope.wall_ns -= scope.open_ns;
    return scope;
}

/* What holds of each node whatever the program did.  `elapsed_ns`: the longest that any scope can
 * have lasted, with a margin for the clock's calibration. */
static inline bool check_scope(const resmon_run *run, size_t index, double elapsed_ns,
                               struct verdict *verdict)
{
    resmon_run_scope whole = scope_of(run, index), scope = ended_of(whole);
    double calls = (double)scope.calls;
    double slack = 1e-6 * (whole.wall_ns + 1.0);
    if (scope.parent >= (int64_t)index || (scope.parent < 0) != (scope.depth == 0) ||
        (scope.parent >= 0 && scope_of(run, (size_t)scope.parent).depth + 1 != scope.depth)) {
        return object(verdict, "%s: parent %lld, depth %llu at index %zu", scope.name,
                      (long long)scope.parent, (unsigned long long)scope.depth, index);
    }
    if (scope.calls > 0 && !(scope.wall_min_ns <= scope.wall_max_ns &&
                             scope.wall_ns >= calls * scope.wall_min_ns - slack &&
                             scope.wall_ns <= calls * scope.wall_max_ns + slack &&
                             scope.wall_min_ns >= 0.0 && scope.wall_max_ns <= elapsed_ns)) {
        return object(verdict, "%s: %llu calls, %g ns in all, %g ... %g of at most %g", scope.name,
                      (unsigned long long)scope.calls, scope.wall_ns, scope.wall_min_ns,
                      scope.wall_max_ns, elapsed_ns);
    }
    if (scope.calls == 0 && fabs(scope.wall_ns) > slack) {
        return object(verdict, "%s: no calls, but %g ns", scope.name, scope.wall_ns);
    }
    if (scope.calls > 1 &&
        !(scope.wall_stddev_ns >= 0.0 &&
          scope.wall_stddev_ns <= (scope.wall_max_ns - scope.wall_min_ns) * 1.01 + 1.0)) {
        return object(verdict, "%s: standard deviation %g of %g ... %g", scope.name,
                      scope.wall_stddev_ns, scope.wall_min_ns, scope.wall_max_ns);
    }
    if (!(scope.self_ns >= 0.0 && scope.self_ns <= whole.wall_ns + slack)) {
        return object(verdict, "%s: %g ns itself, of %g", scope.name, scope.self_ns, whole.wall_ns);
    }
    if (scope.cpu_calls > scope.calls || scope.io_calls > scope.calls ||
        scope.rss_calls > scope.calls) {
        return object(
            verdict, "%s: metered more often than called (%llu cpu, %llu io, %llu rss, %llu)",
            scope.name, (unsigned long long)scope.cpu_calls, (unsigned long long)scope.io_calls,
            (unsigned long long)scope.rss_calls, (unsigned long long)scope.calls);
    }
    if (scope.rss_calls > 0 && !(scope.rss_peak_bytes > 0.0 && scope.rss_peak_bytes < 0x1p40)) {
        return object(verdict, "%s: peak RSS %g", scope.name, scope.rss_peak_bytes);
    }
    if (scope.cpu_calls > 0 &&
        !(scope.cpu_ns.value >= 0.0 && scope.cpu_ns.value <= elapsed_ns * 16.0 * calls)) {
        return object(verdict, "%s: %g ns of CPU time", scope.name, scope.cpu_ns.value);
    }
    return true;
}

static inline bool check_scopes(const resmon_run *run, double elapsed_ns, struct verdict *verdict)
{
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        if (!check_scope(run, i, elapsed_ns, verdict)) {
            return false;
        }
    }
    return true;
}

/* Labels "0", "1", ... as one thread wrote them: what is kept is a stretch without a gap. */
static inline bool check_numbered_tags(const resmon_run *run, uint64_t *ret_next,
                                       struct verdict *verdict)
{
    unsigned long long before = 0;
    int64_t t_before = 0;
    for (size_t i = 0; i < resmon_run_tag_count(run); i++) {
        resmon_run_tag tag = {.struct_size = sizeof tag};
        unsigned long long number;
        (void)resmon_run_get_tag(run, i, &tag);
        if (sscanf(tag.label, "tag %llu", &number) != 1 || tag.t_ns < t_before ||
            (i > 0 && number != before + 1)) {
            return object(verdict, "tag %zu is '%s' at %lld, after number %llu at %lld", i,
                          tag.label, (long long)tag.t_ns, before, (long long)t_before);
        }
        before = number;
        t_before = tag.t_ns;
    }
    *ret_next = resmon_run_tag_count(run) > 0 ? (uint64_t)before + 1 : 0;
    return true;
}

/* The scope called `name` below `parent` (-1: at the top), or -1. */
static inline int64_t find_scope(const resmon_run *run, int64_t parent, const char *name)
{
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = scope_of(run, i);
        if (scope.parent == parent && strcmp(scope.name, name) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

#endif
