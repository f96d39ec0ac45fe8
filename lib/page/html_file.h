/* SPDX-License-Identifier: MIT */
/*
 * Owns the HTML file around what a page shows: its head, with the style and the policy, and at its
 * end the numbers of the charts and the scripts that draw them.
 *
 * The policy allows only the scripts that are in the file, known by their hashes, and no request at
 * all.
 */
#ifndef RM_PAGE_HTML_FILE_H
#define RM_PAGE_HTML_FILE_H

#include <stdbool.h>

#include "base/buffer.h"

struct rm_html_file {
    struct rm_buffer *out;
    const char *title; /* of any origin */
    bool has_charts;   /* that scripts draw; without, there are no scripts */
};

/** Appends all up to the title in the page's header. */
void rm_html_file_begin(const struct rm_html_file *file);

/** Appends the end of the header: what comes next is the page itself. */
void rm_html_file_main(const struct rm_html_file *file);

/** Appends the end.  `numbers`: JSON of the charts; NULL without any. */
void rm_html_file_end(const struct rm_html_file *file, const char *numbers);

#endif
