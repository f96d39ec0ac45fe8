/* SPDX-License-Identifier: MIT */
/*
 * The table of a made run: columns that are not described yet, and rows.
 */
#ifndef RESMON_TESTS_MADE_TABLE_H
#define RESMON_TESTS_MADE_TABLE_H

#include <stdlib.h>

#include "run/run.h"

/* All of it is 0; the memory is the run's. */
static inline void made_table(struct resmon_run *run, size_t columns, size_t rows)
{
    run->columns = rm_arena_alloc(&run->strings, columns, sizeof *run->columns);
    run->t_first = rm_arena_alloc(&run->strings, rows, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, rows, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, rows, sizeof *run->row_samples);
    run->values =
        rm_arena_alloc(&run->strings, columns * rows * RM_SERIES_KINDS, sizeof *run->values);
    if (rows > 0 && (run->columns == NULL || run->t_first == NULL || run->t_last == NULL ||
                     run->row_samples == NULL || run->values == NULL)) {
        abort();
    }
    run->column_count = columns;
    run->row_count = rows;
}

#endif
