/* SPDX-License-Identifier: MIT */
/*
 * Owns the pieces of a page as HTML: texts, figures, tables, charts.  Nothing from a
 * run becomes markup or script: texts are escaped.
 */
#ifndef RM_PAGE_HTML_PARTS_H
#define RM_PAGE_HTML_PARTS_H

#include "base/buffer.h"
#include "page/charts.h"
#include "page/headline.h"
#include "page/profile.h"
#include "report/sentences.h"

/** Text of any origin. */
void rm_html_text(struct rm_buffer *out, const char *text);

/** Text of any origin between two pieces of markup. */
void rm_html_element(struct rm_buffer *out, const char *opening, const char *text,
                     const char *closing);

/** With so many decimals, and a point in every locale. */
void rm_html_number(struct rm_buffer *out, double value, int decimals);

/** A table with its title (in `heading`, "h3"; NULL: none) and notes, in a box that scrolls rather
 * than the page; nothing of NULL. */
void rm_html_table(struct rm_buffer *out, const struct rm_page_table *table, const char *heading);

void rm_html_tiles(struct rm_buffer *out, const struct rm_page_tiles *tiles);
void rm_html_answers(struct rm_buffer *out, const struct rm_page_answers *answers);

/* Where the items of a list go. */
struct rm_html_list {
    struct rm_buffer *out;
    struct rm_page *page;
};

/** Takes sentences, of which each becomes an item; the context is a struct rm_html_list. */
void rm_html_item(const struct rm_sentences *sentences, const char *text);

/** A chart's frame: title, legend with what is known of the whole run, and the place, of the id
 * `place`, where it is drawn. */
void rm_html_chart(struct rm_buffer *out, const struct rm_chart *chart, const char *place);

/** A table by line of the source. */
void rm_html_lines(struct rm_buffer *out, const struct rm_line_text *text);

#endif
