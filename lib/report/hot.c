/* SPDX-License-Identifier: MIT */
#include "report/hot.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Of the samples, the share that must have lines. */
#define LEAST_LINED 0.5

static void put(struct rm_hot hot[RM_HOT_MOST], size_t *count, const struct rm_hot *one)
{
    size_t at = *count;
    while (at > 0 && one->amount > hot[at - 1].amount) {
        at--;
    }
    if (at == RM_HOT_MOST || !(one->amount > 0.0)) {
        return;
    }
    *count += *count < RM_HOT_MOST ? 1 : 0;
    memmove(&hot[at + 1], &hot[at], (*count - at - 1) * sizeof *hot);
    hot[at] = *one;
}

/* Texts of one function are one, so their places tell functions apart. */
static int compare_functions(const void *left, const void *right)
{
    const struct rm_line *a = left, *b = right;
    return (a->function > b->function) - (a->function < b->function);
}

static size_t find_lines(const struct rm_line *sorted, size_t count, struct rm_hot hot[RM_HOT_MOST])
{
    size_t found = 0;
    for (size_t i = 0; i < count;) {
        const char *function = sorted[i].function;
        struct rm_hot one = {.function = function};
        double most = 0.0;
        for (; i < count && sorted[i].function == function; i++) {
            one.amount += sorted[i].own;
            one.line = sorted[i].own > most ? sorted[i].line : one.line;
            most = sorted[i].own > most ? sorted[i].own : most;
        }
        put(hot, &found, &one);
    }
    return found;
}

static size_t find_functions(const struct rm_profile_sums *sums, int kind,
                             struct rm_hot hot[RM_HOT_MOST])
{
    size_t found = 0;
    for (size_t i = 0; i < sums->function_count; i++) {
        const struct rm_function_sum *function = &sums->functions[i];
        const struct rm_hot one = {function->name, 0, function->self[kind]};
        put(hot, &found, &one);
    }
    return found;
}

size_t rm_hot_find(const struct rm_profile_sums *sums, int kind, struct rm_hot hot[RM_HOT_MOST])
{
    size_t count = sums->line_count[kind];
    double lined = 0.0;
    for (size_t i = 0; i < count; i++) {
        lined += sums->lines[kind][i].own;
    }
    struct rm_line *sorted =
        lined > LEAST_LINED * sums->weight[kind] ? rm_alloc(count, sizeof *sorted) : NULL;
    if (sorted == NULL) {
        return find_functions(sums, kind, hot);
    }
    memcpy(sorted, sums->lines[kind], count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_functions);
    size_t found = find_lines(sorted, count, hot);
    rm_free(sorted);
    return found;
}
