/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about runs as Markdown (GitHub's, with tables), for pull requests, issues and the
 * summaries of CI jobs: without charts.
 */
#ifndef RM_PAGE_MARKDOWN_H
#define RM_PAGE_MARKDOWN_H

#include "page/set.h"

/** Appends the text.  RESMON_ENOMEM. */
resmon_status rm_markdown_page(struct rm_buffer *out, const struct rm_page_terms *terms);

#endif
