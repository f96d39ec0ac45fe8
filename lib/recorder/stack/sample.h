/* SPDX-License-Identifier: MIT */
/*
 * Owns one sample of a stack on its way from a signal handler or a perf ring to the round that
 * writes it: a header, the sites of its open scopes, its addresses, and what Python adds.  Used by
 * slot, faults, handler and round.
 */
#ifndef RM_STACK_SAMPLE_H
#define RM_STACK_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/python.h"
#include "store/stack_record.h"

/* Cause of a sample. */
enum rm_sample_cause {
    RM_SAMPLE_CPU,
    RM_SAMPLE_FAULT,
    RM_SAMPLE_PEAK,
    RM_SAMPLE_PYTHON, /* no sample: the Python stack at a page fault */
};

/* Followed by its sites and addresses, and, where Python was looked for, by the stack pointers of
 * the native frames and by Python's frames; aligned to 8 bytes. */
struct rm_slot_sample {
    uint32_t bytes; /* total size; a multiple of 8 */
    uint8_t cause;  /* enum rm_sample_cause; 0xff: no sample, the ring continues at its begin */
    uint8_t is_cut, is_broken;
    uint8_t has_stacks; /* Python was looked for; else its members are 0 */
    uint32_t site_count;
    uint32_t depth;
    uint32_t python_depth;
    uint8_t python; /* enum rm_python_result */
    uint8_t python_is_cut;
    uint64_t python_address;     /* of the innermost frame */
    uint64_t count;              /* samples represented */
    int64_t t_ns;                /* CLOCK_MONOTONIC */
    uint64_t stack, instruction; /* registers */
    /* For page faults: */
    uint64_t faults;     /* faults represented */
    uint64_t address;    /* of the last fault */
    uint64_t page_bytes; /* size of the faulted page; 0: not known */
};

/* Capacity for the parts of the largest sample. */
#define RM_SLOT_PARTS_BYTES                                                      \
    (RM_STACK_SITES * sizeof(uint32_t) + 2 * RM_STACK_DEPTH * sizeof(uint64_t) + \
     RM_PYTHON_DEPTH * sizeof(struct rm_python_frame))

/* Sites are padded to a multiple of 8 bytes, so that addresses are aligned. */
static inline uint64_t rm_slot_bytes_for(uint32_t sites, uint32_t depth)
{
    uint64_t of_sites = ((uint64_t)sites * sizeof(uint32_t) + 7) / 8 * 8;
    return sizeof(struct rm_slot_sample) + of_sites + depth * sizeof(uint64_t);
}

/** Positions of a sample's parts. */
static inline uint32_t *rm_slot_sites(struct rm_slot_sample *sample)
{
    return (uint32_t *)(void *)(sample + 1);
}

static inline uint64_t *rm_slot_addresses(struct rm_slot_sample *sample)
{
    unsigned char *base = (unsigned char *)sample;
    return (uint64_t *)(void *)(base + rm_slot_bytes_for(sample->site_count, 0));
}

static inline uint64_t *rm_slot_stacks(struct rm_slot_sample *sample)
{
    return rm_slot_addresses(sample) + sample->depth;
}

static inline struct rm_python_frame *rm_slot_frames(struct rm_slot_sample *sample)
{
    return (struct rm_python_frame *)(void *)(rm_slot_stacks(sample) + sample->depth);
}

static inline uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample)
{
    uint64_t bytes = rm_slot_bytes_for(sample->site_count, sample->depth);
    if (sample->has_stacks != 0) {
        bytes += sample->depth * sizeof(uint64_t) +
                 sample->python_depth * sizeof(struct rm_python_frame);
    }
    return (uint32_t)bytes;
}

#endif
