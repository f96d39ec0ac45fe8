/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of /proc/PID/smaps_rollup, for the collectors of one process and of its tree.
 */
#ifndef RM_COLLECT_SMAPS_H
#define RM_COLLECT_SMAPS_H

#include "collect/collect.h"

/* The kernel walks all page tables and holds the process's memory lock meanwhile: 4 ms per resident
 * GiB, in which page faults of the process wait.  So never often. */
#define RM_SMAPS_INTERVAL_NS (30 * RM_NS_PER_S)

struct rm_smaps {
    double pss;
    double uss;
    double swap;
};

/** Reads "`proc_dir`/smaps_rollup". */
resmon_status rm_smaps_read(struct rm_collect *collect, const char *proc_dir,
                            struct rm_smaps *ret_smaps);

#endif
