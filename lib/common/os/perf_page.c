/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_SHARED, sysconf */
#include "os/perf_page.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"

#if defined(__x86_64__)
#define CAN_READ 1

static uint64_t rdpmc(uint32_t index)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}

static uint64_t rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
#else
#define CAN_READ 0

static uint64_t rdpmc(uint32_t index)
{
    (void)index;
    return 0;
}

static uint64_t rdtsc(void)
{
    return 0;
}
#endif

static const struct rm_perf_processor own = {rdpmc, rdtsc};
static const struct rm_perf_processor own_without_clock = {rdpmc, NULL};

struct perf_event_mmap_page *rm_perf_page_map(int fd)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = CAN_READ ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        return NULL;
    }
    struct perf_event_mmap_page *page = memory;
    if (!page->cap_user_rdpmc) {
        rm_perf_page_unmap(page);
        return NULL;
    }
    return page;
}

void rm_perf_page_unmap(struct perf_event_mmap_page *page)
{
    if (page != NULL) {
        (void)munmap(page, (size_t)sysconf(_SC_PAGESIZE));
    }
}

/* Time since the page was written, by the clock that it describes: as linux/perf_event.h has it. */
static uint64_t time_since(const struct perf_event_mmap_page *page, uint64_t cycles)
{
    uint64_t whole = cycles >> page->time_shift;
    uint64_t rest = cycles & (((uint64_t)1 << page->time_shift) - 1);
    return page->time_offset + whole * page->time_mult +
           ((rest * page->time_mult) >> page->time_shift);
}

/* What the counter has counted since the page was written: of `pmc_width` bits, with a sign. */
static uint64_t count_since(const struct perf_event_mmap_page *page, uint64_t raw)
{
    unsigned unused = 64U - page->pmc_width;
    int64_t high = (int64_t)(raw << unused);
    return (uint64_t)(high >> unused);
}

/* The kernel makes `lock` odd while it writes the page, and changes it each time. */
bool rm_perf_page_read_by(const struct perf_event_mmap_page *page,
                          const struct rm_perf_processor *processor,
                          struct rm_perf_count *ret_count)
{
    for (int tries = 0; tries < 16; tries++) {
        uint32_t before = RM_LOAD_ACQUIRE(&page->lock);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        uint32_t index = RM_LOAD(&page->index);
        struct rm_perf_count count = {(uint64_t)RM_LOAD(&page->offset),
                                      (uint64_t)RM_LOAD(&page->time_enabled),
                                      (uint64_t)RM_LOAD(&page->time_running)};
        if (!page->cap_user_rdpmc || index == 0 || page->pmc_width == 0 || page->pmc_width > 64) {
            return false;
        }
        /* Without a clock the times are those of the last writing: they lag, which matters only to
         * a counter that is shared. */
        if (page->cap_user_time && processor->rdtsc != NULL) {
            uint64_t since = time_since(page, processor->rdtsc());
            count.enabled += since;
            count.running += since;
        } else if (count.enabled != count.running && !page->cap_user_time) {
            return false;
        }
        count.value += count_since(page, processor->rdpmc(index - 1));
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if ((before & 1) == 0 && RM_LOAD_ACQUIRE(&page->lock) == before) {
            *ret_count = count;
            return true;
        }
    }
    return false;
}

bool rm_perf_page_read(const struct perf_event_mmap_page *page, bool wants_time,
                       struct rm_perf_count *ret_count)
{
    return rm_perf_page_read_by(page, wants_time ? &own : &own_without_clock, ret_count);
}
