/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread rm-sample: it opens the sources of a sampler, takes samples at absolute
 * deadlines and on request, and closes the sources.  Where the kernel
 * supports it (Linux 5.9), the thread has a descriptor table of its own: the program cannot close
 * the thread's descriptors.  They use no numbers or limits of the program, and are not inherited.
 * Elsewhere, os/kept protects the descriptors.
 *
 * Also owns the exit of a program whose main thread has ended by pthread_exit().  The C library
 * ends such a program, as by exit(0), when its last thread ends.  Our threads, which wait for a
 * monitor's stop, would prevent this exit.  So when only threads of this library are left, the
 * library calls exit(0).
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
    RM_SAMPLING_OPEN, /* the thread waits for rm_sampling_run() */
    RM_SAMPLING_RUNNING,
    RM_SAMPLING_STOPPING
};

struct rm_sampling {
    struct rm_sampler sampler;
    pthread_t thread;
    pthread_mutex_t *facts_lock;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, of the next sample; used by the thread only */

    /* Guards the members below. */
    pthread_mutex_t lock;
    struct rm_condition work_ready; /* a request for the thread */
    struct rm_condition work_done;  /* a response of the thread */
    enum rm_sampling_stage stage;
    uint64_t requested; /* number of requested samples */
    uint64_t served;
    resmon_status open_status;
    char open_error[256];
};

struct rm_sampling_terms {
    const struct rm_options *options;
    const char *job_id;           /* job whose use of this machine is reported; NULL: none */
    const struct rm_begin *begin; /* NULL: the first sample is the begin */
    pthread_mutex_t *facts_lock;  /* guards new facts of the block */
};

/** Starts the thread, which opens the sources. */
resmon_status rm_sampling_open(struct rm_sampling *sampling, const struct rm_sampling_terms *terms);

/** Waits until the sources are open. */
resmon_status rm_sampling_wait_open(struct rm_sampling *sampling);

/** After rm_sampler_begin(): waits for the first sample, at the block's start; others follow. */
void rm_sampling_run(struct rm_sampling *sampling);

/** Takes a sample now, and waits for it; RESMON_ESTATE: not running. */
resmon_status rm_sampling_request(struct rm_sampling *sampling);

/** Requests the last sample, after which the thread closes the sources and ends; does not wait.
 * No-op if repeated, or if no samples are taken. */
void rm_sampling_request_end(struct rm_sampling *sampling);

/** Requests the last sample, and waits until it is taken; the thread may still be closing sources.
 */
void rm_sampling_end(struct rm_sampling *sampling);

/** Requests the last sample, and waits until the thread has ended and all sources are closed. */
void rm_sampling_stop(struct rm_sampling *sampling);

/** Stops and frees.  Must not be called in a forked child, which has neither the thread nor its
 * descriptors, and may have inconsistent data. */
void rm_sampling_close(struct rm_sampling *sampling);

#endif
