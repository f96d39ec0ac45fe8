/* SPDX-License-Identifier: MIT */
/*
 * Owns rows of a label, a value and clauses: "  CPU          1.095 s   0.9 s user; ...", never
 * wider than the page; or, for another page than a terminal, the same separated by tabs.
 */
#ifndef RM_REPORT_ROWS_H
#define RM_REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/compiler.h"

#define RM_ROWS_CLAUSE_BYTES 512

struct rm_rows {
    struct rm_buffer *buffer;
    size_t width;   /* of the page, in columns */
    bool is_tabbed; /* label, value and clauses stand behind each other, separated by tabs */
    bool is_begun;
    bool has_clause;
    size_t indent; /* of the lines that a row takes beyond its first */
    size_t used;   /* columns of the row that is being written */
};

/** Begins a row.  `value` NULL: its clauses begin where values do. */
void rm_rows_begin(struct rm_rows *rows, const char *label, const char *value);

/** Adds a clause, on a line of its own where it does not fit behind the others. */
void RM_PRINTF(2, 3) rm_rows_clause(struct rm_rows *rows, const char *format, ...);

/** Adds a clause to the row without a value that the first of them begins. */
void rm_rows_remark(struct rm_rows *rows, const char *label, const char *text);

/** Ends the row that was begun, if any. */
void rm_rows_end(struct rm_rows *rows);

#endif
