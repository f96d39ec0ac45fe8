/* SPDX-License-Identifier: MIT */
/*
 * Owns where results go: files in the format that their names say, and text.
 */
#ifndef RESMON_CLI_OUTPUT_H
#define RESMON_CLI_OUTPUT_H

#include <stdbool.h>

#include <resmon/monitor.h>
#include <resmon/run.h>

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

#endif
