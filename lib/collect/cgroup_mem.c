/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_mem: memory of the control group.  Version 2: memory.current, .stat, .peak,
 * .events; version 1: memory.usage_in_bytes, .stat, .max_usage_in_bytes, .failcnt, .oom_control.
 */
#include "collect/collect.h"

enum { CURRENT, WORKING_SET, RSS, PEAK, LIMIT, PERCENT, HIGH, MAX, OOM, OOM_KILL };

static const uint16_t metrics[] = {
    [CURRENT] = RM_CG_MEM_CURRENT,  [WORKING_SET] = RM_CG_MEM_WORKING_SET,
    [RSS] = RM_CG_MEM_RSS,          [PEAK] = RM_CG_MEM_PEAK,
    [LIMIT] = RM_CG_MEM_LIMIT,      [PERCENT] = RM_CG_MEM_PERCENT,
    [HIGH] = RM_CG_MEM_EVENTS_HIGH, [MAX] = RM_CG_MEM_EVENTS_MAX,
    [OOM] = RM_CG_MEM_EVENTS_OOM,   [OOM_KILL] = RM_CG_MEM_EVENTS_OOM_KILL,
};

/* What is read, whatever the version calls it. */
enum {
    N_CURRENT,
    N_PEAK,
    N_ANON,
    N_SHMEM,
    N_INACTIVE_FILE,
    N_HIGH,
    N_MAX,
    N_OOM,
    N_OOM_KILL,
    N_COUNT
};

/* A file with one number (`slot`), or with keys. */
struct source_file {
    const char *name;
    const struct rm_key *keys;
    size_t key_count;
    unsigned slot;
    bool is_required;
};

static const struct rm_key v2_stat[] = {
    RM_KEY("anon", N_ANON),
    RM_KEY("shmem", N_SHMEM),
    RM_KEY("inactive_file", N_INACTIVE_FILE),
};
static const struct rm_key v2_events[] = {
    RM_KEY("high", N_HIGH),
    RM_KEY("max", N_MAX),
    RM_KEY("oom", N_OOM),
    RM_KEY("oom_kill", N_OOM_KILL),
};
static const struct rm_key v1_stat[] = {
    RM_KEY("total_rss", N_ANON), /* anonymous memory and swap cache, not shmem */
    RM_KEY("total_shmem", N_SHMEM),
    RM_KEY("total_inactive_file", N_INACTIVE_FILE),
};
static const struct rm_key v1_oom[] = {RM_KEY("oom_kill", N_OOM_KILL)};

#define FILE_COUNT  5
#define KEYS(array) (array), RM_ARRAY_LEN(array), 0

static const struct source_file files[2][FILE_COUNT] = {
    {
        {"memory.usage_in_bytes", NULL, 0, N_CURRENT, true},
        {"memory.stat", KEYS(v1_stat), true},
        {"memory.max_usage_in_bytes", NULL, 0, N_PEAK, false},
        {"memory.failcnt", NULL, 0, N_MAX, false},
        {"memory.oom_control", KEYS(v1_oom), false},
    },
    {
        {"memory.current", NULL, 0, N_CURRENT, true},
        {"memory.stat", KEYS(v2_stat), true},
        {"memory.peak", NULL, 0, N_PEAK, false}, /* Linux 5.19 */
        {"memory.events", KEYS(v2_events), false},
        {"", NULL, 0, 0, false},
    },
};

struct state {
    const struct source_file *table;
    struct rm_file files[FILE_COUNT];
};

static resmon_status read_file(struct rm_collect *collect, const struct source_file *source,
                               struct rm_file *file, uint64_t numbers[N_COUNT], uint64_t *found)
{
    struct rm_text text;
    resmon_status status = rm_collect_read(collect, file, &text);
    if (status != RESMON_OK) {
        return status;
    }
    if (source->keys != NULL) {
        *found |= rm_parse_keys(text, source->keys, source->key_count, numbers);
        return RESMON_OK;
    }
    if (!rm_parse_u64(&text, &numbers[source->slot])) {
        return rm_collect_garbled(file);
    }
    *found |= UINT64_C(1) << source->slot;
    return RESMON_OK;
}

static resmon_status read_memory(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    uint64_t numbers[N_COUNT] = {0};
    uint64_t found = 0;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        if (!rm_file_is_open(&state->files[i])) {
            continue;
        }
        resmon_status status =
            read_file(collect, &state->table[i], &state->files[i], numbers, &found);
        if (status != RESMON_OK) {
            return status;
        }
    }
    double current = rm_found(found, numbers, N_CURRENT);
    values[CURRENT] = current;
    values[WORKING_SET] = fmax(current - rm_found(found, numbers, N_INACTIVE_FILE), 0.0);
    values[RSS] = rm_found(found, numbers, N_ANON) + rm_found(found, numbers, N_SHMEM);
    values[PEAK] = rm_found(found, numbers, N_PEAK);
    values[LIMIT] = collect->capacity.cgroup_bytes;
    values[PERCENT] = 100.0 * current / collect->capacity.cgroup_bytes;
    for (unsigned i = 0; i <= OOM_KILL - HIGH; i++) {
        values[HIGH + i] = rm_found(found, numbers, N_HIGH + i);
    }
    if (isnan(rm_found(found, numbers, N_INACTIVE_FILE))) {
        values[WORKING_SET] = RM_NAN; /* fmax() would have hidden it */
    }
    return RESMON_OK;
}

static resmon_status open_memory(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    const struct rm_cgroup_place *place = &collect->cgroup.places[RM_CGROUP_MEMORY];
    if (place->version == 0) {
        return rm_error(RESMON_ENOENT, "no memory controller is mounted");
    }
    state->table = files[place->version - 1];
    for (size_t i = 0; i < FILE_COUNT && state->table[i].name[0] != '\0'; i++) {
        resmon_status status = rm_collect_open_cgroup(collect, &state->files[i], RM_CGROUP_MEMORY,
                                                      state->table[i].name);
        if (status != RESMON_OK && state->table[i].is_required) {
            return status;
        }
    }
    if (isnan(collect->capacity.cgroup_bytes)) {
        rm_collect_remark(collect, "no limit is set: cg.mem.limit and cg.mem.percent are absent");
    }
    return RESMON_OK;
}

static void close_memory(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        rm_file_close(&state->files[i]);
    }
}

const struct rm_collector rm_collect_cgroup_mem = {
    .name = "cgroup_mem",
    .domain = RESMON_DOMAIN_CGROUP,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_memory,
    .read = read_memory,
    .close = close_memory,
};
