/* SPDX-License-Identifier: MIT */
/*
 * Owns tables of samples as comma-separated values (CSV): for a whole run, or line by line during
 * the run. Also owns the file that describes the columns.
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

/** Writes a comma and a number; NaN is an empty field. */
void rm_csv_put_number(struct rm_buffer *line, double number);

/** Writes a field of free text, quoted if necessary. */
void rm_csv_put_text(struct rm_buffer *line, const char *text);

/** Writes the file that describes the columns of the table at `path`, beside this table. */
resmon_status rm_csv_save_columns(const struct resmon_run *run, const char *path);

#endif
