/* SPDX-License-Identifier: MIT */
/*
 * Collector node_extra, for tests: a counter, shown by default, and a level with a place of its own
 * (extra_views.def), both with two instances.  /proc/extra has their seconds.
 */
#include "collect/collect.h"

enum { TIME, PLACED, COUNT };

static const uint16_t metrics[] = {[TIME] = RM_NODE_EXTRA, [PLACED] = RM_NODE_EXTRA_PLACED};
static const char *const names[] = {"a", "b/c"};

static resmon_status open_extra(struct rm_collect *collect, void *file)
{
    return rm_file_open(file, &collect->root, "proc/extra");
}

static resmon_status read_extra(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    uint64_t seconds;
    resmon_status status = rm_collect_read(collect, file, &text);
    for (size_t i = 0; i < RM_ARRAY_LEN(names) && status == RESMON_OK; i++) {
        if (!rm_parse_u64(&text, &seconds)) {
            return rm_collect_garbled(file);
        }
        values[COUNT * i + TIME] = (double)seconds;
        values[COUNT * i + PLACED] = 4096.0;
    }
    return status;
}

static void close_extra(void *file)
{
    rm_file_close(file);
}

static size_t count_names(const void *file)
{
    (void)file;
    return RM_ARRAY_LEN(names);
}

static const char *name_of(const void *file, size_t index)
{
    (void)file;
    return names[index];
}

const struct rm_collector rm_collect_node_extra = {
    .name = "node_extra",
    .domain = RESMON_DOMAIN_DISK,
    .after = RM_AFTER("node_files"),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_extra,
    .read = read_extra,
    .close = close_extra,
    .instances = count_names,
    .instance_name = name_of,
};
