/* SPDX-License-Identifier: MIT */
/*
 * Owns groups of runs as bytes, and back: a document that hyperfine's scripts read, with what they
 * do not know beside it; and the forms that other tools want.
 */
#ifndef RM_EXPORT_BENCH_DOCUMENT_H
#define RM_EXPORT_BENCH_DOCUMENT_H

#include "base/output.h"
#include "compare/group.h"

/** Writes all of it: seconds and bytes, each value by run; null where a run does not know it. */
resmon_status rm_bench_document_write(const struct rm_groups *groups,
                                      const struct rm_output *output);

/** Whether a text is such a document, or one of hyperfine's.  RESMON_EFORMAT: it is not;
 * RESMON_ENOMEM; RESMON_ENOTSUP without cJSON. */
resmon_status rm_bench_document_read(const char *text, size_t length, struct rm_groups *groups);

/** Bencher's Metric Format: {name: {measure: {value, lower_value, upper_value}}}. */
resmon_status rm_bench_write_bmf(const struct rm_groups *groups, const struct rm_output *output);

/** What github-action-benchmark calls customSmallerIsBetter: [{name, unit, value, range}]. */
resmon_status rm_bench_write_github(const struct rm_groups *groups, const struct rm_output *output);

/** Lines of Go's benchmarks, for benchstat: one for each run. */
resmon_status rm_bench_write_go(const struct rm_groups *groups, const struct rm_output *output);

#endif
