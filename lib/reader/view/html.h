/* SPDX-License-Identifier: MIT */
/*
 * Owns pieces of HTML for the renderer and for drawings (html.c), and the charts of an HTML file
 * (html_charts.c): their frames, and the JSON with the numbers that the page's script draws.
 */
#ifndef RM_VIEW_HTML_H
#define RM_VIEW_HTML_H

#include "base/buffer.h"
#include "view/subject.h"

/** Appends text of any origin, escaped. */
void rm_html_text(struct rm_buffer *out, const char *text);

/** Appends text of any origin between two pieces of markup. */
void rm_html_element(struct rm_buffer *out, const char *opening, const char *text,
                     const char *closing);

/** Appends a number with so many decimals, and a point in every locale. */
void rm_html_number(struct rm_buffer *out, double value, int decimals);

struct rm_html_charts {
    struct rm_page *page;
    struct rm_buffer *out;
    struct rm_subject *subjects;
    size_t count;
    struct rm_buffer runs, all; /* JSON so far: by run, and of all runs on one axis */
};

void rm_html_charts_open(struct rm_html_charts *charts, struct rm_buffer *out, struct rm_page *page,
                         struct rm_subject *subjects, size_t count);
void rm_html_charts_close(struct rm_html_charts *charts);

/** Appends the charts of run `number`.  It is called for every run in order, or for none. */
void rm_html_charts_put(struct rm_html_charts *charts, size_t number);

/** Appends charts with a line for each run.  `offsets`: seconds from the start of the first run to
 * the start of each; NULL: all lines begin at 0. */
void rm_html_charts_put_all(struct rm_html_charts *charts, const double *offsets);

/** Appends the JSON. */
void rm_html_charts_write(struct rm_html_charts *charts, struct rm_buffer *json);

#endif
