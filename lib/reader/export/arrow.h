/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of a run as the Arrow C data interface has it, over the run's own memory.
 */
#ifndef RM_EXPORT_ARROW_H
#define RM_EXPORT_ARROW_H

#include <resmon/arrow.h>

#include "run/run.h"

/** `series` is one of RESMON_SERIES_*. */
resmon_status rm_arrow_export(const struct resmon_run *run, int32_t series,
                              struct ArrowArrayStream *ret_stream);

#endif
