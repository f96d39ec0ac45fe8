/* SPDX-License-Identifier: MIT */
/*
 * Owns tables of samples as comma-separated values: of a whole run, or line by line as the samples
 * come; and the file beside them that describes their columns.
 */
#ifndef RM_FORMAT_CSV_H
#define RM_FORMAT_CSV_H

#include "base/buffer.h"
#include "run/run.h"

#define RM_CSV_LARGEST_LINE ((size_t)4 << 20)

/** Writes the table of `run` and its columns to `path` (expanded by the caller). */
resmon_status rm_csv_save(const struct resmon_run *run, const char *path);

/* ---- line by line: one value of each column for each sample -----------------------------------
 */

void rm_csv_put_head(struct rm_buffer *line, const struct resmon_run *run);
void rm_csv_put_seconds(struct rm_buffer *line, int64_t ns);

/** With the comma before it; NaN is empty. */
void rm_csv_put_number(struct rm_buffer *line, double number);

/** A field of free text, quoted where it must be. */
void rm_csv_put_text(struct rm_buffer *line, const char *text);

/** Writes the file beside the table at `path` that describes its columns. */
resmon_status rm_csv_save_columns(const struct resmon_run *run, const char *path);

#endif
