/* SPDX-License-Identifier: MIT */
/*
 * Owns who forked whom, on the whole machine, as the kernel tells it (the process connector,
 * linux/cn_proc.h).  Anybody may listen since Linux 6.6, where a listener that is killed leaves
 * nothing behind; older kernels would go on telling nobody, and are not asked.  They tell nothing
 * inside a container (namespaces of users, pids and networks that are not the host's).
 *
 * Each listener costs every fork and every new thread of the machine (0.4 and 0.2 us; 2-vCPU Intel
 * guest, Linux 6.18, 2026-11-27): where there are some already, such as the ranks of a job, one
 * more does without.
 */
#ifndef RM_OS_FORK_EVENTS_H
#define RM_OS_FORK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/file.h"
#include "os/kept.h"

#define RM_FORK_LISTENERS 8U /* as many as there may be on a machine, others' too */

/* Why they are not told, for messages. */
#define RM_FORKS_UNTOLD                                                                \
    "the kernel does not tell who forks (before 6.6, in a container, or eight listen " \
    "already)"

/* Zeroed: closed. */
struct rm_fork_events {
    struct rm_kept socket;
    size_t latest; /* how many were told at the latest reading */
};

/* A process, not a thread: both numbers are those of the host. */
typedef void rm_fork_visit_fn(void *context, uint64_t parent, uint64_t child);

/** What is forked from here on is told; false: not here. */
RM_SHARED bool rm_fork_events_open(struct rm_fork_events *events, const struct rm_root *root,
                                   struct rm_scratch *scratch);

/** How many listen. */
size_t rm_fork_events_listeners(const struct rm_root *root, struct rm_scratch *scratch);

/** Visits those since the last call, in the order in which they were forked, without waiting; false
 * when some are lost: more than a few hundred since then, or the socket, which is closed then. */
bool rm_fork_events_read(struct rm_fork_events *events, rm_fork_visit_fn *visit, void *context);

/** One message of the socket. */
void rm_fork_events_parse(const void *message, size_t length, rm_fork_visit_fn *visit,
                          void *context);

RM_SHARED void rm_fork_events_close(struct rm_fork_events *events);

#endif
