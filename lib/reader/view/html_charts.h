/* SPDX-License-Identifier: MIT */
/*
 * Owns the charts of an HTML file: their frames, and the JSON with the numbers that the script
 * draws them from.
 */
#ifndef RM_VIEW_HTML_CHARTS_H
#define RM_VIEW_HTML_CHARTS_H

#include "base/buffer.h"
#include "view/subject.h"

struct rm_html_charts {
    struct rm_page *page;
    struct rm_buffer *out;
    struct rm_subject *subjects;
    size_t count;
    struct rm_buffer runs, all; /* JSON so far: by run, and of all on one axis */
};

void rm_html_charts_open(struct rm_html_charts *charts, struct rm_buffer *out, struct rm_page *page,
                         struct rm_subject *subjects, size_t count);
void rm_html_charts_close(struct rm_html_charts *charts);

/** Appends the charts of a run; of each run in its order, or none of any. */
void rm_html_charts_put(struct rm_html_charts *charts, size_t number);

/** Appends charts with a line for each run.  `offsets`: seconds by which each began after the
 * first; NULL: from the start of each. */
void rm_html_charts_put_all(struct rm_html_charts *charts, const double *offsets);

/** Appends the JSON. */
void rm_html_charts_write(struct rm_html_charts *charts, struct rm_buffer *json);

#endif
