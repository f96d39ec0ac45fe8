/* SPDX-License-Identifier: MIT */
/*
 * Owns processes of a process tree that no list of children shows, as their parents have ended:
 * forks that the kernel reports (struct rm_births, by os/fork_events.h), and orphans that are
 * reparented to our own process (struct rm_reaper), which is a subreaper (PR_SET_CHILD_SUBREAPER,
 * prctl(2)) or process 1.  The kernel's account of the children that we have waited for includes
 * all that orphans used, also those too short-lived to be sampled. Called by process_tree.c.
 */
#ifndef RM_COLLECT_ORPHANS_H
#define RM_COLLECT_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io_field.h"
#include "os/file.h"
#include "os/fork_events.h"

struct rm_birth {
    uint64_t pid;
    bool is_over; /* it was looked for, or has ended: children of it may be told of once more */
};

/* Zeroed: closed. */
struct rm_births {
    struct rm_fork_events events;
    struct rm_birth *births;
    size_t count;
    size_t room;
    bool has_missed; /* somebody, for want of memory */
};

static inline bool rm_births_are_told(const struct rm_births *births)
{
    return births->events.socket.is_open;
}

bool rm_births_has(const struct rm_births *births, uint64_t pid);

/** Whether somebody was forked by one of the tree, as the caller has found. */
void rm_births_note(struct rm_births *births, uint64_t child, bool is_ours);

/** A member has ended. */
void rm_births_note_end(struct rm_births *births, uint64_t pid);

/** Reads what was forked since the last call; false: some were not told, or not noted.  `visit`
 * calls rm_births_note(). */
bool rm_births_read(struct rm_births *births, rm_fork_visit_fn *visit, void *context);

void rm_births_close(struct rm_births *births);

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
