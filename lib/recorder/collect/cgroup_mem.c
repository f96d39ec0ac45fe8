/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_mem: memory of the cgroup.  Version 2: memory.current, .stat, .peak, .events;
 * version 1: memory.usage_in_bytes, .stat, .max_usage_in_bytes, .failcnt, .oom_control.
 *
 * The limit, its use in percent and the events belong to the cgroup whose limit leaves the least
 * memory: the process's own cgroup, or an ancestor.  Which cgroup that is may change.
 */
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"
#include "os/cgroup.h"

enum { CURRENT, WORKING_SET, RSS, SHMEM, PEAK, LIMIT, PERCENT, HIGH, MAX, OOM, OOM_KILL };

static const uint16_t metrics[] = {
    [CURRENT] = RM_CG_MEM_CURRENT,
    [WORKING_SET] = RM_CG_MEM_WORKING_SET,
    [SHMEM] = RM_CG_MEM_SHMEM,
    [RSS] = RM_CG_MEM_RSS,
    [PEAK] = RM_CG_MEM_PEAK,
    [LIMIT] = RM_CG_MEM_LIMIT,
    [PERCENT] = RM_CG_MEM_PERCENT,
    [HIGH] = RM_CG_MEM_EVENTS_HIGH,
    [MAX] = RM_CG_MEM_EVENTS_MAX,
    [OOM] = RM_CG_MEM_EVENTS_OOM,
    [OOM_KILL] = RM_CG_MEM_EVENTS_OOM_KILL,
};

/* Numbers, under the same names for both versions. */
enum { N_CURRENT, N_PEAK, N_ANON, N_SHMEM, N_INACTIVE_FILE, N_COUNT };

/* Events, in the order of their metrics. */
enum { E_HIGH, E_MAX, E_OOM, E_OOM_KILL, E_COUNT };

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
    RM_KEY("high", E_HIGH),
    RM_KEY("max", E_MAX),
    RM_KEY("oom", E_OOM),
    RM_KEY("oom_kill", E_OOM_KILL),
};
static const struct rm_key v1_stat[] = {
    RM_KEY("total_rss", N_ANON), /* anonymous memory and swap cache, not shmem */
    RM_KEY("total_shmem", N_SHMEM),
    RM_KEY("total_inactive_file", N_INACTIVE_FILE),
};
static const struct rm_key v1_oom[] = {RM_KEY("oom_kill", E_OOM_KILL)};

#define FILE_COUNT  3
#define KEYS(array) (array), RM_ARRAY_LEN(array), 0

static const struct source_file files[2][FILE_COUNT] = {
    {
        {"memory.usage_in_bytes", NULL, 0, N_CURRENT, true},
        {"memory.stat", KEYS(v1_stat), true},
        {"memory.max_usage_in_bytes", NULL, 0, N_PEAK, false},
    },
    {
        {"memory.current", NULL, 0, N_CURRENT, true},
        {"memory.stat", KEYS(v2_stat), true},
        {"memory.peak", NULL, 0, N_PEAK, false}, /* Linux 5.19 */
    },
};

static const struct source_file limit_events[2] = {
    {"memory.failcnt", NULL, 0, E_MAX, false}, /* of this limit only */
    {"memory.events", KEYS(v2_events), false}, /* of the cgroup and all below it */
};

/* OOM kills are counted in the victim's cgroup only, so they are read in the process's own. */
static const struct source_file v1_kills = {"memory.oom_control", KEYS(v1_oom), false};
static const struct source_file v2_local_kills = {"memory.events", KEYS(v2_events), false};

/* The events of a cgroup with a limit. */
struct level_events {
    struct rm_file file;
    uint64_t seen;  /* bit e: counts[e] was read at the last successful reading */
    uint64_t found; /* bit e: counts[e] was read at this reading */
    uint64_t counts[E_COUNT];
    double grown[E_COUNT]; /* growth since the previous reading */
};

