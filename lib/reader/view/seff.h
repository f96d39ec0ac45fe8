/* SPDX-License-Identifier: MIT */
/*
 * Owns a job in the words of seff, the tool of Slurm's contribs that many sites have.
 */
#ifndef RM_VIEW_SEFF_H
#define RM_VIEW_SEFF_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends it; of what is not known, the line is left out. */
void rm_seff_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
