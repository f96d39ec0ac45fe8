/* SPDX-License-Identifier: MIT */
/*
 * Owns the watch for peaks of memory: when the process's RSS, or what the tightest limit of a
 * control group leaves, is worse than ever by enough that the stacks of all threads are worth
 * taking.
 */
#ifndef RM_STACK_MEMORY_WATCH_H
#define RM_STACK_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "os/cgroup.h"
#include "store/stack_record.h"

/* An RSS, and when it was seen. */
struct rm_seen_rss {
    uint64_t bytes;
    int64_t at_ns; /* CLOCK_MONOTONIC */
};

struct rm_memory_watch {
    struct rm_file statm;
    struct rm_cgroup_limits limits; /* of the control group and those above it */
    uint64_t next_rss;              /* the next peak is from here on */
    uint64_t next_headroom;         /* or when less than this is left */
    uint64_t taken_rss;             /* of the latest peak */
    int64_t taken_ns;
    struct rm_seen_rss highest;
    uint64_t page_bytes;
};

/** Opens; what cannot be read is not watched.  The root stays where it is. */
void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch);
void rm_memory_watch_close(struct rm_memory_watch *watch);

/** Looks: true when this is a peak, with what was seen. */
bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head);

/** The rule alone: whether these figures are a peak; sets when the next one will be. */
bool rm_memory_watch_decide(struct rm_memory_watch *watch, const struct rm_seen_rss *rss,
                            uint64_t headroom);

#endif
