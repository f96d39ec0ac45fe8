/* SPDX-License-Identifier: MIT */
/*
 * Owns taking samples: the sources of a monitor, and the run block that samples are stored in.
 *
 * All functions run on the thread of engine/sampling, which has a descriptor table of its own,
 * except rm_sampler_begin() and rm_sampler_close(), which run on others while that thread waits
 * or has ended.
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
#include "job/environment.h"
#include "setup/options.h"
#include "store/block.h"
#include "store/run_records.h"
#include "store/series.h"

/* An open collector. */
struct rm_sampler_source {
    struct rm_schedule schedule; /* first member: balanced as an array with this struct's stride */
    int64_t took_ns;             /* duration in the current sample; 0: not read */
    int64_t elsewhere_ns;        /* CPU time of another thread for the reading */
    const struct rm_collector *collector;
    void *state;  /* NULL: disabled */
    size_t first; /* first column */
    size_t columns;
    struct rm_source_record record; /* copied to the block with each sample */
};

/* Receiver of samples and tags beside the block; called on the sampling thread.  NULL: none. */
struct rm_sampler_output {
    void (*row)(void *context, int64_t t_ns, const double *values);
    void (*tag)(void *context, int64_t t_ns, const char *label);
    uint64_t (*dropped)(void *context);
    void *context;
    uint64_t (*cpu_ns)(void *cpu_context); /* CPU time of its threads so far; NULL: none */
    void *cpu_context;
};

/* Cost of stacks, atomic: written by the thread that takes them. */
struct rm_stacks_cost {
    uint64_t thread_ns, handlers_ns;
};

struct rm_sampler {
    const struct rm_options *options;
    const char *job_id; /* job whose use of this machine is reported; NULL: none */
    /* begin of the process, before the first sample; NULL: the first sample is the begin */
    const struct rm_begin *begin;
    struct rm_gpus *gpus; /* NULL: none, with the reason below */
    resmon_status gpus_status;
    char gpus_why[160];
    struct rm_gpu_reading *gpu_readings;
    struct rm_collect collect;
    char job_entries[RM_JOB_ENTRIES_BYTES]; /* of the observed job, if it has no cgroup */
    struct rm_sampler_source *sources;
    size_t source_count;
    size_t column_count;
    int64_t rss_column; /* -1: no column */

    struct rm_block block;
    struct rm_sampler_cost cost;
    struct rm_cadence cadence;
    struct rm_stacks_cost stacks_cost;
    int64_t cpu_mark_ns; /* CPU clock of the sampling thread at the last account */
    int64_t others_ns;   /* cost of delivery at the latest sample */
    int64_t taken_ns;
    int64_t next_events_ns; /* next call of rm_sampler_take_events() */
    double *values;         /* one per column */
    uint8_t *notes;         /* notes of the series, one per column */
    double *delivered; /* the row for sinks, with counters as growth; NULL: no sink wants rows */
    struct rm_sampler_output output;
    uint64_t tags_sent;
    struct rm_energy_division division; /* open if there are scopes and energy */

    /* Guards the series in the block, between sampling and snapshots. */
    pthread_mutex_t store_lock;
};

/** On a thread with the program's descriptors, called first: finds the GPUs. */
void rm_sampler_prepare(struct rm_sampler *sampler, const struct rm_options *options);

/** Upper bound of a table row, if no source has more than one instance. */
size_t rm_sampler_row_bytes(const struct rm_options *options);

/** Opens the collectors, which determines the block's columns and sources.  Closed also after a
 * failure. */
resmon_status rm_sampler_open(struct rm_sampler *sampler);

/** Writes columns and sources to the new block, and takes the first sample. */
resmon_status rm_sampler_begin(struct rm_sampler *sampler, const struct rm_block *block,
                               const struct rm_sampler_output *output);

/* Which sources a sample reads. */
enum rm_sample_of {
    RM_SAMPLE_DUE,   /* sources that are due */
    RM_SAMPLE_ASKED, /* sources that are due, and sources without a minimum interval */
    RM_SAMPLE_ALL    /* all sources, for the first and the last sample */
};

/** Takes one sample at `now_ns` (CLOCK_MONOTONIC). */
void rm_sampler_take(struct rm_sampler *sampler, int64_t now_ns, enum rm_sample_of of);

/** Lets collectors take queued events between samples (rm_collector.take_events), and sets
 * `next_events_ns` to the next due time; INT64_MAX: never. */
void rm_sampler_take_events(struct rm_sampler *sampler, int64_t now_ns);

/** Closes the files of the sources. */
void rm_sampler_close_sources(struct rm_sampler *sampler);

/** Frees the rest; after rm_sampler_close_sources(). */
void rm_sampler_close(struct rm_sampler *sampler);

#endif
