/* SPDX-License-Identifier: MIT */
/*
 * Owns the series of a run inside its block: columns, the bounded rows that are decimated by
 * halving, the running statistics, and the commit that makes each sample visible as a whole.
 *
 * There is one writer, the sampler. Readers in the same process hold the engine's store lock. A
 * reader of a dead program's file needs no lock, because every state up to the last commit is
 * complete.
 */
#ifndef RM_STORE_SERIES_H
#define RM_STORE_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "store/block.h"
#include "store/bucket.h"
#include "store/sketch.h"
#include "store/stats.h"

#define RM_INSTANCE_BYTES 40

/* A metric of an instance ("eth0"; "" for most metrics). Fixed before the first sample. */
struct rm_column {
    uint32_t metric;
    uint32_t source;      /* index of the source that reads it */
    int32_t kind;         /* RESMON_GAUGE or RESMON_COUNTER */
    uint32_t is_interval; /* as in struct rm_counting */
    double wrap;
    double most_rate; /* counter: highest possible growth in a second; 0: no limit */
    char instance[RM_INSTANCE_BYTES];
};

/* The cost of the sampler itself, recorded with each sample. */
struct rm_sampler_cost {
    uint64_t late;    /* deadlines that had passed when the sampler woke */
    uint64_t cpu_ns;  /* CPU time of the sampling thread */
    uint64_t wall_ns; /* time spent taking samples */
    uint64_t wall_max_ns;
    uint64_t undelivered; /* rows that the delivery queue refused */
    uint64_t skipped;     /* deadlines without a sample, to stay below max_overhead */
    uint64_t delivery_ns; /* CPU time of the threads that call sinks and copy the recording */
    uint64_t gpus_ns;     /* CPU time of the thread that reads the GPUs' driver */
    uint64_t stacks_ns;   /* CPU time of the thread that requests stacks */
    uint64_t handlers_ns; /* time in the stacks' signal handler, on the program's threads */
};

/* The state after a sample. The block has two copies; header->commit publishes the newer copy. */
struct rm_commit {
    int64_t t_ns;               /* of this sample, since start */
    struct rm_clock_pair clock; /* just after the sample: relates ticks to time */
    uint64_t samples;
    uint64_t rows;   /* complete buckets */
    uint64_t stride; /* samples per complete bucket */
    uint64_t halvings;
    struct rm_span open; /* the bucket being filled */
    struct rm_sampler_cost cost;
};

/* Follows the commit in its section record, one per column. */
struct rm_column_state {
    struct rm_stats stats;
    struct rm_cell open;
};

/*
 * The quantities of so many samples are kept in rows, and then enter the sketches all at once. The
 * reason: a sketch has three pages, and each sample would touch one page of each column's sketch.
 * Moving them takes 10 us. If the program is killed in this time, quantiles may count up to 15
 * samples twice.
 */
#define RM_RECENT_SAMPLES 16

/* A row of the section: a span, then one cell per column. */
struct rm_row {
    struct rm_span span;
    struct rm_cell cells[];
};

/* One sample, on its way into the series. */
struct rm_sample {
    int64_t t_ns;
    struct rm_clock_pair clock;
    const double *values; /* one per column, as read */
    double *ret_values;   /* for delivery, counters as growth since start; NULL: not wanted */
    uint8_t *notes; /* one per column, kept between samples, zeroed at first; NULL: each column is
                       written, also if it was not read */
};

/** Prepares the states of a freshly formatted block. */
void rm_series_begin(struct rm_block *block);

/** Takes a sample and publishes it. */
void rm_series_add(struct rm_block *block, const struct rm_sample *sample,
                   const struct rm_sampler_cost *cost);

/** The published state, and its column states. */
const struct rm_commit *rm_series_state(const struct rm_block *block);
const struct rm_column_state *rm_series_columns(const struct rm_commit *commit);

/** Copies the quantities of a column that are not yet in its sketch; returns their number. */
size_t rm_series_recent(const struct rm_block *block, uint64_t column,
                        double ret_values[RM_RECENT_SAMPLES]);

/** The sketch of a column; NULL if no sample has entered any sketch yet. */
const struct rm_sketch *rm_series_sketch(const struct rm_block *block, uint64_t column);

/**
 * Calls `visit` for each complete bucket, oldest first, also if the block was left in the middle of
 * a halving. The open bucket is in the state.
 */
void rm_series_visit(const struct rm_block *block,
                     void (*visit)(void *context, const struct rm_row *row), void *context);

#endif
