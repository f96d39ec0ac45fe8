/* SPDX-License-Identifier: MIT */
/*
 * Owns the export of a run as a table in the Arrow C data interface.  The buffers are the run's own
 * memory.
 */
#ifndef RM_EXPORT_ARROW_H
#define RM_EXPORT_ARROW_H

#include <resmon/arrow.h>

#include "run/run.h"

/** `series` is one of RESMON_SERIES_*. */
resmon_status rm_arrow_export(const struct resmon_run *run, int32_t series,
                              struct ArrowArrayStream *ret_stream);

#endif
