/* SPDX-License-Identifier: MIT */
/*
 * Owns loading of recordings: a private copy of the file that is whole although its writer may be
 * at work, made into a run.
 */
#ifndef RM_ENGINE_RECORDING_H
#define RM_ENGINE_RECORDING_H

#include <stdbool.h>

#include "store/run.h"
#include "sys/infile.h"

/** Whether the file starts like a recording. */
bool rm_recording_is(const struct rm_infile *file);

resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run);

#endif
