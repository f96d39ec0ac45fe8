/* SPDX-License-Identifier: MIT */
/*
 * Owns the words for a comparison of work with idling: its statement, and its text.
 */
#ifndef RM_VIEW_COMPARISON_H
#define RM_VIEW_COMPARISON_H

#include "base/buffer.h"
#include "compare/comparison.h"

/** Fills `method` and `statement` of the figures. */
void rm_comparison_put_in_words(struct rm_comparison *comparison);

/** Appends the table, how it was made, and the statement.  Its texts may be of outside origin.
 * RESMON_ENOMEM. */
resmon_status rm_comparison_write(struct rm_buffer *buffer, const resmon_comparison *comparison);

#endif
