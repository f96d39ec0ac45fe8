/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about what observing cost, and what had no room.
 */
#ifndef RM_REPORT_COST_H
#define RM_REPORT_COST_H

#include "base/buffer.h"
#include "run/run.h"

/* A part of the cost: nanoseconds of CPU time, or how many were lost; and its words. */
struct rm_cost {
    uint64_t amount;
    const char *what;
};

#define RM_COST_THREADS 5
#define RM_COST_DROPPED 10

/** The CPU time of the library's threads and handlers, in ns: all of them, also those of 0. */
void rm_cost_threads(const resmon_run_info *info, struct rm_cost costs[RM_COST_THREADS]);

/** What had no room, or came too late: all of it, also what is 0. */
void rm_cost_dropped(const resmon_run_info *info, struct rm_cost costs[RM_COST_DROPPED]);

/** Appends the part of the full report. */
void rm_report_cost(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
