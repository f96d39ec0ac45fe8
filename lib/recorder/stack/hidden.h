/* SPDX-License-Identifier: MIT */
/*
 * Owns the processes that live while the kernel tells nothing of them.  It takes the events of a
 * process away when that begins a program with other rights than its user's, or that its user may
 * not read (perf_event_exit_task() at exec), which looks as an end does; nobody started by it has
 * any, either.  /proc tells what they use until they end, or may be observed again.  And of those
 * whose end found a ring full.  Called by stack/outside, on its thread.
 */
#ifndef RM_STACK_HIDDEN_H
#define RM_STACK_HIDDEN_H

#include "os/perf_tree.h"
#include "stack/each.h"
#include "stack/spaces.h"

struct rm_hidden {
    struct rm_perf_tree *tree;
    struct rm_spaces *spaces;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    struct rm_each *each;   /* NULL: there are no rows */
    uint32_t first;         /* of the tree that is observed; 0: it is a group's */
    uint32_t count;         /* of them now, */
    uint32_t total;         /* and ever */
    uint32_t opened;        /* whose events could be had again */
    uint64_t cpu_ns;        /* that they used, and no event counted */
    bool has_lost;          /* records of processes since the latest look */
    uint32_t being_checked; /* the process whose threads are visited */
};

/** Asks the clock of one that lives, or that nobody has waited for, what it has used. */
void rm_hidden_ask_clock(struct rm_space *space);

/** The kernel says that a process has ended. */
void rm_hidden_check(struct rm_hidden *hidden, struct rm_space *space);

/** Looks at them. */
void rm_hidden_look(struct rm_hidden *hidden);

/** All that will ever be known of a process is. */
void rm_hidden_settle(struct rm_hidden *hidden, struct rm_space *space);

#endif
