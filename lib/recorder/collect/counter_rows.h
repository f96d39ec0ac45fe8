/* SPDX-License-Identifier: MIT */
/*
 * Owns what the collectors have in common whose metrics are rows of groups.def: each metric is a
 * formula over events, which are counted at the same time.  Metrics share a set of counters where
 * every processor has enough of them.
 */
#ifndef RM_COLLECT_COUNTER_ROWS_H
#define RM_COLLECT_COUNTER_ROWS_H

#include "collect/counter_set.h"

#define RM_MAX_COUNTER_ROWS 4

struct rm_counter_rows {
    size_t count;
    struct {
        const struct rm_counter_row *row;
        struct rm_counter_set *set; /* NULL: it is not counted */
        bool is_ratio;              /* of an interval; else a total */
    } rows[RM_MAX_COUNTER_ROWS];
    size_t set_count;
    struct rm_counter_set sets[RM_MAX_COUNTER_ROWS];
};

/** Opens metrics (RM_PERF_*), as rm_collector.open: why none of them can be counted is the reason
 * of its failure; why some of them cannot is a remark. */
resmon_status rm_counter_rows_open(struct rm_collect *collect, struct rm_counter_rows *rows,
                                   const uint16_t *metrics, size_t count);

/* As rm_collector.read and .close; the state is a struct rm_counter_rows. */
resmon_status rm_counter_rows_read(struct rm_collect *collect, void *state, double *values);
void rm_counter_rows_close(void *state);

#endif
