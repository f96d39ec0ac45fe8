/* SPDX-License-Identifier: MIT */
/*
 * Owns what files are as runs of one thing: a benchmark, by its file or by the name under which it
 * was saved, or run documents and recordings.
 */
#ifndef RESMON_CLI_RUNS_H
#define RESMON_CLI_RUNS_H

#include <stddef.h>

#include <resmon/compare.h>

/** One benchmark, or one group of all the runs in the files.  NULL, and a line that says why. */
resmon_bench *cli_runs_load(const char *verb, char **words, size_t count);

/** Of files of runs one of the median wall time; NULL: they are none, or cannot be read again. */
resmon_run *cli_runs_median(char **words, size_t count);

#endif
