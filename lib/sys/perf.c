/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "sys/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"

int rm_perf_open(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attributes = {.type = type, .size = sizeof attributes, .config = config};
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int rm_perf_open_none(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = ENOENT;
    return -1;
}
