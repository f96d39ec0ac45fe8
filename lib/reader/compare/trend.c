/* SPDX-License-Identifier: MIT */
#include "compare/trend.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

/* ---- changes of a level ---------------------------------------------------------------------- */

#define RM_CHANGES_LEAST 3U    /* values between two changes, at least */
#define RM_CHANGES_MOST  1000U /* values of a series, at most */

#define ORDERS 999U /* random orders for each test */

/* A series while it is searched; segment i is from bounds[i] to bounds[i + 1]. */
struct series {
    const double *values;
    size_t count;
    double *shuffled;
    size_t *bounds;
    size_t segments;
    uint64_t random; /* G. L. Steele and others: Fast Splittable Pseudorandom Number Generators */
};

struct split {
    size_t at; /* 0: there is no split */
    double apart;
};

/* ---- the best split ----------------------------------------------------------------------- */

static double pairs(size_t count)
{
    return count > 1 ? (double)count * (double)(count - 1) / 2.0 : 1.0;
}

/* The energy distance between the first `left` of `count` values and the other values, times n m /
 * (n + m).  `sums` are the sums of distances: between both parts, within the first part, within the
 * second part. */
static double distance(const double sums[3], size_t left, size_t count)
{
    double n = (double)left, m = (double)(count - left);
    double apart = 2.0 * sums[0] / (n * m) - sums[1] / pairs(left) - sums[2] / pairs(count - left);
    return apart * n * m / (n + m);
}

static struct split best_split(const double *values, size_t count)
{
    double sums[3] = {0.0, 0.0, 0.0};
    struct split best = {0, -HUGE_VAL};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            sums[2] += fabs(values[i] - values[k]);
        }
    }
    for (size_t left = 1; left + RM_CHANGES_LEAST <= count; left++) { /* moves one value leftward */
        double to_left = 0.0, to_right = 0.0, moved = values[left - 1];
        for (size_t k = 0; k < left - 1; k++) {
            to_left += fabs(moved - values[k]);
        }
        for (size_t k = left; k < count; k++) {
            to_right += fabs(moved - values[k]);
        }
        sums[0] += to_right - to_left;
        sums[1] += to_left;
        sums[2] -= to_right;
        double apart = distance(sums, left, count);
        if (left >= RM_CHANGES_LEAST && apart > best.apart) {
            best = (struct split){left, apart};
        }
    }
    return best;
}

static struct split best_of_segments(const struct series *series, const double *values)
{
    struct split best = {0, -HUGE_VAL};
    for (size_t i = 0; i < series->segments; i++) {
        size_t first = series->bounds[i];
        struct split split = best_split(values + first, series->bounds[i + 1] - first);
        if (split.at > 0 && split.apart > best.apart) {
            best = (struct split){first + split.at, split.apart};
        }
    }
    return best;
}

/* ---- significance ------------------------------------------------------------------------- */

static size_t below(struct series *series, size_t bound)
{
    uint64_t z = series->random += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return (size_t)((z ^ z >> 31) % bound);
}

static void shuffle_segments(struct series *series)
{
    for (size_t i = 0; i < series->segments; i++) {
        double *values = series->shuffled + series->bounds[i];
        for (size_t left = series->bounds[i + 1] - series->bounds[i]; left > 1; left--) {
            size_t other = below(series, left);
            double kept = values[left - 1];
            values[left - 1] = values[other];
            values[other] = kept;
        }
    }
}

/* The share of random orders with a split that is as good.  Returns 1 as soon as this share is too
 * high. */
static double chance_of(struct series *series, double apart)
{
    unsigned as_good = 1; /* the original order counts as one */
    memcpy(series->shuffled, series->values, series->count * sizeof *series->values);
    for (unsigned i = 0; i < ORDERS; i++) {
        shuffle_segments(series);
        as_good += best_of_segments(series, series->shuffled).apart >= apart * (1.0 - 1e-9) ? 1 : 0;
        if (as_good > RM_CHANGES_ALPHA * (ORDERS + 1)) {
            return 1.0;
        }
    }
    return as_good / (ORDERS + 1.0);
}

