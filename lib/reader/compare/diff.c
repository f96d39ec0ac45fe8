/* SPDX-License-Identifier: MIT */
#include "compare/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

#define MOST_WANTED 100000.0

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a comparison");
}

/* ---- values ------------------------------------------------------------------------------- */

static double range_of(struct rm_values values)
{
    double low = RM_NAN, high = RM_NAN;
    for (size_t i = 0; i < values.count; i++) {
        low = fmin(low, values.at[i]); /* fmin() ignores NaN */
        high = fmax(high, values.at[i]);
    }
    return high - low;
}

/* With one run on each side, no test is possible. */
static resmon_status measure(struct rm_ranks *ranks, struct rm_values before,
                             struct rm_values after, struct rm_diff_row *row)
{
    resmon_status status = rm_median_of(before, RM_DIFF_CONFIDENCE, &row->before);
    row->before_count = before.count;
    row->after_count = after.count;
    row->range = fmax(range_of(before), range_of(after));
    if (status == RESMON_OK) {
        status = rm_median_of(after, RM_DIFF_CONFIDENCE, &row->after);
    }
    if (status == RESMON_OK) {
        status = rm_shift_of(ranks, before, after, RM_DIFF_CONFIDENCE, &row->shift);
    }
    if (status == RESMON_OK && before.count > 1 && after.count > 1) {
        status = rm_ranks_test(ranks, before, after, &row->p);
    }
    return status;
}

static resmon_status add_row(struct rm_diff *diff, struct rm_ranks *ranks,
                             const struct rm_group_row *before, const struct rm_group_row *after)
{
    double *values[2] = {NULL, NULL};
    struct rm_values sides[2];
    struct rm_diff_row *row =
        rm_append(&diff->rows, &diff->row_count, &diff->row_room, sizeof *row);
    if (row == NULL) {
        return out_of_memory();
    }
    *row = (struct rm_diff_row){.path = after->path,
                                .figure = after->figure,
                                .is_counted = before->is_counted && after->is_counted,
                                .p = RM_NAN,
                                .p_of_all = RM_NAN};
    resmon_status status = rm_group_known(before, &values[0], &sides[0]);
    status = status == RESMON_OK ? rm_group_known(after, &values[1], &sides[1]) : status;
    status = status == RESMON_OK ? measure(ranks, sides[0], sides[1], row) : status;
    rm_free(values[0]);
    rm_free(values[1]);
    return status;
}

static size_t parent_length(const char *path)
{
    const char *last = strrchr(path, '/');
    return last != NULL ? (size_t)(last - path) : 0;
}

static bool is_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && path[length] == '/';
}

/* Lists the scopes of one side that the other side lacks.  Each scope has a wall time, and outer
 * scopes come first. */
static resmon_status list_alone(const struct rm_group *one, const struct rm_group *other,
                                const char ***ret_paths, size_t *ret_count)
{
    const char **paths = rm_alloc(one->row_count + 1, sizeof *paths);
    if (paths == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < one->row_count; i++) {
        const struct rm_group_row *row = &one->rows[i];
        bool is_alone = row->figure == RM_FIGURE_wall && row->path[0] != '\0' &&
                        rm_group_find(other, row->path, RM_FIGURE_wall) == NULL;
        for (size_t k = 0; is_alone && k < *ret_count; k++) {
            is_alone = !is_below(row->path, paths[k]);
        }
        if (is_alone) {
            paths[(*ret_count)++] = row->path;
        }
    }
    *ret_paths = paths;
    return RESMON_OK;
}

/* Rows are in the order of the newer side. */
static resmon_status add_rows(struct rm_diff *diff)
{
    struct rm_ranks ranks = {.at_most = NULL};
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < diff->after->row_count && status == RESMON_OK; i++) {
        const struct rm_group_row *after = &diff->after->rows[i];
        const struct rm_group_row *before = rm_group_find(diff->before, after->path, after->figure);
        status = before != NULL ? add_row(diff, &ranks, before, after) : RESMON_OK;
    }
    rm_ranks_free(&ranks);
    return status;
}

/* ---- verdicts ----------------------------------------------------------------------------- */

static int by_p(const void *left, const void *right)
{
    const struct rm_diff_row *const *a = left, *const *b = right;
    return ((*a)->p > (*b)->p) - ((*a)->p < (*b)->p);
}

/* Adjusts p-values by Holm's method: the smallest of m is multiplied by m, the next by m - 1, and
 * so on.  No adjusted value is less than the one before it. */
static resmon_status adjust(struct rm_diff *diff)
{
    size_t count = 0;
    double most = 0.0;
    struct rm_diff_row **tested = rm_alloc(diff->row_count + 1, sizeof(struct rm_diff_row *));
    if (tested == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < diff->row_count; i++) {
        if (diff->rows[i].rule != NULL && !isnan(diff->rows[i].p)) {
            tested[count++] = &diff->rows[i];
        }
    }
    qsort(tested, count, sizeof(struct rm_diff_row *), by_p);
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fmin(1.0, tested[i]->p * (double)(count - i)));
        tested[i]->p_of_all = most;
    }
    rm_free(tested);
    return RESMON_OK;
}

/* The least number of runs on each side for which the test can be significant, with this number of
 * rules. */
static double least_runs(double rules)
{
    double orders = 1.0, runs = 0.0;
    while (2.0 * rules / orders > RM_DIFF_ALPHA && runs < 50.0) {
        runs++;
        orders *= (2.0 * runs - 1.0) * 2.0 / runs; /* (2n)! / n!^2 */
    }
    return runs;
}

