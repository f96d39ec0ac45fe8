/* SPDX-License-Identifier: MIT */
/*
 * Owns a run's table as an Apache Parquet file (format version 2,
 * github.com/apache/parquet-format): flat, one row group, plain encoding, no compression; what was
 * not read is null.
 */
#ifndef RESMON_CLI_PARQUET_H
#define RESMON_CLI_PARQUET_H

#include <stdbool.h>

#include <resmon/run.h>

/** "run.parquet", "run.pq". */
bool cli_parquet_is_named(const char *path);

/** Columns: time (UTC, ns), time_s (since the start), samples, then those of the run, a value each
 * as in its CSV.  Units are in the file's metadata.  The file is written whole or not at all.
 * False, and a line that says why. */
bool cli_parquet_write(const char *verb, const resmon_run *run, const char *path);

#endif
