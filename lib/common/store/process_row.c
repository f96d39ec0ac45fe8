/* SPDX-License-Identifier: MIT */
#include "store/process_row.h"

#include "base/compiler.h"

struct rm_process_row *rm_process_row_add(const struct rm_block *block,
                                          const struct rm_process_row *row)
{
    struct rm_block_header *header = block->header;
    uint64_t count = header->process_count;
    if (count >= header->sections[RM_SECTION_PROCESSES].count) {
        RM_STORE(&header->dropped_processes, header->dropped_processes + 1);
        return NULL;
    }
    struct rm_process_row *fresh = rm_block_record(block, RM_SECTION_PROCESSES, count);
    *fresh = *row;
    RM_STORE_RELEASE(&header->process_count, count + 1);
    return fresh;
}

void rm_process_row_know(struct rm_process_row *row, uint32_t what)
{
    RM_STORE_RELEASE(&row->known, row->known | what);
}

void rm_process_row_forget(struct rm_process_row *row, uint32_t what)
{
    RM_STORE_RELEASE(&row->known, row->known & ~what);
}
