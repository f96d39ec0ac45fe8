/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about a benchmark, as one HTML file without scripts: what each command costs, a dot
 * for each run, and what the others differ by from the first.
 */
#ifndef RM_PAGE_BENCH_PAGE_H
#define RM_PAGE_BENCH_PAGE_H

#include "base/buffer.h"
#include "compare/group.h"

/** Appends the file.  RESMON_ENOMEM. */
resmon_status rm_bench_page_put(struct rm_buffer *out, const struct rm_groups *groups);

#endif
