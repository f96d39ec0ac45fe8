/* SPDX-License-Identifier: MIT */
/*
 * Collectors node_mem and node_vmstat: the machine's memory and swap (/proc/meminfo), swapping,
 * OOM kills and NUMA allocations (/proc/vmstat).
 */
#include "collect/collect.h"

enum {
    M_TOTAL,
    M_FREE,
    M_AVAILABLE,
    M_BUFFERS,
    M_CACHED,
    M_ACTIVE_FILE,
    M_INACTIVE_FILE,
    M_SWAP_TOTAL,
    M_SWAP_FREE,
    M_DIRTY,
    M_SHMEM,
    M_SLAB,
    M_RECLAIMABLE,
    M_COUNT
};

enum {
    TOTAL,
    AVAILABLE,
    FREE,
    USED,
    PERCENT,
    BUFFERS,
    CACHED,
    SHMEM,
    SLAB,
    DIRTY,
    SWAP_USED,
    SWAP_PERCENT
};

static const uint16_t metrics[] = {
    [TOTAL] = RM_NODE_MEM_TOTAL,     [AVAILABLE] = RM_NODE_MEM_AVAILABLE,
    [FREE] = RM_NODE_MEM_FREE,       [USED] = RM_NODE_MEM_USED,
    [PERCENT] = RM_NODE_MEM_PERCENT, [BUFFERS] = RM_NODE_MEM_BUFFERS,
    [CACHED] = RM_NODE_MEM_CACHED,   [SHMEM] = RM_NODE_MEM_SHMEM,
    [SLAB] = RM_NODE_MEM_SLAB,       [DIRTY] = RM_NODE_MEM_DIRTY,
    [SWAP_USED] = RM_NODE_SWAP_USED, [SWAP_PERCENT] = RM_NODE_SWAP_PERCENT,
};

/* In the order of the file. */
static const struct rm_key keys[] = {
    RM_KEY("MemTotal:", M_TOTAL),
    RM_KEY("MemFree:", M_FREE),
    RM_KEY("MemAvailable:", M_AVAILABLE),
    RM_KEY("Buffers:", M_BUFFERS),
    RM_KEY("Cached:", M_CACHED),
    RM_KEY("Active(file):", M_ACTIVE_FILE),
    RM_KEY("Inactive(file):", M_INACTIVE_FILE),
    RM_KEY("SwapTotal:", M_SWAP_TOTAL),
    RM_KEY("SwapFree:", M_SWAP_FREE),
    RM_KEY("Dirty:", M_DIRTY),
    RM_KEY("Shmem:", M_SHMEM),
    RM_KEY("Slab:", M_SLAB),
    RM_KEY("SReclaimable:", M_RECLAIMABLE),
};

struct state {
    struct rm_file file;
    double low_bytes; /* sum of the zones' low watermarks, for kernels without MemAvailable */
    bool has_low;     /* low_bytes was read */
};

/* "        low      12345" lines of /proc/zoneinfo, in pages. */
static double read_low_watermarks(struct rm_collect *collect)
{
    struct rm_text text, line, word;
    double pages = 0.0;
    if (rm_file_read_once(&collect->root, "proc/zoneinfo", &collect->scratch, &text) != RESMON_OK) {
        return 0.0;
    }
    while (rm_parse_line(&text, &line)) {
        uint64_t low;
        if (rm_parse_word(&line, &word) && rm_text_equals(&word, "low") &&
            rm_parse_u64(&line, &low)) {
            pages += (double)low;
        }
    }
    return pages * collect->page_bytes;
}

/* MemAvailable as the kernel computes it since 3.14, and psutil on older kernels. */
static double estimate_available(const double bytes[M_COUNT], double low)
{
    double cache = bytes[M_ACTIVE_FILE] + bytes[M_INACTIVE_FILE];
    cache -= fmin(cache / 2.0, low);
    double slab = bytes[M_RECLAIMABLE] - fmin(bytes[M_RECLAIMABLE] / 2.0, low);
    double available = bytes[M_FREE] - low + cache + slab;
    return available < 0.0 ? 0.0 : available; /* fmax() would turn NaN into 0 */
}

