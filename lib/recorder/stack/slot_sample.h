/* SPDX-License-Identifier: MIT */
/*
 * A stack as it was taken: why, what it stands for, the numbers of the open scopes' sites from the
 * outermost, and the addresses from the innermost, in one piece.
 */
#ifndef RM_STACK_SLOT_SAMPLE_H
#define RM_STACK_SLOT_SAMPLE_H

#include <stdint.h>

#include "store/stack_record.h"

/* Why a stack was taken. */
enum rm_sample_cause { RM_SAMPLE_CPU, RM_SAMPLE_FAULT, RM_SAMPLE_PEAK };

/* Its sites and then its addresses follow, on boundaries of 8 bytes. */
struct rm_slot_sample {
    uint32_t bytes; /* of all; a multiple of 8 */
    uint8_t cause;  /* enum rm_sample_cause; 0xff: nothing, the ring begins anew */
    uint8_t is_cut, is_broken, reserved;
    uint32_t site_count;
    uint32_t depth;
    uint64_t count; /* samples that it stands for */
    /* Of page faults: */
    uint64_t faults;     /* that it stands for */
    uint64_t address;    /* of the last one */
    uint64_t page_bytes; /* of the page that came; 0: not known */
};

/* Room for the parts of the largest. */
#define RM_SLOT_PARTS_BYTES (RM_STACK_SITES * sizeof(uint32_t) + RM_STACK_DEPTH * sizeof(uint64_t))

/* Where the parts of a sample are. */
uint32_t *rm_slot_sites(struct rm_slot_sample *sample);
uint64_t *rm_slot_addresses(struct rm_slot_sample *sample);
uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample);

#endif
