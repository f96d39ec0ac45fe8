/* SPDX-License-Identifier: MIT */
/*
 * Owns the taking of stacks of other processes, from outside: of one and all that it starts, by the
 * kernel's samples of their CPU time and page faults.  Nothing is put into them, nobody traces
 * them, and no privilege is needed for processes of the same user. All on one thread, that of
 * engine/stacks.
 */
#ifndef RM_STACK_OUTSIDE_H
#define RM_STACK_OUTSIDE_H

#include <stdint.h>

#include <resmon/status.h>

#include "os/cgroup.h"
#include "os/perf_tree.h"
#include "store/stack_writer.h"

struct rm_outside;

struct rm_outside_terms {
    uint32_t pid;
    bool is_group; /* in place of a process: */
    struct rm_cgroup group;
    struct rm_perf_tree_terms events;
    bool has_each; /* rows of the processes, one for each */
};

/** Observes a process or those of a group, their threads, and all that they start.  The writer
 * lives on.  RESMON_ENOTSUP, RESMON_EACCES, RESMON_ESRCH, RESMON_ENOMEM. */
resmon_status rm_outside_open(const struct rm_outside_terms *terms, struct rm_stack_writer *writer,
                              struct rm_outside **ret_outside);

/** Writes what is known about the kinds. */
void rm_outside_tell_kinds(const struct rm_outside *outside);

/** Waits until there is much to take out, but no longer than `most_ns`.  false: all processes have
 * ended, and this returned at once. */
bool rm_outside_wait(struct rm_outside *outside, int64_t most_ns);

/** Takes samples out. */
void rm_outside_drain(struct rm_outside *outside);

/** Takes out all that is left; what of the CPU time no sample stands for, stands with the name of
 * its process alone. */
void rm_outside_finish(struct rm_outside *outside);

/** Memory of what it works in. */
uint64_t rm_outside_bytes(const struct rm_outside *outside);

void rm_outside_close(struct rm_outside *outside);

#endif
