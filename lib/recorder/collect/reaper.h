/* SPDX-License-Identifier: MIT */
/*
 * Owns our own process as the one that a process which it has started leaves its orphans to: as a
 * subreaper (PR_SET_CHILD_SUBREAPER, prctl(2)), or as process 1.  The kernel's account of what we
 * have waited for has all that they used, also of those too short-lived to be seen.
 */
#ifndef RM_COLLECT_REAPER_H
#define RM_COLLECT_REAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "os/file.h"

#define RM_REAPER_OTHERS 32U

struct rm_reaper {
    uint64_t pid; /* ours, as /proc has it; 0: orphans are not handed to us */
    uint64_t child;
    uint64_t others[RM_REAPER_OTHERS]; /* who was below us before the child: no orphans of its */
    size_t other_count;
    struct rm_kept io;
    double latest_s, latest_io[RM_IO_FIELDS];
    long latest_faults; /* of all that was waited for: as long as these are the same, nothing was */
};

/* What was waited for. */
struct rm_reaped {
    double cpu_s;
    double io[RM_IO_FIELDS]; /* of calls: what only other threads of ours did meanwhile is in it */
};

/** Finds out whether orphans of `child` are handed to us, its parent `pid`. */
void rm_reaper_open(struct rm_reaper *reaper, const struct rm_root *root,
                    struct rm_scratch *scratch, uint64_t pid, uint64_t child);
void rm_reaper_close(struct rm_reaper *reaper);

/** What was waited for since the last look.  Where there were others below us it may have been
 * theirs: nothing, then. */
struct rm_reaped rm_reaper_look(struct rm_reaper *reaper);

/** Whether it was below us before the child began. */
bool rm_reaper_is_other(const struct rm_reaper *reaper, uint64_t pid);

#endif
