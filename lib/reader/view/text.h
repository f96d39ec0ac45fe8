/* SPDX-License-Identifier: MIT */
/*
 * Owns plain text: what a page shows, for a terminal of any width.  The width decides where things
 * stand, and not whether they do.
 */
#ifndef RM_VIEW_TEXT_H
#define RM_VIEW_TEXT_H

#include "view/model.h"

/** Appends the page in lines of at most `width` columns. */
void rm_text_write(struct rm_buffer *out, const struct rm_page *page, size_t width);

/** Appends one table, without its title. */
void rm_text_table(struct rm_buffer *out, const struct rm_page_table *table, size_t width);

#endif
