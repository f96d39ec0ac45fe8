/* SPDX-License-Identifier: MIT */
#include "compare/changes.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

#define ORDERS 999U /* that chance is asked for */

/* A series that is being looked at; segment i is from bounds[i] to bounds[i + 1]. */
struct series {
    const double *values;
    size_t count;
    double *shuffled;
    size_t *bounds;
    size_t segments;
    uint64_t random; /* G. L. Steele and others: Fast Splittable Pseudorandom Number Generators */
};

struct split {
    size_t at; /* 0: there is none */
    double apart;
};

/* ---- the best split ----------------------------------------------------------------------- */

static double pairs(size_t count)
{
    return count > 1 ? (double)count * (double)(count - 1) / 2.0 : 1.0;
}

/* The energy distance of the first `left` of `count` values to the others, times n m / (n + m).
 * Sums of distances: between the two, within the first, within the second. */
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
    for (size_t left = 1; left + RM_CHANGES_LEAST <= count; left++) { /* one more is left of it */
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

/* ---- chance ------------------------------------------------------------------------------- */

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

/* How often chance has a split that is as good; as soon as that is too often, 1. */
static double chance_of(struct series *series, double apart)
{
    unsigned as_good = 1; /* the order as it is */
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
