/* SPDX-License-Identifier: MIT */
/*
 * Owns reading a counter of the calling thread without the kernel, by the page that it shares of
 * the counter (struct perf_event_mmap_page) and the processor's RDPMC: x86, where the kernel allows
 * it (/sys/devices/cpu/rdpmc).
 */
#ifndef RM_OS_PERF_PAGE_H
#define RM_OS_PERF_PAGE_H

#include <stdbool.h>

#include "os/perf.h"

struct perf_event_mmap_page;

/** Maps the page of a hardware event; NULL: it cannot be read this way. */
struct perf_event_mmap_page *rm_perf_page_map(int fd);
void rm_perf_page_unmap(struct perf_event_mmap_page *page);

/** Reads it; false: the counter does not run just now, or never can: the kernel has to be asked.
 * `wants_time`: the times are needed, and not only the count: one event of a group tells them.
 * Where the page has no clock, as in many virtual machines, the times of a counter that was never
 * descheduled lag: enabled and running are the same, and may be older than those of a read(2). */
bool rm_perf_page_read(const struct perf_event_mmap_page *page, bool wants_time,
                       struct rm_perf_count *ret_count);

/* The processor, or what tests put in its place. */
struct rm_perf_processor {
    uint64_t (*rdpmc)(uint32_t index);
    uint64_t (*rdtsc)(void); /* NULL: the times are not wanted */
};

bool rm_perf_page_read_by(const struct perf_event_mmap_page *page,
                          const struct rm_perf_processor *processor,
                          struct rm_perf_count *ret_count);

#endif
