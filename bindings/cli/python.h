/* SPDX-License-Identifier: MIT */
/*
 * Owns what the Python package resmon does for the command, with packages that are Python's:
 * reports as PDF (matplotlib), from the page's data; Parquet and datasets (pyarrow).
 */
#ifndef RESMON_CLI_PYTHON_H
#define RESMON_CLI_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/** "report.pdf". */
bool cli_python_is_pdf(const char *path);

/** A report of runs in files.  False, and a line that says why. */
bool cli_python_write_pdf(char *const *files, size_t count, const char *path);

/** "run.parquet", "run.pq". */
bool cli_python_is_parquet(const char *path);

/** A run document's table as a Parquet file.  False, and a line that says why. */
bool cli_python_write_parquet(const char *verb, char *document, const char *path);

/** Adds runs in files and directories to the dataset in a directory.  False, and a line that says
 * why. */
bool cli_python_add_to_dataset(char *const *sources, size_t count, const char *directory);

#endif
