/* SPDX-License-Identifier: MIT */
/*
 * Collector proc_fds: open file descriptors of one process.  The directory /proc/PID/fd.
 */
#include "collect/collect.h"
#include "os/file.h"

static const uint16_t metrics[] = {RM_PROC_FDS};

static resmon_status read_count(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    uint64_t count;
    resmon_status status = rm_fd_count(&collect->root, collect->proc_dir, &count);
    if (status == RESMON_OK) {
        values[0] = (double)count;
    }
    return status;
}

static resmon_status open_count(struct rm_collect *collect, void *state)
{
    double value;
    return read_count(collect, state, &value);
}

const struct rm_collector rm_collect_proc_fds = {
    .name = "proc_fds",
    .domain = RESMON_DOMAIN_PROCESS,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .open = open_count,
    .read = read_count,
};
