/* SPDX-License-Identifier: MIT */
/*
 * Owns processes of a process tree that no list of children shows, as their parents have ended:
 * forks that the kernel reports (struct rm_births, by os/task_events.h), and orphans that are
 * reparented to our own process (struct rm_reaper), which is a subreaper (PR_SET_CHILD_SUBREAPER,
 * prctl(2)) or process 1.  The kernel's account of the children that we have waited for includes
 * all that orphans used, also those too short-lived to be sampled. Called by process_tree.c.
 */
#ifndef RM_COLLECT_ORPHANS_H
#define RM_COLLECT_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "os/file.h"
#include "os/task_events.h"

struct rm_birth {
    uint64_t pid;
    bool is_over; /* its children were looked for, or it has ended; events of its children may still
                     follow */
};

/* Zeroed: closed. */
struct rm_births {
    struct rm_fork_events events;
    struct rm_birth *births;
    size_t count;
    size_t room;
    bool has_missed; /* a birth, for lack of memory */
};

static inline bool rm_births_are_reported(const struct rm_births *births)
{
    return births->events.socket.is_open;
}

bool rm_births_has(const struct rm_births *births, uint64_t pid);

/** Notes a fork; `is_ours`: the caller found its parent in the tree. */
void rm_births_note(struct rm_births *births, uint64_t child, bool is_ours);

/** Notes the end of a member. */
void rm_births_note_end(struct rm_births *births, uint64_t pid);

/** Reads the forks since the last call; false: some were lost, or could not be noted.  `visit`
 * calls rm_births_note(). */
bool rm_births_read(struct rm_births *births, rm_fork_visit_fn *visit, void *context);

void rm_births_close(struct rm_births *births);

#define RM_REAPER_OTHERS 32U

struct rm_reaper {
    uint64_t pid; /* our pid in /proc; 0: orphans are not reparented to us */
    uint64_t child;
    uint64_t others[RM_REAPER_OTHERS]; /* processes below us that are older than the child, so no
                                          orphans of it */
    size_t other_count;
    struct rm_kept io;
    double latest_s, latest_io[RM_IO_FIELDS];
    long latest_faults; /* page faults of all processes waited for: unchanged if none was waited for
                         */
};

/* Usage of processes that were waited for. */
struct rm_reaped {
    double cpu_s;
    double io[RM_IO_FIELDS]; /* includes calls of our other threads in the same interval */
};

/** Detects whether orphans of `child` are reparented to us, its parent `pid`. */
void rm_reaper_open(struct rm_reaper *reaper, const struct rm_root *root,
                    struct rm_scratch *scratch, uint64_t pid, uint64_t child);
void rm_reaper_close(struct rm_reaper *reaper);

/** Usage of the processes waited for since the last call.  Nothing where other processes were below
 * us, since it may be theirs. */
struct rm_reaped rm_reaper_look(struct rm_reaper *reaper);

/** Whether the process was below us before the child began. */
bool rm_reaper_is_other(const struct rm_reaper *reaper, uint64_t pid);

#endif
