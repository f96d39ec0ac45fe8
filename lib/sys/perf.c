/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "sys/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fault.h"

static int open_event(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
    attributes->size = sizeof *attributes;
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int rm_perf_open(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attributes = {.type = type, .config = config};
    return open_event(&attributes, -1, cpu);
}

int rm_perf_open_least(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return open_event(&attributes, 0, -1);
}

int rm_perf_open_none(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = ENOENT;
    return -1;
}
