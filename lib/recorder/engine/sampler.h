/* SPDX-License-Identifier: MIT */
/*
 * Owns the taking of samples: the sources of one monitor, and the run block that samples go into.
 * All of it happens on the thread of engine/sampling, which has a table of descriptors of its own;
 * only rm_sampler_begin() and rm_sampler_close() are for other threads, while that one waits or has
 * ended.
 */
#ifndef RM_ENGINE_SAMPLER_H
#define RM_ENGINE_SAMPLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "engine/cadence.h"
#include "engine/energy_division.h"
#include "engine/gpus.h"
#include "setup/options.h"
#include "store/block.h"
#include "store/run_records.h"
#include "store/series.h"

/* A collector at work. */
struct rm_sampler_source {
    struct rm_schedule schedule; /* first: balanced as an array with this struct's stride */
    int64_t took_ns;             /* in the sample being taken; 0: it was not read */
    int64_t elsewhere_ns;        /* CPU time of another thread for it, in the same */
    const struct rm_collector *collector;
    void *state;  /* NULL: switched off */
    size_t first; /* column */
    size_t columns;
    struct rm_source_record record; /* copied to the block with each sample */
};

/* Where samples and tags go besides the block; called on the sampling thread.  NULL: nowhere. */
struct rm_sampler_output {
    void (*row)(void *context, int64_t t_ns, const double *values);
    void (*tag)(void *context, int64_t t_ns, const char *label);
    uint64_t (*dropped)(void *context);
    void *context;
    uint64_t (*cpu_ns)(void *cpu_context); /* of the threads behind it, so far; NULL: none */
    void *cpu_context;
};

/* What taking stacks costs: written by the thread that does (atomic). */
struct rm_stacks_cost {
    uint64_t thread_ns, handlers_ns;
};

struct rm_sampler {
    const struct rm_options *options;
    const char *job_id;           /* for whose part of this machine it speaks; NULL: none's */
    const struct rm_begin *begin; /* of the process, before the first sample; NULL: with that */
    struct rm_gpus *gpus;         /* NULL: none, for the reason below */
    resmon_status gpus_status;
    char gpus_why[160];
    struct rm_gpu_reading *gpu_readings;
    struct rm_collect collect;
    struct rm_sampler_source *sources;
    size_t source_count;
    size_t column_count;
    int64_t rss_column; /* -1: not sampled */

    struct rm_block block;
    struct rm_sampler_cost cost;
    struct rm_cadence cadence;
    struct rm_stacks_cost stacks_cost;
    int64_t cpu_mark_ns; /* CPU clock of the sampling thread, up to which it is in the account */
    int64_t others_ns;   /* of delivery, at the latest sample, which came at */
    int64_t taken_ns;
    int64_t next_hear_ns; /* of sources that are told something between samples */
    double *values;       /* one per column */
    uint8_t *notes;       /* of the series, one per column */
    double *delivered;    /* the row for sinks: counters as growth; NULL: no sink wants rows */
    struct rm_sampler_output output;
    uint64_t tags_sent;
    struct rm_energy_division division; /* opened where there are scopes and energy */

    /* Guards the series in the block, between sampling and snapshots. */
    pthread_mutex_t store_lock;
};

/** On a thread that has the program's descriptors, before all others: finds the GPUs. */
void rm_sampler_prepare(struct rm_sampler *sampler, const struct rm_options *options);

/** What a row of the table takes at most, where no source has more than one instance. */
size_t rm_sampler_row_bytes(const struct rm_options *options);

/** Opens the collectors; says how many columns and sources the block needs.  To be closed also
 * after a failure. */
resmon_status rm_sampler_open(struct rm_sampler *sampler);

/** Starts the record: columns and sources into the freshly formatted block, then the first sample.
 */
resmon_status rm_sampler_begin(struct rm_sampler *sampler, const struct rm_block *block,
                               const struct rm_sampler_output *output);

/* Which sources a sample is of. */
enum rm_sample_of {
    RM_SAMPLE_DUE,   /* those whose time has come */
    RM_SAMPLE_ASKED, /* and all that may be read at any time */
    RM_SAMPLE_ALL    /* every one: the first and the last sample */
};

/** Takes one sample at `now_ns` (CLOCK_MONOTONIC). */
void rm_sampler_take(struct rm_sampler *sampler, int64_t now_ns, enum rm_sample_of of);

/** Hears what sources are told between samples (rm_collector.hear), and says in `next_hear_ns` when
 * to do that again; INT64_MAX: never. */
void rm_sampler_hear(struct rm_sampler *sampler, int64_t now_ns);

/** Closes the files of the sources. */
void rm_sampler_close_sources(struct rm_sampler *sampler);

/** Frees the rest, after that. */
void rm_sampler_close(struct rm_sampler *sampler);

#endif
