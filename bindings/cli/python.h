/* SPDX-License-Identifier: MIT */
/*
 * Owns reports as PDF: they are drawn by the Python package resmon, with matplotlib, from the
 * page's data.
 */
#ifndef RESMON_CLI_PDF_H
#define RESMON_CLI_PDF_H

#include <stdbool.h>
#include <stddef.h>

/** "report.pdf". */
bool cli_pdf_is_named(const char *path);

/** Of runs in files.  False, and a line that says why. */
bool cli_pdf_write(char *const *files, size_t count, const char *path);

#endif
