/* SPDX-License-Identifier: MIT */
/*
 * Owns a job as jobstats (Princeton) keeps it in Slurm's AdminComment, where its own tools and
 * reportseff read it: "JS1:" and the base64 of a gzip file of JSON, or "JS1:Short".
 */
#ifndef RM_EXPORT_JOBSTATS_H
#define RM_EXPORT_JOBSTATS_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends it and a line end.  RESMON_ENOMEM. */
resmon_status rm_jobstats_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
