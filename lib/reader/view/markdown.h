/* SPDX-License-Identifier: MIT */
/*
 * Owns Markdown as GitHub has it: what a page shows, for a pull request.
 */
#ifndef RM_VIEW_MARKDOWN_H
#define RM_VIEW_MARKDOWN_H

#include "view/model.h"

/** Appends the page. */
void rm_markdown_write(struct rm_buffer *out, const struct rm_page *page);

/** Appends a table; of more than `most` rows the first. */
void rm_markdown_table(struct rm_buffer *out, const struct rm_page_table *table, size_t most);

#endif