/* ---- all changes -------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
    const struct rm_change *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static void add_bound(struct series *series, size_t at)
{
    size_t i = ++series->segments;
    series->bounds[i] = series->bounds[i - 1];
    for (; i > 1 && series->bounds[i - 1] > at; i--) {
        series->bounds[i] = series->bounds[i - 1];
    }
    series->bounds[i] = at;
    series->bounds[series->segments] = series->count;
}

static size_t find_all(struct series *series, struct rm_change *changes)
{
    size_t count = 0;
    series->segments = 1;
    series->bounds[1] = series->count;
    for (;;) {
        struct split split = best_of_segments(series, series->values);
        double p = split.at > 0 && split.apart > 0.0 ? chance_of(series, split.apart) : 1.0;
        if (p > RM_CHANGES_ALPHA) {
            return count;
        }
        changes[count++] = (struct rm_change){split.at, p};
        add_bound(series, split.at);
    }
}

resmon_status rm_changes_find(struct rm_values values, struct rm_change **ret_changes,
                              size_t *ret_count)
{
    struct series series = {
        .values = values.at,
        .count = values.count,
        .shuffled = rm_alloc(values.count + 1, sizeof(double)),
        .bounds = rm_alloc(values.count + 2, sizeof(size_t)),
    };
    struct rm_change *changes = rm_alloc(values.count + 1, sizeof *changes);
    resmon_status status = RESMON_OK;
    *ret_changes = NULL;
    *ret_count = 0;
    if (series.shuffled == NULL || series.bounds == NULL || changes == NULL) {
        rm_free(changes);
        status = rm_error(RESMON_ENOMEM, "out of memory for the changes of a series");
    } else {
        *ret_count = find_all(&series, changes);
        qsort(changes, *ret_count, sizeof *changes, compare_places);
        *ret_changes = changes;
    }
    rm_free(series.shuffled);
    rm_free(series.bounds);
    return status;
}

/* ---- series ---------------------------------------------------------------------------------- */

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a trend");
}

/* ---- documents ---------------------------------------------------------------------------- */

static int64_t time_of(const struct rm_groups *groups)
{
    int64_t first = 0;
    for (size_t i = 0; i < groups->count; i++) {
        int64_t begin = groups->at[i].realtime_ns;
        first = begin != 0 && (first == 0 || begin < first) ? begin : first;
    }
    return first;
}

resmon_status rm_trend_add(struct rm_trend *trend, const char *label,
                           const struct rm_groups *groups)
{
    struct rm_trend_document *grown =
        rm_grow(trend->documents, trend->count, &trend->room, sizeof *grown);
    trend->documents = grown != NULL ? grown : trend->documents;
    const char *copy = rm_arena_text(&trend->strings, label, strlen(label));
    if (grown == NULL || copy == NULL) {
        return out_of_memory();
    }
    grown[trend->count] = (struct rm_trend_document){
        .label = copy, .realtime_ns = time_of(groups), .order = trend->count, .groups = groups};
    trend->count++;
    return RESMON_OK;
}

static int compare_order(const void *left, const void *right)
{
    const struct rm_trend_document *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_times(const void *left, const void *right)
{
    const struct rm_trend_document *a = left, *b = right;
    int by_time = (a->realtime_ns > b->realtime_ns) - (a->realtime_ns < b->realtime_ns);
    return by_time != 0 ? by_time : compare_order(left, right);
}

static void sort(struct rm_trend *trend)
{
    bool has_times = true;
    for (size_t i = 0; i < trend->count; i++) {
        has_times &= trend->documents[i].realtime_ns != 0;
    }
    if (trend->count > 0) {
        qsort(trend->documents, trend->count, sizeof *trend->documents,
              has_times ? compare_times : compare_order);
    }
}

/* ---- series ------------------------------------------------------------------------------- */

/* Whether a value gets a series: the main values of the run, and the wall time of scopes. */
static bool is_followed(const struct rm_group_row *row)
{
    return row->figure == RM_FIGURE_wall ||
           (row->path[0] == '\0' &&
            (row->figure == RM_FIGURE_cpu || row->figure == RM_FIGURE_peak ||
             row->figure == RM_FIGURE_energy || row->figure == RM_FIGURE_instructions));
}

static bool is_same(const struct rm_trend_series *series, const struct rm_group *group,
                    const struct rm_group_row *row)
{
    char text[512];
    return series->figure == row->figure && strcmp(series->path, row->path) == 0 &&
           strcmp(series->group->name, group->name) == 0 &&
           rm_group_is_same_machine(&series->group->machine, &group->machine, text, sizeof text);
}

static struct rm_trend_series *find_series(const struct rm_trend *trend,
                                           const struct rm_group *group,
                                           const struct rm_group_row *row)
{
    for (size_t i = 0; i < trend->series_count; i++) {
        if (is_same(&trend->series[i], group, row)) {
            return &trend->series[i];
        }
    }
    return NULL;
}

static struct rm_trend_series *add_series(struct rm_trend *trend, const struct rm_group *group,
                                          const struct rm_group_row *row)
{
    struct rm_trend_series *series =
        rm_append(&trend->series, &trend->series_count, &trend->series_room, sizeof *series);
    if (series != NULL) {
        *series =
            (struct rm_trend_series){.group = group, .path = row->path, .figure = row->figure};
    }
    return series;
}

static resmon_status add_point(struct rm_trend *trend, size_t document,
                               const struct rm_group *group, const struct rm_group_row *row)
{
    double *copy = NULL;
    struct rm_values known;
    struct rm_between median = {.value = 0.0};
    resmon_status status = rm_group_known(row, &copy, &known);
    bool is_known = status == RESMON_OK && known.count > 0;
    status = is_known ? rm_median_of(known, 0.95, &median) : status;
    rm_free(copy);
    if (status != RESMON_OK || !is_known || !isfinite(median.value)) {
        return status;
    }
    struct rm_trend_series *series = find_series(trend, group, row);
    if (series == NULL && trend->series_count == RM_TREND_SERIES) {
        trend->left_out++;
        return RESMON_OK;
    }
    series = series != NULL ? series : add_series(trend, group, row);
    struct rm_trend_point *point =
        series != NULL ? rm_append(&series->points, &series->count, &series->room, sizeof *point)
                       : NULL;
    if (point == NULL) {
        return out_of_memory();
    }
    *point = (struct rm_trend_point){document, median};
    return RESMON_OK;
}

static resmon_status add_document(struct rm_trend *trend, size_t document)
{
    const struct rm_groups *groups = trend->documents[document].groups;
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < groups->count; i++) {
        const struct rm_group *group = &groups->at[i];
        for (size_t k = 0; k < group->row_count && status == RESMON_OK; k++) {
            if (is_followed(&group->rows[k])) {
                status = add_point(trend, document, group, &group->rows[k]);
            }
        }
    }
    return status;
}

