/* SPDX-License-Identifier: MIT */
/*
 * Owns the ring of tags in the block: any thread and any signal handler writes, lock-free; the
 * newest are kept and the overwritten counted.
 */
#ifndef RM_STORE_TAGS_H
#define RM_STORE_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"

#define RM_TAG_LABEL_BYTES 112

struct rm_tag {
    uint64_t sequence; /* 1 + number of the tag; 0 while being written */
    int64_t t_ns;      /* since start */
    char label[RM_TAG_LABEL_BYTES];
};

/** Writes a tag.  Async-signal-safe. */
void rm_tags_add(struct rm_block *block, int64_t t_ns, const char *label);

/** Tags written, and the number of the oldest that is still there. */
uint64_t rm_tags_count(const struct rm_block *block);
uint64_t rm_tags_oldest(const struct rm_block *block);

/** Copies tag `number`; false when it was overwritten or never completed. */
bool rm_tags_get(const struct rm_block *block, uint64_t number, struct rm_tag *ret_tag);

#endif
