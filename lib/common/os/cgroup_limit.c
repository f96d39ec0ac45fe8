/* SPDX-License-Identifier: MIT */
#include "os/cgroup_limit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"

#define REFRESH_NS (10 * RM_NS_PER_S)

/* By version; two limits of one group are one: the lower. */
static const struct {
    const char *used;
    const char *limits[2];
} names[3] = {
    [1] = {"memory.usage_in_bytes", {"memory.limit_in_bytes", NULL}},
    [2] = {"memory.current", {"memory.max", "memory.high"}},
};

static resmon_status read_number(const struct rm_cgroup_limits *limits, const char *path,
                                 const char *name, struct rm_scratch *scratch, uint64_t *ret_value)
{
    char file[RM_FILE_PATH_BYTES];
    int length = snprintf(file, sizeof file, "%s/%s", path, name);
    return length > 0 && length < (int)sizeof file
               ? rm_file_read_u64(limits->root, file, scratch, ret_value)
               : RESMON_ENOENT;
}

/* A file that says nothing of a limit, against one that could not be opened or read just now. */
static bool is_told(resmon_status status)
{
    return status == RESMON_OK || status == RESMON_ENOENT || status == RESMON_EFORMAT ||
           status == RESMON_EACCES;
}

static void read_limit(const struct rm_cgroup_limits *limits, struct rm_cgroup_level *level,
                       struct rm_scratch *scratch)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < 2 && names[limits->version].limits[i] != NULL; i++) {
        uint64_t limit;
        const char *name = names[limits->version].limits[i];
        resmon_status status = read_number(limits, level->path, name, scratch, &limit);
        if (!is_told(status)) {
            return; /* the limit that was known stays */
        }
        lowest = status == RESMON_OK && limit < lowest ? limit : lowest;
    }
    level->limit = lowest < RM_CGROUP_UNLIMITED ? lowest : UINT64_MAX;
}

/* What groups above the mounted part of a version 1 hierarchy allow, too; UINT64_MAX: no limit. */
static uint64_t hierarchical_limit(const struct rm_cgroup_place *place, const struct rm_root *root,
                                   struct rm_scratch *scratch)
{
    static const struct rm_key keys[] = {RM_KEY("hierarchical_memory_limit", 0)};
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t limit = UINT64_MAX;
    if (place->version == 1 && rm_cgroup_file(place, "memory.stat", path) == RESMON_OK &&
        rm_file_read_once(root, path, scratch, &text) == RESMON_OK) {
        (void)rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), &limit);
    }
    return limit < RM_CGROUP_UNLIMITED ? limit : UINT64_MAX;
}

/* ---- finding the levels ------------------------------------------------------------------- */

struct walk {
    struct rm_cgroup_limits *limits;
    struct rm_scratch *scratch;
    bool is_cut_off; /* version 1: a group may not charge those above it */
};

static void add_level(void *context, const char *path)
{
    struct walk *walk = context;
    struct rm_cgroup_limits *limits = walk->limits;
    uint64_t is_hierarchical = 1;
    if (limits->version == 1 && limits->count > 0) {
        (void)read_number(limits, path, "memory.use_hierarchy", walk->scratch, &is_hierarchical);
    }
    walk->is_cut_off = walk->is_cut_off || is_hierarchical == 0;
    if (walk->is_cut_off || limits->count + 1 >= RM_CGROUP_MOST_LEVELS) {
        return; /* the last one is for a hidden group */
    }
    struct rm_cgroup_level *level = &limits->levels[limits->count++];
    level->limit = UINT64_MAX;
    (void)snprintf(level->path, sizeof level->path, "%s", path);
}

static void open_used(struct rm_cgroup_limits *limits, struct rm_cgroup_level *level)
{
    char file[RM_FILE_PATH_BYTES];
    int length = snprintf(file, sizeof file, "%s/%s", level->path, names[limits->version].used);
    if (!rm_file_is_open(&level->used) && length < (int)sizeof file) {
        (void)rm_file_open(&level->used, limits->root, file);
    }
}

static uint64_t lowest_limit(const struct rm_cgroup_limits *limits)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < limits->count; i++) {
        const struct rm_cgroup_level *level = &limits->levels[i];
        lowest = !level->is_hidden && level->limit < lowest ? level->limit : lowest;
    }
    return lowest;
}

/* A container that sees its own group only is told of tighter limits above it, in version 1. */
static void read_hidden(struct rm_cgroup_limits *limits, struct rm_scratch *scratch)
{
    struct rm_cgroup_place place = {.version = limits->version};
    (void)snprintf(place.path, sizeof place.path, "%s", limits->levels[0].path);
    uint64_t limit = hierarchical_limit(&place, limits->root, scratch);
    struct rm_cgroup_level *last = &limits->levels[limits->count - 1];
    if (limit < lowest_limit(limits) && !last->is_hidden) {
        last = &limits->levels[limits->count++];
        *last = (struct rm_cgroup_level){.is_hidden = true};
    }
    if (last->is_hidden) {
        last->limit = limit < lowest_limit(limits) ? limit : UINT64_MAX;
    }
}

