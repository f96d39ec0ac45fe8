/* SPDX-License-Identifier: MIT */
#include "engine/own_memory.h"

#include "base/compiler.h"
#include "os/own_usage.h"

uint64_t rm_own_memory_rss(void)
{
    struct rm_kept file = {0};
    uint64_t bytes = 0;
    if (!rm_own_rss_open(&file) || !rm_own_rss_read(&file, &bytes)) {
        bytes = 0;
    }
    rm_kept_close(&file);
    return bytes;
}

/* Pages of the block come as it fills, and as it is read, which takes none of the memory: so before
 * that, and what the figure has too much is what earlier looks have read beyond it. */
void rm_own_memory_note(const struct rm_own_memory *own)
{
    if (own->start_rss_1 > 0) {
        RM_STORE(&own->header->own_rss_1, own->start_rss_1 + rm_mapping_resident(own->mapping));
    }
}

/* The program's other threads count, too, if they take memory in that instant. */
void rm_own_memory_note_start(struct rm_own_memory *own, uint64_t rss_before)
{
    if (!own->is_self) {
        return;
    }
    uint64_t rss = rm_own_memory_rss();
    uint64_t known = rm_mapping_resident(own->mapping) + RM_LOAD(&own->header->own_stacks_rss);
    if (rss_before > 0 && rss > 0) {
        uint64_t grown = rss > rss_before ? rss - rss_before : 0;
        own->start_rss_1 = (grown > known ? grown - known : 0) + 1;
    }
    rm_own_memory_note(own);
}

void rm_own_memory_note_rise(const struct rm_own_memory *own, uint64_t bytes)
{
    uint64_t known = RM_LOAD(&own->header->own_work_rss_1);
    while (own->is_self && known < bytes + 1 &&
           !__atomic_compare_exchange_n(&own->header->own_work_rss_1, &known, bytes + 1, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
