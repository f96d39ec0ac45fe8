/* SPDX-License-Identifier: MIT */
/*
 * Owns groups of runs as bytes, and back: a document that hyperfine's scripts read, with what they
 * do not know beside it; and the forms that other tools want.  A comparison of two groups as JSON,
 * and a trend: benchmarks in their order, series, and their changes.
 */
#ifndef RM_EXPORT_COMPARISON_DOCUMENT_H
#define RM_EXPORT_COMPARISON_DOCUMENT_H

#include "base/text.h"
#include "compare/diff.h"
#include "compare/group.h"
#include "compare/trend.h"

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

/** Each figure of the run and of each scope, its verdict, and that of all; SI units. */
resmon_status rm_diff_document_write(const struct rm_diff *diff, const struct rm_output *output);

resmon_status rm_trend_document_write(const struct rm_trend *trend, const struct rm_output *output);

#endif