struct state {
    const struct source_file *table;
    struct rm_file files[FILE_COUNT];
    struct level_events events[RM_CGROUP_MOST_LEVELS];
    const struct source_file *kills; /* NULL: the events of the limit include them */
    struct rm_file kills_file;
    size_t level; /* index of the tightest cgroup */
    bool has_limit;
    uint64_t has_totals; /* bit e: totals[e] is known */
    double totals[E_COUNT];
};

static resmon_status read_file(struct rm_collect *collect, const struct source_file *source,
                               struct rm_file *file, uint64_t *numbers, uint64_t *found)
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

/* ---- the limit and its events ------------------------------------------------------------- */

static void open_events(struct rm_collect *collect, struct state *state, size_t level)
{
    struct level_events *events = &state->events[level];
    const struct rm_cgroup_level *group = &collect->limits.levels[level];
    char path[RM_FILE_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", group->path,
                          limit_events[collect->limits.version - 1].name);
    if (!rm_file_is_open(&events->file) && !group->is_hidden && length < (int)sizeof path) {
        (void)rm_file_open(&events->file, &collect->root, path);
    }
}

static void read_events(struct rm_collect *collect, struct state *state, size_t level)
{
    struct level_events *events = &state->events[level];
    uint64_t counts[E_COUNT] = {0};
    uint64_t found = 0;
    open_events(collect, state, level);
    if (!rm_file_is_open(&events->file) ||
        read_file(collect, &limit_events[collect->limits.version - 1], &events->file, counts,
                  &found) != RESMON_OK) {
        found = 0;
    }
    for (unsigned e = 0; e < E_COUNT; e++) {
        bool is_known = (events->seen & found & UINT64_C(1) << e) != 0;
        events->grown[e] = is_known && counts[e] > events->counts[e]
                               ? (double)(counts[e] - events->counts[e])
                               : 0.0;
        events->counts[e] = (found >> e & 1) != 0 ? counts[e] : events->counts[e];
    }
    events->seen |= found;
    events->found = found;
}

/* When another cgroup has become the tightest, the events since the last reading may be of either:
 * version 2 counts the events of descendants in the outer cgroup, too. */
static double grown_between(const struct state *state, size_t now, unsigned event)
{
    double grown = state->events[now].grown[event];
    double before = state->events[state->level].grown[event];
    if (now == state->level) {
        return grown;
    }
    return state->kills == NULL ? fmax(grown, before) : grown + before;
}

static void count_events(struct state *state, size_t now, double *values)
{
    const struct level_events *events = &state->events[now];
    for (unsigned e = 0; e < E_COUNT; e++) {
        bool is_known = (events->found >> e & 1) != 0;
        if ((state->has_totals >> e & 1) != 0) {
            state->totals[e] += grown_between(state, now, e);
        } else if (is_known) {
            state->totals[e] = (double)events->counts[e];
            state->has_totals |= UINT64_C(1) << e;
        }
        values[HIGH + e] = is_known ? state->totals[e] : RM_NAN;
    }
    state->level = now;
}

static void read_kills(struct rm_collect *collect, struct state *state, double *values)
{
    uint64_t counts[E_COUNT] = {0};
    uint64_t found = 0;
    if (state->kills == NULL) {
        return;
    }
    if (rm_file_is_open(&state->kills_file)) {
        (void)read_file(collect, state->kills, &state->kills_file, counts, &found);
    }
    values[OOM_KILL] = rm_found(found, counts, E_OOM_KILL);
}

/* Names the cgroup in the run's list of sources; of a long path, the end is shown. */
static void remark_level(struct rm_collect *collect, const struct rm_cgroup_headroom *least)
{
    const struct rm_cgroup_level *group = &collect->limits.levels[least->level];
    char text[sizeof collect->remark];
    size_t length = strlen(group->path);
    size_t shown = length < 90 ? length : 90;
    if (least->limit == UINT64_MAX) {
        (void)snprintf(text, sizeof text,
                       "no limit is set: cg.mem.limit and cg.mem.percent are absent");
    } else if (group->is_hidden) {
        (void)snprintf(text, sizeof text,
                       "the limit is of a parent cgroup that is not mounted here: its use is at "
                       "least this, its events are unknown");
    } else {
        (void)snprintf(text, sizeof text, "limit, percent and events of the group %s%s",
                       shown < length ? "..." : "/", group->path + (length - shown));
    }
    rm_collect_remark(collect, text);
}

