/* SPDX-License-Identifier: MIT */
/*
 * Owns the sampling of one monitor: its sources, the run block that samples go into, and the thread
 * rm-sample that takes them on absolute deadlines.
 */
#ifndef RM_ENGINE_SAMPLER_H
#define RM_ENGINE_SAMPLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "engine/options.h"
#include "engine/schedule.h"
#include "store/block.h"
#include "store/series.h"
#include "store/source.h"

/* A collector at work. */
struct rm_sampler_source {
    struct rm_schedule schedule; /* first: balanced as an array with this struct's stride */
    const struct rm_collector *collector;
    void *state;  /* NULL: switched off */
    size_t first; /* column */
    size_t columns;
    struct rm_source_record record; /* until there is a block; then the block's own counts */
};

/* Where samples and tags go besides the block; called on the sampling thread. */
struct rm_sampler_output {
    void (*row)(void *context, int64_t t_ns, const double *values);
    void (*tag)(void *context, int64_t t_ns, const char *label);
    uint64_t (*dropped)(void *context);
    void *context;
};

struct rm_sampler {
    const struct rm_options *options;
    struct rm_collect collect;
    struct rm_sampler_source *sources;
    size_t source_count;
    size_t column_count;
    int64_t rss_column; /* -1: not sampled */

    struct rm_block block;
    struct rm_sampler_cost cost;
    int64_t cpu_mark_ns; /* CPU clock of the sampling thread, up to which it is in the account */
    double *values;      /* one per column */
    double *delivered;   /* the same with counters as growth; NULL: nobody wants them */
    struct rm_sampler_output output;
    uint64_t tags_sent;

    /* Guards the series in the block, between sampling and snapshots. */
    pthread_mutex_t store_lock;

    pthread_t thread;
    bool has_thread;
    int64_t deadline_ns; /* CLOCK_MONOTONIC, of the next sample: only the thread knows */

    /* Guards the members below. */
    pthread_mutex_t request_lock;
    pthread_cond_t asked; /* on CLOCK_MONOTONIC: a sample is asked for, or the end */
    pthread_cond_t served_changed;
    uint64_t requested; /* samples asked for by rm_sampler_request() */
    uint64_t served;
    bool is_stopping;
};

/** Opens the collectors; says how many columns and sources the block needs. */
resmon_status rm_sampler_open(struct rm_sampler *sampler, const struct rm_options *options);

/** Starts the record: columns and sources into the freshly formatted block, then the first sample.
 */
resmon_status rm_sampler_begin(struct rm_sampler *sampler, const struct rm_block *block,
                               const struct rm_sampler_output *output);

/** Starts the thread. */
resmon_status rm_sampler_run(struct rm_sampler *sampler);

/* Which sources a sample is of. */
enum rm_sample_of {
    RM_SAMPLE_DUE,   /* those whose time has come */
    RM_SAMPLE_ASKED, /* and all that may be read at any time */
    RM_SAMPLE_ALL    /* every one: the first and the last sample */
};

/** Takes one sample at `now_ns` (CLOCK_MONOTONIC).  Only on the sampling thread, or while there is
 * none. */
void rm_sampler_take(struct rm_sampler *sampler, int64_t now_ns, enum rm_sample_of of);

/** Asks the thread for a sample and waits until it is committed; RESMON_ESTATE when it is stopping.
 */
resmon_status rm_sampler_request(struct rm_sampler *sampler);

/** Has the thread take the last sample and waits for its end. */
void rm_sampler_stop(struct rm_sampler *sampler);

/** `is_inherited`: in the child of a fork, where there is no thread and locks may be held. */
void rm_sampler_close(struct rm_sampler *sampler, bool is_inherited);

#endif
