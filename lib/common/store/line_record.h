/* SPDX-License-Identifier: MIT */
/*
 * Owns the checkpoints of lines as data in the block: one record for each RESMON_LINE() that was
 * passed, added to by any thread; published by header->line_count.
 */
#ifndef RM_STORE_LINE_RECORD_H
#define RM_STORE_LINE_RECORD_H

#include <stdint.h>

#include "store/block.h"

#define RM_LINE_FILE_BYTES     192
#define RM_LINE_FUNCTION_BYTES 64
#define RM_LINES               256U /* when scopes are kept */

struct rm_line_record {
    char file[RM_LINE_FILE_BYTES];
    char function[RM_LINE_FUNCTION_BYTES];
    uint64_t line;
    uint64_t hits;        /* stretches that ended here; each number by atomic additions */
    uint64_t ticks;       /* that they took */
    uint64_t rss_hits;    /* of those, with the RSS known at both ends */
    uint64_t rss_bytes;   /* by which it grew, as a number of two's complement: it may shrink */
    uint64_t rss_highest; /* of the process, when the line was passed; 0: not known */
};

struct resmon_run;

/** Adds the lines of `block` to `run`.  Trusts nothing in the block; RESMON_ENOMEM. */
resmon_status rm_run_decode_lines(const struct rm_block *block, double ns_per_tick,
                                  struct resmon_run *run);

/** What that allocates at most. */
size_t rm_run_lines_result(void);

#endif
