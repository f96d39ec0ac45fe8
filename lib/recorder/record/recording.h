/* SPDX-License-Identifier: MIT */
/*
 * Owns recordings as files.  It loads a recording through a private copy, which is consistent also
 * if the writer is alive.  And it finds whether the writer of a recording is alive.
 */
#ifndef RM_RECORD_RECORDING_H
#define RM_RECORD_RECORDING_H

#include <stdbool.h>

#include "os/file.h"
#include "run/run.h"

/** Whether the file begins with the magic of a recording. */
bool rm_recording_is(const struct rm_infile *file);

/** Loads a recording.  RESMON_EBUSY: the file changes too fast to be copied, or is given as data in
 * memory while its writer runs. */
resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run);

/** Prepares the replacement of the recording at `path` by a new one.  If this process made the old
 * recording before an exec, it also gets the name `path`.1, .2 ...; else its memory that a dead
 * writer left is removed. */
resmon_status rm_recording_set_aside(const char *path);

/** RESMON_EBUSY: `path` is the recording of a process that still runs. */
resmon_status rm_recording_check_free(const char *path);

#endif
