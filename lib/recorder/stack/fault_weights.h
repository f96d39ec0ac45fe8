/* SPDX-License-Identifier: MIT */
/*
 * Owns what samples of page faults weigh where the number of faults does not tell: a fault in the
 * mapping of a file brings neighbours along, as many as the kernel has at hand, and one in memory
 * may bring a huge page.  By how much RssAnon and RssFile rose between two looks is known, and is
 * divided among the samples that were taken out meanwhile.
 */
#ifndef RM_STACK_FAULT_WEIGHTS_H
#define RM_STACK_FAULT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/stack_writer.h"

enum rm_rss_part { RM_RSS_ANON, RM_RSS_FILE, RM_RSS_PARTS };

#define RM_HELD_FAULTS 128

/* A sample that has no weight yet. */
struct rm_held_fault {
    struct rm_stack_entry *entry;
    uint64_t faults; /* that it stands for */
    uint64_t count;  /* samples that it is, with those that found their ring full */
    uint64_t page_bytes;
};

struct rm_rss_rises {
    uint64_t first, last; /* of the RSS, when it was looked at */
    uint64_t risen;       /* all rises together */
    uint64_t open;        /* of that, for which no sample stands */
    uint64_t fresh;       /* of all, since the look before the last */
};

struct rm_fault_weights {
    uint64_t page_bytes;
    uint64_t period; /* faults between samples */
    bool is_known;   /* the RSS can be read */
    struct rm_rss_rises rises[RM_RSS_PARTS];
    struct rm_held_fault held[RM_RSS_PARTS][RM_HELD_FAULTS];
    size_t held_count[RM_RSS_PARTS];
    uint64_t small_bytes; /* small pages of memory, by samples, since the last look */
    uint64_t huge_bytes;  /* huge ones, ever */
};

/** Looks for the first time; `rss` by part, in bytes, or NULL where it cannot be read. */
void rm_fault_weights_begin(struct rm_fault_weights *weights, uint64_t page_bytes, uint64_t period,
                            const uint64_t rss[RM_RSS_PARTS]);

/** Samples of small pages of memory weigh what their faults bring; notes so many bytes. */
void rm_fault_weights_count(struct rm_fault_weights *weights, uint64_t bytes);

/** Holds a sample, already added with no weight, until the next look; false: there is no room. */
bool rm_fault_weights_hold(struct rm_fault_weights *weights, enum rm_rss_part part,
                           const struct rm_held_fault *held);

/** Looks again, after samples were taken out: they get their weights.  true: memory rose by much
 * more than page faults tell, so huge pages come, of which samples should be closer. */
bool rm_fault_weights_settle(struct rm_fault_weights *weights, const uint64_t rss[RM_RSS_PARTS]);

#endif
