/* SPDX-License-Identifier: MIT */
/*
 * Owns HTML: what a page shows as one file that needs no other.  Nothing from a run becomes markup
 * or script: texts are escaped.
 */
#ifndef RM_VIEW_HTML_H
#define RM_VIEW_HTML_H

#include "view/charts.h"
#include "view/view.h"

/** Appends a page about runs. */
void rm_html_write(struct rm_buffer *out, struct rm_report *view);

/** Appends a page about a comparison.  `meta` below its title; the runs of its charts, or none. */
void rm_html_write_compared(struct rm_buffer *out, struct rm_page *page, const char *meta,
                            struct rm_subject *subjects, size_t count);

/* ---- in pieces ----------------------------------------------------------------------------- */

/** Text of any origin. */
void rm_html_text(struct rm_buffer *out, const char *text);

/** Text of any origin between two pieces of markup. */
void rm_html_element(struct rm_buffer *out, const char *opening, const char *text,
                     const char *closing);

/** With so many decimals, and a point in every locale. */
void rm_html_number(struct rm_buffer *out, double value, int decimals);

/** A table with its title (in `heading`, "h3"; NULL: none) and notes, in a box that scrolls rather
 * than the page. */
void rm_html_table(struct rm_buffer *out, const struct rm_page_table *table, const char *heading);

/** A chart's frame: title, legend with what is known of the whole run, and the place, of the id
 * `place`, where it is drawn. */
void rm_html_chart(struct rm_buffer *out, const struct rm_chart *chart, const char *place);

#endif
