/* SPDX-License-Identifier: MIT */
/*
 * Owns recordings as files: loading one, through a private copy that is whole although its writer
 * may be at work; and who writes one.
 */
#ifndef RM_ENGINE_RECORDING_H
#define RM_ENGINE_RECORDING_H

#include <stdbool.h>

#include "store/run.h"
#include "sys/infile.h"

/** Whether the file starts like a recording. */
bool rm_recording_is(const struct rm_infile *file);

/** RESMON_EBUSY while the file changes too fast to be copied, or when it is in memory and its
 * writer still runs. */
resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run);

/** RESMON_EBUSY when `path` is the recording of a process that still runs. */
resmon_status rm_recording_check_free(const char *path);

#endif