/* The number of runs needed for a verdict.  The width of an interval falls with the square root of
 * the number of runs. */
static uint64_t wanted_of(const struct rm_diff_row *row, size_t rules)
{
    double runs =
        (double)(row->before_count < row->after_count ? row->before_count : row->after_count);
    double least = least_runs((double)rules);
    double half = (row->shift.high - row->shift.low) / 2.0;
    double apart =
        row->shift.value > row->allowance ? row->shift.value : row->allowance - row->shift.value;
    double wanted = isnan(half) ? least : ceil(runs * (half / apart) * (half / apart));
    wanted = fmax(fmax(wanted, least), runs + 1.0);
    return wanted < MOST_WANTED ? (uint64_t)wanted : 0;
}

static enum rm_verdict judge(const struct rm_diff_row *row)
{
    if (row->is_counted) {
        return row->shift.value > row->allowance ? RM_VERDICT_WORSE : RM_VERDICT_NOT_WORSE;
    }
    if (row->p_of_all <= RM_DIFF_ALPHA && row->shift.value > row->allowance) {
        return RM_VERDICT_WORSE;
    }
    return row->shift.high <= row->allowance ? RM_VERDICT_NOT_WORSE : RM_VERDICT_CANNOT_TELL;
}

static void find_rules(struct rm_diff *diff)
{
    for (size_t i = 0; i < diff->row_count; i++) {
        struct rm_diff_row *row = &diff->rows[i];
        row->rule = rm_gate_find(diff->gate, row->path, row->figure);
        if (row->rule != NULL) {
            row->allowance = rm_gate_allowance(row->rule, row->before.value);
            diff->is_used[row->rule - diff->gate->rules] = true;
            row->is_counted &= !(row->range > row->allowance);
        }
        if (row->is_counted) {
            double by = row->after.value - row->before.value;
            row->shift = (struct rm_between){by, by, by};
            row->p = RM_NAN;
        }
    }
}

/* A rule that matches no row cannot be confirmed: then the verdict is at least CANNOT_TELL. */
static void judge_all(struct rm_diff *diff)
{
    size_t rules = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        rules += diff->rows[i].rule != NULL && !diff->rows[i].is_counted ? 1 : 0;
    }
    for (size_t i = 0; i < diff->row_count; i++) {
        struct rm_diff_row *row = &diff->rows[i];
        if (row->rule == NULL) {
            continue;
        }
        row->verdict = judge(row);
        row->runs_wanted = row->verdict == RM_VERDICT_CANNOT_TELL ? wanted_of(row, rules) : 0;
        diff->verdict = row->verdict > diff->verdict ? row->verdict : diff->verdict;
    }
    for (size_t i = 0; i < diff->gate->count; i++) {
        if (!diff->is_used[i] && diff->verdict < RM_VERDICT_CANNOT_TELL) {
            diff->verdict = RM_VERDICT_CANNOT_TELL;
        }
    }
}

/* ---- the whole comparison ----------------------------------------------------------------- */

resmon_status rm_diff_make(struct rm_diff *diff, const struct rm_group *before,
                           const struct rm_group *after, const struct rm_gate *gate)
{
    *diff = (struct rm_diff){.before = before, .after = after, .gate = gate};
    if (before->run_count == 0 || after->run_count == 0) {
        return rm_error(RESMON_EINVAL, "there is no run of %s",
                        before->run_count == 0 ? before->name : after->name);
    }
    (void)rm_group_is_same_machine(&before->machine, &after->machine, diff->machines,
                                   sizeof diff->machines);
    resmon_status status = add_rows(diff);
    if (status == RESMON_OK) {
        status = list_alone(before, after, &diff->gone, &diff->gone_count);
    }
    if (status == RESMON_OK) {
        status = list_alone(after, before, &diff->fresh, &diff->fresh_count);
    }
    if (status == RESMON_OK) {
        find_rules(diff);
        status = adjust(diff);
    }
    if (status == RESMON_OK) {
        judge_all(diff);
    }
    return status;
}

size_t rm_diff_count(const struct rm_diff *diff, enum rm_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        count += diff->rows[i].verdict == verdict ? 1 : 0;
    }
    return count;
}

/* The last of the paths in the same parent scope as `path`, and the number of such paths. */
static const char *sibling_of(const char *path, const char *const *paths, size_t count,
                              size_t *ret_siblings)
{
    const char *found = NULL;
    size_t length = parent_length(path);
    *ret_siblings = 0;
    for (size_t i = 0; i < count; i++) {
        if (parent_length(paths[i]) == length && strncmp(paths[i], path, length) == 0) {
            found = paths[i];
            (*ret_siblings)++;
        }
    }
    return found;
}

const char *rm_diff_renamed(const struct rm_diff *diff, size_t index)
{
    size_t gone, fresh;
    const char *path = diff->gone[index];
    (void)sibling_of(path, diff->gone, diff->gone_count, &gone);
    const char *now = sibling_of(path, diff->fresh, diff->fresh_count, &fresh);
    return gone == 1 && fresh == 1 ? now : NULL;
}

void rm_diff_free(struct rm_diff *diff)
{
    rm_free(diff->rows);
    rm_free(diff->gone);
    rm_free(diff->fresh);
    diff->rows = NULL;
    diff->gone = diff->fresh = NULL;
}
