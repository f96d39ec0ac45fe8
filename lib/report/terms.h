/* SPDX-License-Identifier: MIT */
/*
 * Owns what the caller says of a report.
 */
#ifndef RM_REPORT_TERMS_H
#define RM_REPORT_TERMS_H

#include <stddef.h>

struct rm_source_lines; /* report/lines.h */

struct rm_report_terms {
    const struct rm_source_lines *sources; /* NULL: lines without their text */
    size_t width;                          /* in columns */
    int detail;                            /* RESMON_REPORT_* */
};

#endif
