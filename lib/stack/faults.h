/* SPDX-License-Identifier: MIT */
/*
 * Owns the page faults of one thread as samples: the kernel's ring of them, how closely it looks,
 * and what samples stand for that found it full.  All on one thread, which is not the sampled one.
 */
#ifndef RM_STACK_FAULTS_H
#define RM_STACK_FAULTS_H

#include <stdint.h>

#include "stack/slot_sample.h"
#include "store/block.h"
#include "sys/perf_ring.h"

struct rm_faults {
    struct rm_perf_ring ring;
    uint64_t period;                 /* faults between samples, as it was asked for */
    uint64_t accounted;              /* faults that samples stand for */
    uint64_t full;                   /* samples that found the ring full */
    uint64_t samples, short_samples; /* those that had too little of the stack */
    bool is_fine;                    /* samples are closer: huge pages come, or the first ones */
};

/** Counts from now on.  As rm_perf_ring_open(). */
resmon_status rm_faults_open(struct rm_faults *faults, uint32_t thread, uint64_t period);
void rm_faults_close(struct rm_faults *faults);

/** Calls `take` for each sample that waits; `block`: whose scopes are noted. */
typedef void (*rm_fault_take_fn)(void *context, const struct rm_slot_sample *sample);
void rm_faults_drain(struct rm_faults *faults, uint32_t thread, const struct rm_block *block,
                     rm_fault_take_fn take, void *context);

#endif