/* ---- changes ------------------------------------------------------------------------------ */

/* Sets the medians of the points of both levels, and the shift between the levels. */
static resmon_status describe(struct rm_trend_change *change, const double *values, size_t first,
                              size_t end)
{
    struct rm_ranks ranks = {.n = 0};
    const struct rm_values before = {values + first, change->at - first},
                           after = {values + change->at, end - change->at};
    struct rm_between one, other;
    resmon_status status = rm_median_of(before, 0.95, &one);
    status = status == RESMON_OK ? rm_median_of(after, 0.95, &other) : status;
    if (status == RESMON_OK) {
        change->before = one.value;
        change->after = other.value;
        status = rm_shift_of(&ranks, before, after, 0.95, &change->shift);
    }
    rm_ranks_free(&ranks);
    return status;
}

static resmon_status take_changes(struct rm_trend_series *series, const double *values,
                                  size_t count, size_t skipped)
{
    struct rm_change *found = NULL;
    resmon_status status =
        rm_changes_find((struct rm_values){values, count}, &found, &series->change_count);
    size_t found_count = status == RESMON_OK ? series->change_count : 0;
    series->changes = rm_alloc(found_count + 1, sizeof *series->changes);
    if (series->changes == NULL) {
        found_count = 0;
        status = status == RESMON_OK ? out_of_memory() : status;
    }
    for (size_t i = 0; i < found_count && status == RESMON_OK; i++) {
        struct rm_trend_change *change = &series->changes[i];
        *change = (struct rm_trend_change){.at = found[i].at, .p = found[i].p};
        status = describe(change, values, i > 0 ? found[i - 1].at : 0,
                          i + 1 < found_count ? found[i + 1].at : count);
        change->at += skipped;
    }
    series->change_count = status == RESMON_OK ? found_count : 0;
    rm_free(found);
    return status;
}

static resmon_status find_changes(struct rm_trend_series *series)
{
    size_t count = series->count < RM_CHANGES_MOST ? series->count : RM_CHANGES_MOST;
    size_t skipped = series->count - count;
    double *values = rm_alloc(count + 1, sizeof *values);
    if (values == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = series->points[skipped + i].median.value;
    }
    resmon_status status = take_changes(series, values, count, skipped);
    rm_free(values);
    return status;
}

/* ---- all ---------------------------------------------------------------------------------- */

static size_t count_machines(const struct rm_trend *trend)
{
    size_t count = 0;
    char text[512];
    for (size_t i = 0; i < trend->series_count; i++) {
        size_t k = 0;
        while (k < i &&
               !rm_group_is_same_machine(&trend->series[k].group->machine,
                                         &trend->series[i].group->machine, text, sizeof text)) {
            k++;
        }
        count += k == i ? 1 : 0;
    }
    return count;
}

static void free_series(struct rm_trend *trend)
{
    for (size_t i = 0; i < trend->series_count; i++) {
        rm_free(trend->series[i].points);
        rm_free(trend->series[i].changes);
    }
    trend->series_count = 0;
    trend->left_out = 0;
}

resmon_status rm_trend_make(struct rm_trend *trend)
{
    resmon_status status = RESMON_OK;
    free_series(trend);
    sort(trend);
    for (size_t i = 0; i < trend->count && status == RESMON_OK; i++) {
        status = add_document(trend, i);
    }
    for (size_t i = 0; i < trend->series_count && status == RESMON_OK; i++) {
        status = find_changes(&trend->series[i]);
    }
    trend->machines = count_machines(trend);
    return status;
}

void rm_trend_free(struct rm_trend *trend)
{
    free_series(trend);
    rm_free(trend->series);
    rm_free(trend->documents);
    rm_arena_free(&trend->strings);
}
