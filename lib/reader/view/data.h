/* SPDX-License-Identifier: MIT */
/*
 * Owns JSON for other programs: what a page shows, with the numbers of its charts; and tables by
 * the keys of their columns, in SI units.
 */
#ifndef RM_VIEW_DATA_H
#define RM_VIEW_DATA_H

#include "view/view.h"

/** Appends the page, as <resmon/report.h> has it. */
void rm_data_write(struct rm_buffer *out, struct rm_report *view);

/** Appends the rows of a table; NULL: there are none. */
void rm_data_write_table(struct rm_buffer *out, const struct rm_page_table *table);

#endif