static void read_limits(struct rm_cgroup_limits *limits, struct rm_scratch *scratch, int64_t now_ns)
{
    bool is_known = true;
    for (size_t i = 0; i < limits->count; i++) {
        if (!limits->levels[i].is_hidden) {
            read_limit(limits, &limits->levels[i], scratch);
        }
    }
    read_hidden(limits, scratch);
    for (size_t i = 0; i < limits->count; i++) {
        struct rm_cgroup_level *level = &limits->levels[i];
        if (level->limit != UINT64_MAX && !level->is_hidden) {
            open_used(limits, level);
        }
        is_known = is_known && (level->limit == UINT64_MAX || rm_file_is_open(&level->used));
    }
    if (!is_known) {
        open_used(limits, &limits->levels[0]); /* at least that is charged above it */
    }
    limits->read_ns = now_ns;
}

resmon_status rm_cgroup_limits_open(struct rm_cgroup_limits *limits,
                                    const struct rm_cgroup_place *place, const struct rm_root *root,
                                    struct rm_scratch *scratch, int64_t now_ns)
{
    *limits = (struct rm_cgroup_limits){.root = root, .version = place->version};
    struct walk walk = {limits, scratch, false};
    if (place->version == 0) {
        return rm_error(RESMON_ENOENT, "no memory controller is mounted");
    }
    limits->levels = rm_alloc(RM_CGROUP_MOST_LEVELS, sizeof *limits->levels);
    if (limits->levels == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the limits of cgroups");
    }
    rm_cgroup_visit_ancestors(place, add_level, &walk);
    read_limits(limits, scratch, now_ns);
    return RESMON_OK;
}

void rm_cgroup_limits_close(struct rm_cgroup_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        rm_file_close(&limits->levels[i].used);
    }
    rm_free(limits->levels);
    *limits = (struct rm_cgroup_limits){0};
}

void rm_cgroup_limits_refresh(struct rm_cgroup_limits *limits, struct rm_scratch *scratch,
                              int64_t now_ns)
{
    if (limits->count > 0 && now_ns - limits->read_ns >= REFRESH_NS) {
        read_limits(limits, scratch, now_ns);
    }
}

double rm_cgroup_limits_tightest(const struct rm_cgroup_limits *limits)
{
    uint64_t tightest = UINT64_MAX;
    for (size_t i = 0; i < limits->count; i++) {
        const struct rm_cgroup_level *level = &limits->levels[i];
        tightest = level->limit < tightest ? level->limit : tightest;
    }
    return tightest != UINT64_MAX ? (double)tightest : RM_NAN;
}

double rm_cgroup_tightest_limit(const struct rm_cgroup_place *place, const struct rm_root *root,
                                struct rm_scratch *scratch)
{
    struct rm_cgroup_limits limits;
    (void)rm_cgroup_limits_open(&limits, place, root, scratch, 0);
    double tightest = rm_cgroup_limits_tightest(&limits);
    rm_cgroup_limits_close(&limits);
    return tightest;
}

/* ---- looking ------------------------------------------------------------------------------ */

static uint64_t read_used(struct rm_cgroup_level *level, struct rm_scratch *scratch)
{
    struct rm_text text;
    uint64_t used = 0;
    if (!rm_file_is_open(&level->used) || rm_file_read(&level->used, scratch, &text) != RESMON_OK ||
        !rm_parse_u64(&text, &used)) {
        return 0;
    }
    return used;
}

struct rm_cgroup_headroom rm_cgroup_limits_look(struct rm_cgroup_limits *limits,
                                                struct rm_scratch *scratch, int64_t now_ns)
{
    struct rm_cgroup_headroom least = {.limit = UINT64_MAX, .left = UINT64_MAX};
    uint64_t used_below = 0;
    rm_cgroup_limits_refresh(limits, scratch, now_ns);
    for (size_t i = 0; i < limits->count; i++) {
        struct rm_cgroup_level *level = &limits->levels[i];
        uint64_t used = read_used(level, scratch);
        used = used > used_below ? used : used_below;
        used_below = used;
        uint64_t left = used < level->limit ? level->limit - used : 0;
        if (level->limit != UINT64_MAX && (left < least.left || least.limit == UINT64_MAX)) {
            least = (struct rm_cgroup_headroom){i, level->limit, used, left};
        }
    }
    return least;
}
