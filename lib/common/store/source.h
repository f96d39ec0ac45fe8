/* SPDX-License-Identifier: MIT */
/*
 * Owns the record of a source of numbers in the block: whether it could be read, why not, how good
 * it is and what it cost.  Written by the sampler only.
 */
#ifndef RM_STORE_SOURCE_H
#define RM_STORE_SOURCE_H

#include <stdint.h>

#include <resmon/status.h>

#define RM_SOURCE_NAME_BYTES   32
#define RM_SOURCE_REASON_BYTES 192

struct rm_source_record {
    char name[RM_SOURCE_NAME_BYTES];
    int32_t status;     /* RESMON_OK: available; else why not */
    int32_t provenance; /* RESMON_PROVENANCE_* */
    uint64_t reads;
    uint64_t failures;
    uint64_t cost_ns; /* time spent reading it */
    uint64_t cost_max_ns;
    uint64_t every; /* it is now read at every k-th sample */
    char reason[RM_SOURCE_REASON_BYTES];
};

#endif
