/* SPDX-License-Identifier: MIT */
/*
 * Owns the rows of observed processes, one for each: when they ran, what they used and how they
 * ended.  CPU time is what the kernel's events tell when a thread ends; the highest RSS is the mark
 * of the kernel's account of it, or of the latest look at /proc where that may not be had.
 * Called by stack/outside, on its thread.
 */
#ifndef RM_STACK_EACH_H
#define RM_STACK_EACH_H

#include "os/perf_tree.h"
#include "os/taskstats.h"
#include "stack/spaces.h"
#include "store/small_records.h"

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

/** It ended then, which the kernel has not told. */
void rm_each_end(struct rm_each *each, struct rm_space *space, int64_t t_ns);

/** Looks at one, which may have another name by now. */
void rm_each_look_at(struct rm_each *each, struct rm_space *space);

/** Its number is another process's from here on: whatever is told of it comes first. */
void rm_each_replace(struct rm_each *each);

/** Looks at those that live, and at accounts of those that ended. */
void rm_each_look(struct rm_each *each);

/** All that will ever be known of it is. */
void rm_each_settle(struct rm_each *each, struct rm_space *space);

#endif
