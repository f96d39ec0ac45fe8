/* SPDX-License-Identifier: MIT */
/*
 * Owns the making of a run from a monitor's block, while it fills or after it: what is measured
 * first, what is copied under which lock, the runs of other processes that are joined to it, and
 * the names of its stacks.
 * Called by monitor.c.
 */
#ifndef RM_ENGINE_CAPTURE_H
#define RM_ENGINE_CAPTURE_H

#include <pthread.h>

#include "engine/memory.h"
#include "engine/sampler.h"
#include "run/run.h"

struct rm_naming;

struct rm_capture {
    const struct rm_block *block;
    struct rm_sampler *sampler;       /* which fills it */
    struct rm_scope_session *session; /* whose scopes are in the block; NULL: none */
    const struct rm_own_memory *own;
    pthread_mutex_t parts_lock; /* guards the next two */
    struct resmon_run **parts;  /* runs of other processes that were joined */
    size_t part_count, part_room;
    pthread_mutex_t naming_lock;
    struct rm_naming *naming; /* under that; NULL: nothing was named yet */
};

/** The members before `parts_lock` are the caller's, and set before the first run. */
void rm_capture_open(struct rm_capture *capture);

/** Takes over a reference, on success, to a run whose scopes are to be of each run that is made
 * from now on. */
resmon_status rm_capture_join(struct rm_capture *capture, struct resmon_run *part);

/** A run of the `parts` (RM_PART_*).  Any thread; works on a stack of ours. */
resmon_status rm_capture_run(struct rm_capture *capture, unsigned parts, resmon_run **ret_run);

/** Names the stacks of a run, by the reader; without it they stay addresses, and say why: a run
 * without names is as true.  `naming`: as in os/reader.h. */
void rm_capture_name(struct rm_naming **naming, resmon_run *run);

/** `is_inherited`: in the child of a fork, where others' locks are what they were. */
void rm_capture_close(struct rm_capture *capture, bool is_inherited);

#endif
