/* SPDX-License-Identifier: MIT */
/*
 * Owns the words for how figures went from one benchmark to the next: a line for each series, and
 * one for each change of its level.
 */
#ifndef RM_REPORT_TREND_H
#define RM_REPORT_TREND_H

#include "base/buffer.h"
#include "compare/trend.h"
#include "report/sentences.h"

/** `width` in columns; 0: RESMON_REPORT_WIDTH. */
void rm_trend_write_text(struct rm_buffer *buffer, const struct rm_trend *trend, size_t width);

/* ---- in pieces ---------------------------------------------------------------------------- */

/** "41 benchmarks, from 2026-10-01 08:12 UTC to 2026-11-25 06:30 UTC". */
void rm_trend_say_title(char text[RM_SENTENCE_BYTES], const struct rm_trend *trend);

/** What a series is of: "train/step: wall time". */
void rm_trend_say_figure(char text[RM_SENTENCE_BYTES], const struct rm_trend_series *series);

/** Where it was measured, with the command: "./train, on Xeon, 2 CPUs, Linux 6.18". */
void rm_trend_say_place(char text[RM_SENTENCE_BYTES], const struct rm_trend_series *series);

/** "at 3f2a91c (2026-11-20 10:02 UTC): 55.89 ms, then 65.80 ms: +17.7 % (+9.9 ms), p 0.001". */
void rm_trend_say_change(char text[RM_SENTENCE_BYTES], const struct rm_trend *trend,
                         const struct rm_trend_series *series,
                         const struct rm_trend_change *change);

/** A benchmark by its label, with the time where it is known. */
void rm_trend_say_document(char text[RM_SENTENCE_BYTES], const struct rm_trend_document *document);

/** Whether two series are of one command on one kind of machine. */
bool rm_trend_is_same_place(const struct rm_trend_series *one, const struct rm_trend_series *other);

/** Whether series `index` is the first one of its place. */
bool rm_trend_is_first_of_place(const struct rm_trend *trend, size_t index);

#endif
