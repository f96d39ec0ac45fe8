/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about the nodes and ranks of a merged run: which are there and how they ended, and
 * how evenly ranks took their time.
 */
#ifndef RM_REPORT_JOB_H
#define RM_REPORT_JOB_H

#include <stddef.h>

#include "base/buffer.h"
#include "report/rows.h"
#include "run/run.h"

/** The rows of the brief report; none for another run. */
void rm_report_job_rows(struct rm_rows *rows, const struct resmon_run *run);

/* Rows of the tables, at most. */
struct rm_report_job_limits {
    size_t nodes, scopes;
};

/** Appends the tables: nodes, and scopes over ranks; nothing for another run. */
void rm_report_job(struct rm_buffer *buffer, const struct resmon_run *run, size_t width,
                   struct rm_report_job_limits limits);

#define RM_REPORT_JOB_BRIEF ((struct rm_report_job_limits){8, 5})
#define RM_REPORT_JOB_FULL  ((struct rm_report_job_limits){64, 64})

#endif
