/* SPDX-License-Identifier: MIT */
/*
 * Owns a job in the format of jobstats (Princeton), which Slurm keeps in AdminComment and which
 * jobstats and reportseff read: "JS1:" and the base64 of a gzip file of JSON, or "JS1:Short".
 */
#ifndef RM_EXPORT_JOBSTATS_H
#define RM_EXPORT_JOBSTATS_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends the job and a line end.  RESMON_ENOMEM. */
resmon_status rm_jobstats_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
