/* SPDX-License-Identifier: MIT */
/*
 * Owns the renderers' entry points: each writes a page (view/model.h) in one format.  view/view.c
 * calls them.
 */
#ifndef RM_VIEW_RENDERERS_H
#define RM_VIEW_RENDERERS_H

#include "view/subject.h"

/* ---- text.c: plain text for a terminal ------------------------------------------------------- */

/** Appends the page in lines of at most `width` columns.  A narrow terminal changes the layout,
 * never the content. */
void rm_text_write(struct rm_buffer *out, const struct rm_page *page, size_t width);

/** Appends one table, without its title. */
void rm_text_table(struct rm_buffer *out, const struct rm_page_table *table, size_t width);

/* ---- html.c: one HTML file without external resources ---------------------------------------- */

/* All texts are escaped: nothing from a run becomes markup or script. */

/** Appends a page about runs. */
void rm_html_write(struct rm_buffer *out, struct rm_report *view);

/** Appends a page about groups of runs.  `meta`: the line below the title; `subjects`: the runs of
 * its charts, or none. */
void rm_html_write_compared(struct rm_buffer *out, struct rm_page *page, const char *meta,
                            struct rm_subject *subjects, size_t count);

/** Appends a table with its title (as an element `heading`, "h3"; NULL: no title) and notes, in a
 * box that scrolls on its own. */
void rm_html_table(struct rm_buffer *out, const struct rm_page_table *table, const char *heading);

/* ---- markdown.c: GitHub's Markdown, for pull requests ---------------------------------------- */

/** Appends the page. */
void rm_markdown_write(struct rm_buffer *out, const struct rm_page *page);

/** Appends the first `most` rows of a table. */
void rm_markdown_table(struct rm_buffer *out, const struct rm_page_table *table, size_t most);

/* ---- data.c: JSON for other programs --------------------------------------------------------- */

/** Appends the page with the numbers of its charts, as <resmon/report.h> documents it. */
void rm_data_write(struct rm_buffer *out, struct rm_report *view);

/** Appends the rows of a table by the keys of its columns, in SI units; NULL: no rows. */
void rm_data_write_table(struct rm_buffer *out, const struct rm_page_table *table);

#endif
