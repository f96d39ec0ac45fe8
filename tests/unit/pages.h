/* SPDX-License-Identifier: MIT */
/*
 * Memory whose pages, page faults and RSS a test can foretell.  The including file defines
 * _GNU_SOURCE, for madvise() and sched_setaffinity().
 */
#ifndef RESMON_TESTS_PAGES_H
#define RESMON_TESTS_PAGES_H

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

/* Small pages, whatever the machine has for all memory. */
static inline void *fresh_memory(size_t bytes, int flags, int fd)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

/* The kernel counts pages of a process for each CPU that it was on, and folds these in batches of
 * twice as many pages as there are CPUs: with many CPUs, figures are near only on one of them. */
FIXTURE(stay_on_one_of_many_cpus)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    if (sysconf(_SC_NPROCESSORS_CONF) >= 64 && cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
    }
    return 0;
}

static inline void touch_pages(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile unsigned char *memory = fresh_memory(count * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (size_t i = 0; i < count; i++) {
        memory[i * page] = 1;
    }
    (void)munmap((void *)(uintptr_t)memory, count * page);
}

#endif
