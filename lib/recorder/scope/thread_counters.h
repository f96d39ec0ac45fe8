/* SPDX-License-Identifier: MIT */
/*
 * Owns performance counters of threads that have scopes: the selection of events, and each
 * thread's group, which is opened at its first metered scope and read at the ends of scopes: by
 * RDPMC where the kernel allows it, else with one system call.
 */
#ifndef RM_SCOPE_THREAD_COUNTERS_H
#define RM_SCOPE_THREAD_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "counter/event.h"
#include "counter/group.h"
#include "os/perf.h"
#include "store/scope_records.h"

/* Requested counters. */
struct rm_counter_wish {
    bool is_default; /* first instructions, cycles and so on, or their replacements */
    const struct rm_perf_event *events;
    size_t event_count;
};

static inline struct rm_counter_wish rm_counter_wish_of(const struct rm_counters_wanted *wanted)
{
    return (struct rm_counter_wish){(wanted->groups & RM_COUNTERS_DEFAULT) != 0, wanted->events,
                                    wanted->event_count};
}

/* The events that are counted, among the block's counters. */
struct rm_counter_plan {
    uint64_t trust_ticks; /* time for which a descriptor is trusted to be ours without a check */
    size_t count;
    uint8_t places[RM_SCOPE_COUNTERS]; /* index among the block's counters */
    bool skips_kernel;
    struct rm_perf_event events[RM_SCOPE_COUNTERS];
};

/* Counters of a thread. */
struct rm_thread_counters {
    bool is_tried, is_open, has_pages;
    uint32_t calls; /* reads that are not accounted yet */
    size_t count;
    uint64_t checked_ticks;
    int fds[RM_SCOPE_COUNTERS]; /* the first is the group leader's */
    uint64_t ids[RM_SCOPE_COUNTERS];
    struct perf_event_mmap_page *pages[RM_SCOPE_COUNTERS];
};

/** Number of counters for which the block needs capacity. */
size_t rm_counter_plan_room(const struct rm_counter_wish *wish);

/** Tries the events on this thread, and writes to the block which are counted, and why others are
 * not. */
void rm_counter_plan_make(struct rm_counter_plan *plan, const struct rm_counter_wish *wish,
                          const struct rm_block *block, uint64_t trust_ticks);

/** Reads the calling thread's counters, which are opened at the first call; false: none.  `now`:
 * ticks, or 0: shortly after a call that succeeded. */
bool rm_thread_counters_read(struct rm_thread_counters *counters,
                             const struct rm_counter_plan *plan, uint64_t now,
                             struct rm_perf_group *ret_group);

/** The times between two readings, for `ret_call`.  A reading by RDPMC may be earlier than one by
 * the kernel before it (os/perf.h): then the elapsed time is 0, and nothing was missed. */
void rm_thread_counters_time(const struct rm_perf_group *begin, const struct rm_perf_group *end,
                             struct rm_counted_call *ret_call);

/** Adds the library's reads to its own I/O. */
void rm_thread_counters_note(struct rm_thread_counters *counters);

/** Called on the counters' own thread. */
void rm_thread_counters_close(struct rm_thread_counters *counters);

#endif
