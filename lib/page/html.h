/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about runs as one HTML file: tables as HTML, the numbers of the charts as JSON, and
 * the scripts that draw them (page/assets.h).
 *
 * Nothing from a run becomes markup or script: texts are escaped, JSON has no "<", and the policy
 * of the page allows only the scripts that are in it, known by their hashes, and no request at all.
 */
#ifndef RM_PAGE_HTML_H
#define RM_PAGE_HTML_H

#include "page/set.h"

/** Appends the file.  RESMON_ENOMEM. */
resmon_status rm_html_page(struct rm_buffer *out, const struct rm_page_terms *terms);

#endif
