/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_pids: processes and threads in the control group.  pids.current, in both
 * versions; the root group has none.
 */
#include "collect/collect.h"

static const uint16_t metrics[] = {RM_CG_PIDS};

static resmon_status open_pids(struct rm_collect *collect, void *file)
{
    return rm_collect_open_cgroup(collect, file, RM_CGROUP_PIDS, "pids.current");
}

static resmon_status read_pids(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    uint64_t count;
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    if (!rm_parse_u64(&text, &count)) {
        return rm_collect_garbled(file);
    }
    values[0] = (double)count;
    return RESMON_OK;
}

static void close_pids(void *file)
{
    rm_file_close(file);
}

const struct rm_collector rm_collect_cgroup_pids = {
    .name = "cgroup_pids",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_pids,
    .read = read_pids,
    .close = close_pids,
};
