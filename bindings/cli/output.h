/* SPDX-License-Identifier: MIT */
/*
 * Owns files: runs and texts that are written, in the format that a name says, whole or not at all;
 * what the Python package writes for the command, with packages that are Python's (matplotlib,
 * pyarrow); and runs that are read, also as groups, and by the name under which a benchmark was
 * kept: .resmon/NAME.json below the working directory.
 */
#ifndef RESMON_CLI_OUTPUT_H
#define RESMON_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/compare.h>
#include <resmon/monitor.h>
#include <resmon/run.h>

/* ---- runs ---- */

/** Whether a file is no sink's, but made of the run that is over: "run.txt", the summary, and
 * "run.parquet". */
bool cli_output_is_late(const char *path);

/** Whether it is a page, of which one is made of several runs, and in which form (RESMON_PAGE_*).
 */
bool cli_output_is_page(const char *path, uint64_t *ret_form);

/** Adds the sink of which the file is, by its name. */
resmon_status cli_output_add(resmon_monitor *monitor, const char *path);

/** Writes a run to a file, in the format of that name (a sink's; NULL: as the file's name says).
 * False, and a line that says why. */
bool cli_output_write(const char *verb, const resmon_run *run, const char *path,
                      const char *format);

/** Prints the summary on stderr; `columns` 0: as it is by default. */
void cli_output_print(const resmon_run *run, bool is_full, unsigned columns);

/** Prints the tables by line of a function on stderr (NULL: of the hot ones). */
void cli_output_print_lines(const resmon_run *run, const char *function);

/** Loads a run document or a recording; NULL, and a line that says why. */
resmon_run *cli_output_load(const char *verb, const char *path);

/** One benchmark, or one group of all the runs in the files.  NULL, and a line that says why. */
resmon_bench *cli_runs_load(const char *verb, char **words, size_t count);

/** Of files of runs one of the median wall time; NULL: they are none, or cannot be read again. */
resmon_run *cli_runs_median(char **words, size_t count);

/* ---- texts ---- */

#define CLI_STORE_DIRECTORY  ".resmon"
#define CLI_STORE_PATH_BYTES 512U

/** The path for a name, in a directory that is made; false, and a line that says why. */
bool cli_store_make(const char *verb, const char *name, char path[CLI_STORE_PATH_BYTES]);

/** The directory for files that are soon gone: that of TMPDIR, or /tmp. */
const char *cli_store_temporary(void);

/** Writes a text beside the file, and puts it in its place; CLI_STDOUT: to stdout.  False, and a
 * line that says why. */
bool cli_store_write(const char *verb, const char *path, const char *text);

/* ---- what Python does ---- */

/** "report.pdf". */
bool cli_python_is_pdf(const char *path);

/** A report of runs in files.  False, and a line that says why. */
bool cli_python_write_pdf(char *const *files, size_t count, const char *path);

/** Adds runs in files and directories to the dataset in a directory.  False, and a line that says
 * why. */
bool cli_python_add_to_dataset(char *const *sources, size_t count, const char *directory);

#endif
