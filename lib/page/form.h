/* SPDX-License-Identifier: MIT */
/*
 * Owns the forms that a page about runs may have (RESMON_PAGE_HTML and so on), and writing it to a
 * file.
 */
#ifndef RM_PAGE_FORM_H
#define RM_PAGE_FORM_H

#include "page/bench_page.h"
#include "page/diff_page.h"
#include "page/set.h"
#include "page/trend_page.h"

/** Appends the page, whose lines have their text where source files can be read.  RESMON_EINVAL:
 * there is no such form; RESMON_ENOMEM. */
resmon_status rm_page_write(struct rm_buffer *out, uint64_t form,
                            const struct rm_page_terms *terms);

/** Append pages about a comparison, a benchmark, a trend as HTML, on a stack of known size.
 * RESMON_ENOMEM. */
resmon_status rm_page_of_diff(struct rm_buffer *out, const struct rm_diff_page_terms *terms);
resmon_status rm_page_of_bench(struct rm_buffer *out, const struct rm_groups *groups);
resmon_status rm_page_of_trend(struct rm_buffer *out, const struct rm_trend *trend);

/** Writes it to `path` (expanded by the caller), atomically. */
resmon_status rm_page_save(const char *path, uint64_t form, const struct rm_page_terms *terms);

#endif
