/* SPDX-License-Identifier: MIT */
/*
 * Owns pressure stall information, which has the same text form for the machine and for groups:
 *   some avg10=0.00 avg60=0.00 avg300=0.00 total=2337693
 *   full ...
 * Called by the collectors node_psi and cgroup_psi, which open its files.
 */
#ifndef RM_COLLECT_PRESSURE_H
#define RM_COLLECT_PRESSURE_H

#include "base/parse.h"
#include "collect/collect.h"

/* The metrics of a collector; "cpu full" is not defined for the whole machine. */
enum { RM_CPU_SOME, RM_MEM_SOME, RM_MEM_FULL, RM_IO_SOME, RM_IO_FULL, RM_PRESSURES };

#define RM_PRESSURE_FILES 3 /* cpu, memory, io */

struct rm_pressure {
    struct rm_file files[RM_PRESSURE_FILES];
};

/* As rm_collector.read and .close; the state is a struct rm_pressure. */
resmon_status rm_pressure_read(struct rm_collect *collect, void *state, double *values);
void rm_pressure_close(void *state);

/** Stall times in seconds; NaN for a line that is missing.  False when both are. */
bool rm_pressure_parse(struct rm_text text, double *ret_some_s, double *ret_full_s);

#endif
