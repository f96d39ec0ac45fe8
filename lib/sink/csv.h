/* SPDX-License-Identifier: MIT */
/*
 * Owns tables of samples as comma-separated values: of a whole run, or line by line as the samples
 * come; and the file beside them that describes their columns.
 */
#ifndef RM_SINK_CSV_H
#define RM_SINK_CSV_H

#include "sink/sink.h"
#include "store/run.h"

/** Writes the table of `run` and its columns to `path` (expanded by the caller). */
resmon_status rm_csv_save(const struct resmon_run *run, const char *path);

resmon_status rm_csv_sink_new(const resmon_csv_options *options, struct rm_sink *ret_sink);

#endif
