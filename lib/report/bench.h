/* SPDX-License-Identifier: MIT */
/*
 * Owns the words for a group of runs: medians of its figures with their intervals, how its runs
 * lie, and those that lie far away.
 */
#ifndef RM_REPORT_BENCH_H
#define RM_REPORT_BENCH_H

#include "base/buffer.h"
#include "compare/group.h"
#include "report/sentences.h"
#include "report/table.h"

/** RESMON_ENOMEM, and the buffer is of no use. */
resmon_status rm_bench_write_text(struct rm_buffer *buffer, const struct rm_group *group);

/* ---- in pieces ---------------------------------------------------------------------------- */

#define RM_BENCH_COLUMNS 6

/* One who takes rows of the table. */
struct rm_bench_rows {
    void (*put)(const struct rm_bench_rows *rows, char (*cells)[RM_TABLE_CELL_BYTES]);
    void *context;
};

/** "./train, 12 runs, of which 1 failed". */
void rm_bench_say_title(char text[RM_SENTENCE_BYTES], const struct rm_group *group);

/** The table: its headings, and its rows.  RESMON_ENOMEM. */
extern const char *const rm_bench_headings[RM_BENCH_COLUMNS];
resmon_status rm_bench_each_row(const struct rm_group *group, const struct rm_bench_rows *rows);

/** Which runs lie far away and what else differed in them; and who else used the machine.
 * RESMON_ENOMEM. */
resmon_status rm_bench_say_remarks(const struct rm_group *group,
                                   const struct rm_sentences *sentences);

#endif
