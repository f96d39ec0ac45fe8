/* SPDX-License-Identifier: MIT */
/*
 * Collector node_load: load averages.  /proc/loadavg.
 */
#include "collect/collect.h"

static const uint16_t metrics[] = {RM_NODE_LOAD_1, RM_NODE_LOAD_5, RM_NODE_LOAD_15};

static resmon_status read_load(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    double load[RM_ARRAY_LEN(metrics)];
    for (size_t i = 0; i < RM_ARRAY_LEN(metrics); i++) {
        if (!rm_parse_decimal(&text, &load[i])) {
            return rm_collect_garbled(file);
        }
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(metrics); i++) {
        values[i] = load[i];
    }
    return RESMON_OK;
}

static resmon_status open_load(struct rm_collect *collect, void *file)
{
    return rm_file_open(file, &collect->root, "proc/loadavg");
}

static void close_load(void *file)
{
    rm_file_close(file);
}

const struct rm_collector rm_collect_node_load = {
    .name = "node_load",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S, /* the kernel itself computes it every 5 s */
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_load,
    .read = read_load,
    .close = close_load,
};
