/* SPDX-License-Identifier: MIT */
/*
 * Collector node_fs: how full the root file system is.  statvfs("/") only: other mounts may be of
 * the network, and hang.
 */
#include <errno.h>
#include <sys/statvfs.h>

#include "collect/collect.h"

enum { USED, FREE, PERCENT };

static const uint16_t metrics[] = {
    [USED] = RM_NODE_FS_USED,
    [FREE] = RM_NODE_FS_FREE,
    [PERCENT] = RM_NODE_FS_PERCENT,
};

static resmon_status read_usage(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    struct statvfs info;
    if (fstatvfs(rm_kept_fd(&collect->root.kept), &info) != 0) {
        return rm_error_errno(errno, "cannot read the usage of /");
    }
    double block = (double)info.f_frsize;
    double used = (double)(info.f_blocks - info.f_bfree) * block;
    double free_bytes = (double)info.f_bavail * block;
    values[USED] = used;
    values[FREE] = free_bytes;
    if (used + free_bytes > 0.0) {
        values[PERCENT] = 100.0 * used / (used + free_bytes);
    }
    return RESMON_OK;
}

static resmon_status open_usage(struct rm_collect *collect, void *state)
{
    double values[RM_ARRAY_LEN(metrics)];
    if (!collect->root.is_live) {
        return rm_error(RESMON_ENOTSUP, "a system call tells it, not a file below fs_root");
    }
    return read_usage(collect, state, values);
}

static size_t count_instances(const void *state)
{
    (void)state;
    return 1;
}

static const char *name_instance(const void *state, size_t index)
{
    (void)state;
    (void)index;
    return "/";
}

const struct rm_collector rm_collect_node_fs = {
    .name = "node_fs",
    .domain = RESMON_DOMAIN_DISK,
    .min_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .open = open_usage,
    .read = read_usage,
    .instances = count_instances,
    .instance_name = name_instance,
};
