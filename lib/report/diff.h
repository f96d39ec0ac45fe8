/* SPDX-License-Identifier: MIT */
/*
 * Owns the words for a comparison of two groups of runs: a statement and a table, as plain text or
 * as Markdown.
 */
#ifndef RM_REPORT_DIFF_H
#define RM_REPORT_DIFF_H

#include "base/buffer.h"
#include "compare/diff.h"
#include "report/sentences.h"
#include "report/table.h"

struct rm_diff_terms {
    size_t width; /* in columns; 0: RESMON_REPORT_WIDTH */
    bool is_full; /* each figure of each scope */
};

void rm_diff_write_text(struct rm_buffer *buffer, const struct rm_diff *diff,
                        const struct rm_diff_terms *terms);
void rm_diff_write_markdown(struct rm_buffer *buffer, const struct rm_diff *diff,
                            const struct rm_diff_terms *terms);

/* ---- in pieces ---------------------------------------------------------------------------- */

#define RM_DIFF_COLUMNS 7

/** Appends the verdict as a sentence; without rules, how long it takes now. */
void rm_diff_say_statement(struct rm_buffer *buffer, const struct rm_diff *diff);

/** What is worse and what nobody can tell; then what was compared, and how. */
void rm_diff_say_reasons(const struct rm_diff *diff, const struct rm_sentences *sentences);
void rm_diff_say_remarks(const struct rm_diff *diff, const struct rm_sentences *sentences);

/** The table: its headings, its rows, and the cells of one.  `changed` counts rows of scopes
 * without a rule, from 0. */
extern const char *const rm_diff_headings[RM_DIFF_COLUMNS];
bool rm_diff_is_shown(const struct rm_diff_row *row, const struct rm_diff_terms *terms,
                      unsigned *changed);
void rm_diff_say_cells(char (*cells)[RM_TABLE_CELL_BYTES], const struct rm_diff_row *row);

/** "worse", "not worse", "cannot tell"; "" where there was no rule.  Static. */
const char *rm_verdict_name(enum rm_verdict verdict);

/** What a row says of its rule, in one line: "wall time +18.0 % (+222 ms): more than wall>5%". */
void rm_diff_say_row(char *text, size_t room, const struct rm_diff_row *row);

#endif
