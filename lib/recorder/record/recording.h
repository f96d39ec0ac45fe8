/* SPDX-License-Identifier: MIT */
/*
 * Owns recordings as files: loading one, through a private copy that is whole although its writer
 * may be at work; and who writes one.
 */
#ifndef RM_RECORD_RECORDING_H
#define RM_RECORD_RECORDING_H

#include <stdbool.h>

#include "os/file.h"
#include "run/run.h"

/** Whether the file starts like a recording. */
bool rm_recording_is(const struct rm_infile *file);

/** RESMON_EBUSY while the file changes too fast to be copied, or when it is in memory and its
 * writer still runs. */
resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run);

/** A new recording is about to take the place of what is at `path`: what this process has recorded
 * there before an exec gets the name `path`.1, .2 ... as well; what another left in memory of it is
 * removed. */
resmon_status rm_recording_set_aside(const char *path);

/** RESMON_EBUSY when `path` is the recording of a process that still runs. */
resmon_status rm_recording_check_free(const char *path);

#endif
