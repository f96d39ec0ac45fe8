/* SPDX-License-Identifier: MIT */
/*
 * Owns the rows of the processes that were seen to come and go, as data in the block.  One thread
 * writes (engine/stacks, through stack/processes); published by header->process_count.
 */
#ifndef RM_STORE_PROCESS_ROW_H
#define RM_STORE_PROCESS_ROW_H

#include <stdint.h>

#include "store/block.h"

#define RM_PROCESS_ROWS 16384U

/* What is known of it. */
#define RM_PROCESS_HAS_CPU        1U
#define RM_PROCESS_HAS_STATUS     2U
#define RM_PROCESS_HAS_PEAK       4U
#define RM_PROCESS_PEAK_IS_EXACT  8U
#define RM_PROCESS_HAS_ENDED      16U
#define RM_PROCESS_CPU_IS_SAMPLED 32U

struct rm_process_row {
    uint64_t pid, parent; /* 0: not known */
    char name[16];
    int64_t start_ns, end_ns; /* since the start of the run */
    uint64_t cpu_ns;
    uint64_t rss_peak;
    uint32_t wait_status; /* as wait(2) has it */
    uint32_t known;       /* atomic: RM_PROCESS_* */
};

/** A new row; NULL: there is no room for it, which is counted. */
struct rm_process_row *rm_process_row_add(const struct rm_block *block,
                                          const struct rm_process_row *row);

/** More is known of it now. */
void rm_process_row_know(struct rm_process_row *row, uint32_t what);

/** What was known is not true any more. */
void rm_process_row_forget(struct rm_process_row *row, uint32_t what);

#endif
