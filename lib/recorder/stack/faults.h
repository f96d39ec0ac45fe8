/* SPDX-License-Identifier: MIT */
/*
 * Owns what the kernel tells of one thread in rings: its page faults as samples, how closely it
 * looks, what samples stand for that found a ring full; and the threads that it starts.  All on one
 * thread, which is not the sampled one.
 */
#ifndef RM_STACK_FAULTS_H
#define RM_STACK_FAULTS_H

#include <stdint.h>

#include "os/perf_ring.h"
#include "stack/slot_sample.h"
#include "store/block.h"

/* Page faults of one kind. */
struct rm_fault_source {
    struct rm_perf_ring ring;
    uint64_t accounted; /* faults that samples stand for */
};

struct rm_faults {
    struct rm_fault_source minor;
    struct rm_fault_source major;    /* tells of new threads, too */
    uint64_t period;                 /* faults between samples, as it was asked for; 0: none */
    uint64_t full;                   /* samples that found a ring full, ever */
    uint64_t samples, short_samples; /* those that had too little of the stack */
    bool has_full_stacks;            /* it has what stack it can have */
    uint32_t changes;                /* of the period that are to be made yet */
    bool is_fine;                    /* samples are closer: huge pages come */
};

/** Nothing: to be closed and drained like others. */
void rm_faults_init(struct rm_faults *faults);

/** Counts from now on; `period` 0: only new threads are told of; `is_fine`: huge pages are likely.
 * As rm_perf_ring_open() with minor faults; that others cannot be had is no failure. */
resmon_status rm_faults_open(struct rm_faults *faults, uint32_t thread, uint64_t period,
                             bool is_fine);
void rm_faults_close(struct rm_faults *faults);

/** Huge pages are likely from now on. */
void rm_faults_look_closely(struct rm_faults *faults);

/** Looks, now and then, whether the rings are still ours (rm_perf_ring_check()). */
void rm_faults_check(struct rm_faults *faults);

/* What becomes of it. */
struct rm_faults_taker {
    void (*take)(void *context, const struct rm_slot_sample *sample);
    void (*take_thread)(void *context, uint32_t new_thread); /* of a thread that was started */
    void *context;
};

/** Takes out what waits; `block`: whose scopes are noted. */
void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     const struct rm_faults_taker *taker);

#endif
