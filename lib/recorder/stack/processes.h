/* SPDX-License-Identifier: MIT */
/*
 * Owns the rows of observed processes, one each: their lifetime, usage and end.  CPU time is
 * from the kernel's events at the end of a thread.  The highest RSS is from the kernel's account
 * of the process, or if that is not available, from the last reading of /proc.
 *
 * And processes whose events are missing while they live (hidden).  The kernel disables the
 * events of a process when it executes a setuid program or a file that its user may not read
 * (perf_event_exit_task() at exec), which looks like its end; processes that it starts have
 * none, either.  Their usage is read from /proc until they end, or can be observed again.  The
 * same applies to processes whose end was lost in a full ring.
 *
 * Called by stack/outside, on its thread.
 */
#ifndef RM_STACK_PROCESSES_H
#define RM_STACK_PROCESSES_H

#include "os/perf_tree.h"
#include "os/task_events.h"
#include "stack/spaces.h"
#include "store/run_records.h"

struct rm_each {
    struct rm_block block;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    struct rm_spaces *spaces;
    int taskstats; /* -1: not available */
    uint32_t watched;
    /* accounts for pids that still belong to an earlier process */
    struct rm_task_account early[16];
    uint32_t early_count;
};

void rm_each_open(struct rm_each *each);
void rm_each_close(struct rm_each *each);

/** Begins a row; `t_ns`: CLOCK_MONOTONIC, 0: the process ran before. */
void rm_each_begin(struct rm_each *each, struct rm_space *space, uint32_t parent, int64_t t_ns);

/** Adds a thread that ran before. */
void rm_each_found(struct rm_each *each, struct rm_space *space, uint32_t thread);

/** Takes a record of the kernel about a known process. */
void rm_each_note(struct rm_each *each, const struct rm_tree_record *record);

/** Called before a pid is reused: takes the pending accounts of the old process first. */
void rm_each_replace(struct rm_each *each);

/** Reads living processes, and accounts of ended ones. */
void rm_each_look(struct rm_each *each);

/** Called when nothing more will be known about the process. */
void rm_each_settle(struct rm_each *each, struct rm_space *space);

struct rm_hidden {
    struct rm_perf_tree *tree;
    struct rm_spaces *spaces;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    struct rm_each *each;   /* NULL: no rows */
    uint32_t first;         /* of the observed tree; 0: a cgroup is observed */
    uint32_t count;         /* hidden processes now */
    uint32_t total;         /* hidden processes ever */
    uint32_t opened;        /* whose events could be opened again */
    uint64_t cpu_ns;        /* CPU time that no event counted */
    bool has_lost;          /* records of processes were lost since the last check */
    uint32_t being_checked; /* process whose threads are visited */
};

/** Reads the CPU clock of a process that lives, or has ended but was not waited for. */
void rm_hidden_read_clock(struct rm_space *space);

/** Called when the kernel reports the end of a process. */
void rm_hidden_check(struct rm_hidden *hidden, struct rm_space *space);

/** Reads the hidden processes. */
void rm_hidden_look(struct rm_hidden *hidden);

/** Called when nothing more will be known about the process. */
void rm_hidden_settle(struct rm_hidden *hidden, struct rm_space *space);

#endif
