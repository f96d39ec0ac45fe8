/* SPDX-License-Identifier: MIT */
/*
 * Owns stacks of other processes: of one and all that it starts, by the kernel's samples of CPU
 * time and page faults.  Nothing is injected, ptrace() is not used, and processes of the same
 * user need no privilege. All on one thread, that of engine/stacks.
 */
#ifndef RM_STACK_OUTSIDE_H
#define RM_STACK_OUTSIDE_H

#include <stdint.h>

#include <resmon/status.h>

#include "os/members.h"
#include "os/perf_tree.h"
#include "store/stack_writer.h"

struct rm_outside;

struct rm_outside_terms {
    uint32_t pid;
    bool is_group; /* a group is observed: */
    struct rm_group group;
    struct rm_perf_tree_terms events;
    bool has_each; /* per-process rows are wanted */
};

/** Observes a process, or those of a group, with their threads, and all that they start.  The
 * writer must outlive it.  RESMON_ENOTSUP, RESMON_EACCES, RESMON_ESRCH, RESMON_ENOMEM. */
resmon_status rm_outside_open(const struct rm_outside_terms *terms, struct rm_stack_writer *writer,
                              struct rm_outside **ret_outside);

/** Writes the status of the kinds of stacks. */
void rm_outside_write_kinds(const struct rm_outside *outside);

/** Waits until much is queued, for at most `most_ns`.  False: all processes have ended; returns at
 * once. */
bool rm_outside_wait(struct rm_outside *outside, int64_t most_ns);

/** Drains the rings. */
void rm_outside_drain(struct rm_outside *outside);

/** Drains the rest; CPU time without samples is attributed to the process's name alone. */
void rm_outside_finish(struct rm_outside *outside);

/** CPU time of further threads so far. */
uint64_t rm_outside_cpu_ns(const struct rm_outside *outside);

/** Memory that it uses. */
uint64_t rm_outside_bytes(const struct rm_outside *outside);

void rm_outside_close(struct rm_outside *outside);

#endif
