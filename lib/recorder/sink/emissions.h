/* SPDX-License-Identifier: MIT */
/*
 * Owns lines of codecarbon's emissions.csv.
 */
#ifndef RM_SINK_EMISSIONS_H
#define RM_SINK_EMISSIONS_H

#include <resmon/emissions.h>

/** `path` is expanded by the caller. */
resmon_status rm_emissions_append(const struct resmon_run *run, uint64_t flags, const char *path);

#endif
