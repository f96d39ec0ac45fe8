/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread rm-sample: it opens the sources of a sampler, takes samples on absolute deadlines
 * and on request, and closes the sources again.
 *
 * The thread has its own, empty table of descriptors where the kernel can do that (Linux 5.9): what
 * the program does to its descriptors does not concern the sources, and what these keep open takes
 * no number, limit or inheritance of the program's.  Where it cannot, os/kept looks after them.
 *
 * And the end of a program whose main thread has left by pthread_exit().  The C library then ends
 * the program, as by exit(0), when its last thread ends: which ours, that wait for a monitor to be
 * stopped, would never do.  So when only threads of this library are left, this does in its place
 * what the C library would have done.
 */
#ifndef RM_ENGINE_SAMPLING_H
#define RM_ENGINE_SAMPLING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thread.h"
#include "engine/sampler.h"

enum rm_sampling_stage {
    RM_SAMPLING_NONE, /* no thread */
    RM_SAMPLING_OPENING,
    RM_SAMPLING_OPEN, /* it waits to be told to begin */
    RM_SAMPLING_RUNNING,
    RM_SAMPLING_STOPPING
};

struct rm_sampling {
    struct rm_sampler sampler;
    pthread_t thread;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, of the next sample: only the thread knows */

    /* Guards the members below. */
    pthread_mutex_t lock;
    struct rm_condition asked;    /* the thread has something to do */
    struct rm_condition answered; /* it has done it */
    enum rm_sampling_stage stage;
    uint64_t requested; /* samples asked for */
    uint64_t served;
    resmon_status open_status;
    char open_error[256];
};

struct rm_sampling_terms {
    const struct rm_options *options;
    const char *job_id; /* of the job for whose part of this machine it speaks; NULL: none */
    const struct rm_begin *begin; /* NULL: with the first sample */
};

/** Starts the thread, which opens the sources. */
resmon_status rm_sampling_open(struct rm_sampling *sampling, const struct rm_sampling_terms *terms);

/** Waits until they are open. */
resmon_status rm_sampling_wait_open(struct rm_sampling *sampling);

/** After rm_sampler_begin(): waits for the first sample, at the block's start; others follow. */
void rm_sampling_run(struct rm_sampling *sampling);

/** Waits for a sample that is taken now; RESMON_ESTATE when it is not running. */
resmon_status rm_sampling_request(struct rm_sampling *sampling);

/** Asks the thread for the last sample, after which it closes the sources and ends; does not wait.
 * Asking again, or where no samples are taken, is fine. */
void rm_sampling_ask_for_end(struct rm_sampling *sampling);

/** Asks for the last sample, and waits until it is taken; the thread may still be closing. */
void rm_sampling_end(struct rm_sampling *sampling);

/** Asks for the last sample, and waits for the thread's end: all sources are closed. */
void rm_sampling_stop(struct rm_sampling *sampling);

/** Stops and frees.  Not in the child of a fork: the thread is not there, nor are its descriptors,
 * and what it was changing may be half changed. */
void rm_sampling_close(struct rm_sampling *sampling);

#endif
