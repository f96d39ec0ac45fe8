/* SPDX-License-Identifier: MIT */
/*
 * Owns who was born into a process tree since it was looked at, by the kernel's word
 * (os/task_events.h): also those whose parents have ended meanwhile, which no scan of /proc would
 * find any more.
 */
#ifndef RM_COLLECT_BIRTHS_H
#define RM_COLLECT_BIRTHS_H

#include "os/task_events.h"

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

#endif
