/* SPDX-License-Identifier: MIT */
/*
 * Owns the watch for peaks of memory: when the process's RSS, or what its control group has left,
 * is worse than ever by enough that the stacks of all threads are worth taking.
 */
#ifndef RM_ENGINE_MEMORY_WATCH_H
#define RM_ENGINE_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "store/stack_record.h"
#include "sys/file.h"

struct rm_memory_watch_files {
    struct rm_file statm;
    struct rm_file used; /* of the control group; closed: it has no limit */
};

struct rm_memory_watch {
    struct rm_memory_watch_files files;
    uint64_t limit;         /* of the control group; UINT64_MAX: none */
    uint64_t next_rss;      /* the next peak is from here on */
    uint64_t next_headroom; /* or when less than this is left */
    uint64_t page_bytes;
};

/** Opens; what cannot be read is not watched.  The root stays where it is. */
void rm_memory_watch_open(struct rm_memory_watch *watch, const struct rm_root *root,
                          struct rm_scratch *scratch);
void rm_memory_watch_close(struct rm_memory_watch *watch);

/** Looks: true when this is a peak, with what was seen. */
bool rm_memory_watch_look(struct rm_memory_watch *watch, struct rm_scratch *scratch,
                          struct rm_peak_head *ret_head);

/** The rule alone: whether these figures are a peak; sets when the next one will be. */
bool rm_memory_watch_decide(struct rm_memory_watch *watch, uint64_t rss, uint64_t headroom);

#endif