static double available_of(struct rm_collect *collect, struct state *state,
                           const double bytes[M_COUNT])
{
    double available = bytes[M_AVAILABLE];
    if (isnan(available) || available <= 0.0) {
        state->low_bytes = state->has_low ? state->low_bytes : read_low_watermarks(collect);
        state->has_low = true;
        available = estimate_available(bytes, state->low_bytes);
    }
    /* A container's fake meminfo may have more available than total. */
    return available > bytes[M_TOTAL] ? bytes[M_FREE] : available;
}

static resmon_status read_meminfo(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_text text;
    uint64_t kib[M_COUNT] = {0};
    double bytes[M_COUNT];
    resmon_status status = rm_collect_read(collect, &state->file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), kib);
    if ((found & 1U << M_TOTAL) == 0 || kib[M_TOTAL] == 0) {
        return rm_collect_garbled(&state->file);
    }
    for (unsigned slot = 0; slot < M_COUNT; slot++) {
        bytes[slot] = rm_found(found, kib, slot) * 1024.0;
    }
    double available = available_of(collect, state, bytes);
    values[TOTAL] = bytes[M_TOTAL];
    values[AVAILABLE] = available;
    values[FREE] = bytes[M_FREE];
    values[USED] = bytes[M_TOTAL] - available;
    values[PERCENT] = 100.0 * (bytes[M_TOTAL] - available) / bytes[M_TOTAL];
    values[BUFFERS] = bytes[M_BUFFERS];
    values[CACHED] = bytes[M_CACHED] + bytes[M_RECLAIMABLE];
    values[SHMEM] = bytes[M_SHMEM];
    values[SLAB] = bytes[M_SLAB];
    values[DIRTY] = bytes[M_DIRTY];
    values[SWAP_USED] = bytes[M_SWAP_TOTAL] - bytes[M_SWAP_FREE];
    if (bytes[M_SWAP_TOTAL] > 0.0) {
        values[SWAP_PERCENT] = 100.0 * values[SWAP_USED] / bytes[M_SWAP_TOTAL];
    }
    collect->capacity.host_bytes = bytes[M_TOTAL];
    return RESMON_OK;
}

static resmon_status open_meminfo(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    return rm_file_open(&state->file, &collect->root, "proc/meminfo");
}

static void close_meminfo(void *state_)
{
    rm_file_close(&((struct state *)state_)->file);
}

const struct rm_collector rm_collect_node_mem = {
    .name = "node_mem",
    .domain = RESMON_DOMAIN_MEMORY,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_meminfo,
    .read = read_meminfo,
    .close = close_meminfo,
};

/* ---- collector node_vmstat ------------------------------------------------------------------ */

/*
 * /proc/vmstat is a long file for a few numbers, so it is read once per second at most.
 * Machines with one NUMA node and kernels without NUMA have no NUMA allocations.
 */

enum { SWAP_IN, SWAP_OUT, OOM_KILL, NUMA_LOCAL, NUMA_OTHER };

static const uint16_t vmstat_metrics[] = {
    [SWAP_IN] = RM_NODE_SWAP_IN,       [SWAP_OUT] = RM_NODE_SWAP_OUT,
    [OOM_KILL] = RM_NODE_OOM_KILL,     [NUMA_LOCAL] = RM_NODE_NUMA_LOCAL,
    [NUMA_OTHER] = RM_NODE_NUMA_OTHER,
};

static const struct rm_key vmstat_keys[] = {
    RM_KEY("pswpin", SWAP_IN),        RM_KEY("pswpout", SWAP_OUT),
    RM_KEY("oom_kill", OOM_KILL),     RM_KEY("numa_local", NUMA_LOCAL),
    RM_KEY("numa_other", NUMA_OTHER),
};

static resmon_status read_vmstat(struct rm_collect *collect, void *file, double *values)
{
    struct rm_text text;
    uint64_t numbers[RM_ARRAY_LEN(vmstat_metrics)] = {0};
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, vmstat_keys, RM_ARRAY_LEN(vmstat_keys), numbers);
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

const struct rm_collector rm_collect_node_vmstat = {
    .name = "node_vmstat",
    .domain = RESMON_DOMAIN_MEMORY,
    .min_interval_ns = RM_NS_PER_S,
    RM_METRICS(vmstat_metrics),
    .state_bytes = sizeof(struct rm_file),
    .open = open_vmstat,
    .read = read_vmstat,
    .close = rm_collect_close_file,
};
