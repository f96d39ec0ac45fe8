/* SPDX-License-Identifier: MIT */
/*
 * Owns the rows of observed processes, one for each: when they ran, what they used and how they
 * ended.  CPU time is what the kernel's events tell when a thread ends; the highest RSS is the mark
 * of the kernel's account of it, or of the latest look at /proc where that may not be had.
 *
 * And the processes that live while the kernel tells nothing of them (hidden).  It takes the events
 * of a process away when that begins a program with other rights than its user's, or that its user
 * may not read (perf_event_exit_task() at exec), which looks as an end does; nobody started by it
 * has any, either.  /proc tells what they use until they end, or may be observed again.  And of
 * those whose end found a ring full.  Called by stack/outside, on its thread.
 */
#ifndef RM_STACK_PROCESSES_H
#define RM_STACK_PROCESSES_H

#include "os/perf_tree.h"
#include "os/taskstats.h"
#include "stack/spaces.h"
#include "store/run_records.h"

struct rm_each {
    struct rm_block block;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    struct rm_spaces *spaces;
    int taskstats; /* -1: none */
    uint32_t watched;
    struct rm_task_account early[16]; /* of processes that have the number of another one */
    uint32_t early_count;
};

void rm_each_open(struct rm_each *each);
void rm_each_close(struct rm_each *each);

/** A process that is known from now on; `t_ns`: CLOCK_MONOTONIC, 0: it ran before. */
void rm_each_begin(struct rm_each *each, struct rm_space *space, uint32_t parent, int64_t t_ns);

/** A thread of it that ran before. */
void rm_each_found(struct rm_each *each, struct rm_space *space, uint32_t thread);

/** What the kernel tells of a process that is known. */
void rm_each_note(struct rm_each *each, const struct rm_tree_record *record);

/** Its number is another process's from here on: whatever is told of it comes first. */
void rm_each_replace(struct rm_each *each);

/** Looks at those that live, and at accounts of those that ended. */
void rm_each_look(struct rm_each *each);

/** All that will ever be known of it is. */
void rm_each_settle(struct rm_each *each, struct rm_space *space);

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
