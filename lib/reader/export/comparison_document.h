/* SPDX-License-Identifier: MIT */
/*
 * Owns documents of groups of runs.  The document has hyperfine's members, which its scripts read,
 * and further members beside them; it can also be read back.  The file also writes the formats of
 * other tools, a comparison of two groups as JSON, and a trend as JSON: benchmarks in their order,
 * series and changes.
 */
#ifndef RM_EXPORT_COMPARISON_DOCUMENT_H
#define RM_EXPORT_COMPARISON_DOCUMENT_H

#include "base/text.h"
#include "compare/diff.h"
#include "compare/group.h"
#include "compare/trend.h"

/** Writes the document: in seconds and bytes, with each value by run; null if a run does not have
 * the value. */
resmon_status rm_bench_document_write(const struct rm_groups *groups,
                                      const struct rm_output *output);

/** Reads such a document, or a document of hyperfine.  RESMON_EFORMAT: the text is neither;
 * RESMON_ENOMEM; RESMON_ENOTSUP without cJSON. */
resmon_status rm_bench_document_read(const char *text, size_t length, struct rm_groups *groups);

/** Bencher's Metric Format: {name: {measure: {value, lower_value, upper_value}}}. */
resmon_status rm_bench_write_bmf(const struct rm_groups *groups, const struct rm_output *output);

/** The format customSmallerIsBetter of github-action-benchmark: [{name, unit, value, range}]. */
resmon_status rm_bench_write_github(const struct rm_groups *groups, const struct rm_output *output);

/** Go's benchmark format, for benchstat: one line for each run. */
resmon_status rm_bench_write_go(const struct rm_groups *groups, const struct rm_output *output);

/** Each value of the run and of each scope, its verdict, and the verdict of the comparison; SI
 * units. */
resmon_status rm_diff_document_write(const struct rm_diff *diff, const struct rm_output *output);

resmon_status rm_trend_document_write(const struct rm_trend *trend, const struct rm_output *output);

#endif
