/* SPDX-License-Identifier: MIT */
#include "collect/counter_rows.h"

#include <string.h>

#include "base/text.h"
#include "collect/collect.h"

/* All of its events, or none: a part of a sum is no sum. */
static resmon_status check_all(const struct rm_counter_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->counters[i].status != RESMON_OK) {
            return rm_error(set->counters[i].status, "%s", set->counters[i].why);
        }
    }
    return RESMON_OK;
}

static resmon_status open_row(struct rm_collect *collect, struct rm_counter_rows *rows,
                              size_t index, const char *metric)
{
    struct rm_counter_set *set = &rows->rows[index].set;
    resmon_status status = rm_counter_set_open_row(collect, set, metric, &rows->rows[index].row);
    if (status == RESMON_OK) {
        status = check_all(set);
    }
    if (status != RESMON_OK) {
        rm_counter_set_close(set);
        return status;
    }
    const struct rm_counter_row *row = rows->rows[index].row;
    rows->rows[index].is_ratio = strchr(row->formula, '/') != NULL;
    rm_collect_remark(collect, row->note != NULL ? row->note : "");
    return RESMON_OK;
}

resmon_status rm_counter_rows_open(struct rm_collect *collect, struct rm_counter_rows *rows,
                                   const char *const *metrics, size_t count)
{
    char why[sizeof collect->remark] = "";
    size_t counted = 0;
    resmon_status worst = rm_counters_open(collect);
    if (worst != RESMON_OK) {
        return worst;
    }
    rows->count = count;
    for (size_t i = 0; i < count; i++) {
        resmon_status status = open_row(collect, rows, i, metrics[i]);
        counted += status == RESMON_OK ? 1 : 0;
        /* That there are no counters says more than what these would not tell. */
        if (status != RESMON_OK && (worst == RESMON_OK || rows->rows[i].row == NULL ||
                                    rows->rows[i].row->formula != NULL)) {
            worst = status;
            (void)rm_text_set(why, sizeof why, resmon_last_error());
        }
    }
    if (counted > 0) {
        rm_collect_remark(collect, why);
        return RESMON_OK;
    }
    return rm_error(worst, "%s", why);
}

resmon_status rm_counter_rows_read(struct rm_collect *collect, void *state, double *values)
{
    struct rm_counter_rows *rows = state;
    (void)collect;
    for (size_t i = 0; i < rows->count; i++) {
        struct rm_counter_set *set = &rows->rows[i].set;
        if (set->count > 0) {
            rm_counter_set_read(set);
            values[i] =
                rm_counter_set_evaluate(set, rows->rows[i].row->formula, rows->rows[i].is_ratio);
        }
    }
    return RESMON_OK;
}

void rm_counter_rows_close(void *state)
{
    struct rm_counter_rows *rows = state;
    for (size_t i = 0; i < rows->count; i++) {
        rm_counter_set_close(&rows->rows[i].set);
    }
}
