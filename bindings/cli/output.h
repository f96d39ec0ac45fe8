/* SPDX-License-Identifier: MIT */
/*
 * Owns files: writes runs and texts atomically, in the format of the file extension; calls the
 * Python package for formats that need matplotlib or pyarrow; and loads runs, also as groups.  A
 * saved benchmark is loaded by its name: .resmon/NAME.json below the working directory.
 */
#ifndef RESMON_CLI_OUTPUT_H
#define RESMON_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/compare.h>
#include <resmon/monitor.h>
#include <resmon/run.h>

#include "arguments.h"

/* ---- runs ---- */

/** Whether a file is written by the command when the run is over, and not by a sink: "run.txt" (the
 * summary) and "run.parquet". */
bool cli_output_is_late(const char *path);

/** The form of a text by the ending of its file: "html", "markdown", "json", "junit" or "text", as
 * the library names it; NULL: none of these. */
const char *cli_output_form(const char *path);

/** Adds the sink that writes files with this extension. */
resmon_status cli_output_add(resmon_monitor *monitor, const char *path);

/** Writes a run to a file.  `format`: name of a sink; NULL: by file extension.  False, and a
 * message: it cannot be written. */
bool cli_output_write(const char *verb, const resmon_run *run, const char *path,
                      const char *format);

/** Prints the summary on stderr; `columns` 0: default width. */
void cli_output_print(const resmon_run *run, bool is_full, unsigned columns);

/** Prints the tables by line of a function on stderr (NULL: of the hot functions). */
void cli_output_print_lines(const resmon_run *run, const char *function);

/** Loads a run document or a recording; NULL, and a message: it cannot be loaded. */
resmon_run *cli_output_load(const char *verb, const char *path);

/** Loads several runs; NULL, and a message: one of them cannot be loaded. */
resmon_run **cli_output_load_all(const char *verb, char *const *paths, size_t count);
void cli_output_free_all(resmon_run **runs, size_t count);

/** Loads a benchmark, or several runs as one group.  NULL, and a message: a file cannot be loaded.
 */
resmon_bench *cli_runs_load(const char *verb, char **words, size_t count);

/** Loads the run with the median wall time; NULL: the files are not all runs. */
resmon_run *cli_runs_median(char **words, size_t count);

/* ---- texts ---- */

#define CLI_STORE_DIRECTORY  ".resmon"
#define CLI_STORE_PATH_BYTES 512U

/** Whether the files of -o have one of these endings (NULL after the last), or none.  False, and a
 * message: one has another. */
bool cli_output_may_end(const struct cli_arguments *arguments, const char *const *endings);

/** Path of the file for a saved name; creates its directory.  False, and a message: the name is
 * invalid, or the directory cannot be created. */
bool cli_store_make(const char *verb, const char *name, char path[CLI_STORE_PATH_BYTES]);

/** Directory for temporary files: TMPDIR, or /tmp. */
const char *cli_store_temporary(void);

/** Writes a text to a file, which is replaced atomically; CLI_STDOUT: to stdout.  False, and a
 * message: it cannot be written. */
bool cli_store_write(const char *verb, const char *path, const char *text);

/** Writes the text that a call of the library with this status returned, and frees it. */
bool cli_store_made(const char *verb, const char *path, resmon_status status, char *text);

/* The result of a verb, which the library renders in several forms. */
struct cli_result {
    const struct cli_arguments *arguments;
    const void *context;
    const char *(*form_of)(const void *context, const char *path); /* of a file of -o */
    resmon_status (*render)(const void *context, const char *form, unsigned width, char **ret_text);
};

/** Writes it to each file of -o; false, and a message: one of them cannot be written. */
bool cli_result_write(const struct cli_result *result);

/** Prints it, as text or with --json as JSON, unless --quiet. */
bool cli_result_print(const struct cli_result *result);

/* ---- by the Python package ---- */

/** "report.pdf" and "plot.png": what the Python package makes for people. */
bool cli_python_shows(const char *path);

/** Writes it from the runs in files, with charts of more metrics (`plots`, with commas; NULL:
 * none).  False, and a message: it cannot be written. */
bool cli_python_show(const char *verb, char *const *files, size_t count, const char *path,
                     const char *plots);

/** Adds the runs in files and directories to the dataset in a directory.  False, and a message:
 * that failed. */
bool cli_python_add_to_dataset(char *const *sources, size_t count, const char *directory);

#endif
