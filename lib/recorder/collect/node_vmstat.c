/* SPDX-License-Identifier: MIT */
/*
 * Collector node_vmstat: swapping, OOM kills, and where memory is allocated.  /proc/vmstat, a long
 * file for a few numbers, so once a second at most.  Machines with one NUMA node, and kernels
 * without NUMA, have no allocations elsewhere.
 */
#include "collect/collect.h"

enum { SWAP_IN, SWAP_OUT, OOM_KILL, NUMA_LOCAL, NUMA_OTHER };

static const uint16_t metrics[] = {
    [SWAP_IN] = RM_NODE_SWAP_IN,       [SWAP_OUT] = RM_NODE_SWAP_OUT,
    [OOM_KILL] = RM_NODE_OOM_KILL,     [NUMA_LOCAL] = RM_NODE_NUMA_LOCAL,
    [NUMA_OTHER] = RM_NODE_NUMA_OTHER,
};

static const struct rm_key keys[] = {
    RM_KEY("pswpin", SWAP_IN),        RM_KEY("pswpout", SWAP_OUT),
    RM_KEY("oom_kill", OOM_KILL),     RM_KEY("numa_local", NUMA_LOCAL),
    RM_KEY("numa_other", NUMA_OTHER),
};

static resmon_status read_vmstat(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    uint64_t numbers[RM_ARRAY_LEN(metrics)] = {0};
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), numbers);
    values[SWAP_IN] = rm_found(found, numbers, SWAP_IN) * collect->page_bytes;
    values[SWAP_OUT] = rm_found(found, numbers, SWAP_OUT) * collect->page_bytes;
    values[OOM_KILL] = rm_found(found, numbers, OOM_KILL);
    values[NUMA_LOCAL] = rm_found(found, numbers, NUMA_LOCAL);
    values[NUMA_OTHER] = rm_found(found, numbers, NUMA_OTHER);
    return found != 0 ? RESMON_OK : rm_collect_garbled(file);
}

static resmon_status open_vmstat(struct rm_collect *collect, void *file)
{
    return rm_file_open(file, &collect->root, "proc/vmstat");
}

static void close_vmstat(void *file)
{
    rm_file_close(file);
}

const struct rm_collector rm_collect_node_vmstat = {
    .name = "node_vmstat",
    .domain = RESMON_DOMAIN_MEMORY,
    .min_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_vmstat,
    .read = read_vmstat,
    .close = close_vmstat,
};
