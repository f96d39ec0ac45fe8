/* SPDX-License-Identifier: MIT */
/*
 * Owns making a run of a monitor's block, during or after recording: the order of measuring and
 * copying, the locks, the joined runs of other processes, and the symbolization of stacks.
 *
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
    struct rm_sampler *sampler;       /* fills the block */
    struct rm_scope_session *session; /* session of the block's scopes; NULL: none */
    const struct rm_own_memory *own;
    pthread_mutex_t parts_lock; /* guards `parts`, `part_count` and `part_room` */
    struct resmon_run **parts;  /* joined runs of other processes */
    size_t part_count, part_room;
    pthread_mutex_t naming_lock;
    struct rm_naming *naming; /* guarded by naming_lock; NULL: nothing was symbolized yet */
};

/** The caller sets the members before `parts_lock` before the first run. */
void rm_capture_open(struct rm_capture *capture);

/** Takes over a reference, on success, to a run whose scopes are included in all later runs. */
resmon_status rm_capture_join(struct rm_capture *capture, struct resmon_run *part);

/** Makes a run of the `parts` (RM_PART_*).  Any thread; works on a stack of the library. */
resmon_status rm_capture_run(struct rm_capture *capture, unsigned parts, resmon_run **ret_run);

/** Symbolizes the stacks of a run by the reader.  On failure the run keeps addresses, and has the
 * reason.  `naming`: as in os/reader.h. */
void rm_capture_name(struct rm_naming **naming, resmon_run *run);

/** `is_inherited`: in a forked child, where locks may be held by threads that do not exist. */
void rm_capture_close(struct rm_capture *capture, bool is_inherited);

#endif