static void read_all_events(struct rm_collect *collect, struct state *state, size_t tightest)
{
    for (size_t i = 0; i < collect->limits.count; i++) {
        if (collect->limits.levels[i].limit != UINT64_MAX || i == tightest || i == state->level) {
            read_events(collect, state, i);
        }
    }
}

static void read_limit(struct rm_collect *collect, struct state *state, double *values)
{
    const struct rm_cgroup_headroom least =
        rm_cgroup_limits_look(&collect->limits, &collect->scratch, collect->now_ns);
    bool has_limit = least.limit != UINT64_MAX;
    read_all_events(collect, state, least.level);
    if (least.level != state->level || has_limit != state->has_limit) {
        remark_level(collect, &least);
    }
    state->has_limit = has_limit;
    values[LIMIT] = has_limit ? (double)least.limit : RM_NAN;
    values[PERCENT] = 100.0 * (double)least.used / values[LIMIT];
    count_events(state, least.level, values);
    read_kills(collect, state, values);
}

/* ---- the group ---------------------------------------------------------------------------- */

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
    values[SHMEM] = rm_found(found, numbers, N_SHMEM);
    values[PEAK] = rm_found(found, numbers, N_PEAK);
    if (isnan(rm_found(found, numbers, N_INACTIVE_FILE))) {
        values[WORKING_SET] = RM_NAN; /* fmax() would return 0 */
    }
    read_limit(collect, state, values);
    return RESMON_OK;
}

static void open_kills(struct rm_collect *collect, struct state *state,
                       const struct rm_cgroup_place *place)
{
    state->kills = place->version == 1       ? &v1_kills
                   : place->has_local_events ? &v2_local_kills
                                             : NULL;
    if (state->kills != NULL) {
        char path[RM_FILE_PATH_BYTES];
        if (rm_cgroup_file(place, state->kills->name, path) == RESMON_OK) {
            (void)rm_file_open(&state->kills_file, &collect->root, path);
        }
    }
}

static resmon_status open_memory(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    const struct rm_cgroup_place *place = &collect->cgroup.places[RM_CGROUP_MEMORY];
    if (place->version == 0) {
        return rm_error(RESMON_ENOENT, "no memory controller is mounted");
    }
    if (collect->limits.count == 0) {
        return rm_error(RESMON_ENOMEM, "out of memory for the limits of cgroups");
    }
    state->table = files[place->version - 1];
    for (size_t i = 0; i < FILE_COUNT; i++) {
        resmon_status status = rm_collect_open_cgroup(collect, &state->files[i], RM_CGROUP_MEMORY,
                                                      state->table[i].name);
        if (status != RESMON_OK && state->table[i].is_required) {
            return status;
        }
    }
    open_kills(collect, state, place);
    const struct rm_cgroup_headroom least =
        rm_cgroup_limits_look(&collect->limits, &collect->scratch, collect->now_ns);
    state->level = least.level;
    state->has_limit = least.limit != UINT64_MAX;
    for (size_t i = 0; i < collect->limits.count; i++) {
        if (collect->limits.levels[i].limit != UINT64_MAX || i == least.level) {
            open_events(collect, state, i);
        }
    }
    remark_level(collect, &least);
    return RESMON_OK;
}

static void close_memory(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        rm_file_close(&state->files[i]);
    }
    for (size_t i = 0; i < RM_CGROUP_MOST_LEVELS; i++) {
        rm_file_close(&state->events[i].file);
    }
    rm_file_close(&state->kills_file);
}

const struct rm_collector rm_collect_cgroup_mem = {
    .name = "cgroup_mem",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_memory,
    .read = read_memory,
    .close = close_memory,
};
