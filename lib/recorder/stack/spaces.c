/* SPDX-License-Identifier: MIT */
#include "stack/spaces.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/text.h"
#include "os/proc_pid.h"

#define MOST_MAPS 4096U /* per process */

struct rm_spaces {
    struct rm_images *images;
    struct rm_space **all;
    size_t count, room;
    uint64_t latest_code;
    struct rm_map map; /* index into `all` by pid */
};

/* ---- the table --------------------------------------------------------------------------- */

struct rm_spaces *rm_spaces_new(struct rm_images *images)
{
    struct rm_spaces *spaces = rm_alloc(1, sizeof *spaces);
    if (spaces != NULL) {
        spaces->images = images;
    }
    return spaces;
}

static void forget_code(struct rm_space *space)
{
    space->map_count = 0;
    rm_perf_map_free(space->made);
    space->made = NULL;
    rm_interpreter_free(space->python);
    space->python = NULL;
    space->mappings_ns = 0;
}

void rm_space_disown(struct rm_space *space)
{
    space->maps = NULL;
    space->map_count = 0;
    space->made = NULL;
    space->python = NULL;
    space->mappings = (struct rm_file_mappings){.ranges = NULL};
    space->resident = (struct rm_resident){.count = 0};
}

static void free_space(struct rm_space *space)
{
    forget_code(space);
    rm_resident_free(&space->resident);
    rm_file_mappings_free(&space->mappings);
    rm_free(space->maps);
    rm_free(space);
}

void rm_spaces_free(struct rm_spaces *spaces)
{
    if (spaces == NULL) {
        return;
    }
    for (size_t i = 0; i < spaces->count; i++) {
        free_space(spaces->all[i]);
    }
    rm_map_free(&spaces->map);
    rm_free(spaces->all);
    rm_free(spaces);
}

static uint64_t hash_of(uint32_t pid)
{
    return rm_hash_u64(RM_HASH_START, pid);
}

struct rm_space *rm_spaces_find(const struct rm_spaces *spaces, uint32_t pid)
{
    struct rm_map_search search = {.hash = hash_of(pid)};
    for (uint32_t i; rm_map_next(&spaces->map, &search, &i);) {
        if (spaces->all[i]->pid == pid) {
            return spaces->all[i];
        }
    }
    return NULL;
}

static bool grow(struct rm_spaces *spaces)
{
    struct rm_space **all =
        rm_grow(spaces->all, spaces->count, &spaces->room, sizeof(struct rm_space *));
    spaces->all = all != NULL ? all : spaces->all;
    return all != NULL;
}

/* Initializes a process; the memory for its mappings is kept. */
static void begin(struct rm_spaces *spaces, struct rm_space *space, uint32_t pid)
{
    forget_code(space);
    rm_resident_free(&space->resident);
    *space = (struct rm_space){
        .pid = pid,
        .code = ++spaces->latest_code,
        .maps = space->maps,
        .map_room = space->map_room,
        .mappings = space->mappings,
        .threads = 1,
        .living = 1,
        .watch = -1,
    };
}

/* A new entry, or the settled entry with this pid. */
static struct rm_space *take(struct rm_spaces *spaces, uint32_t pid)
{
    struct rm_space *space = rm_spaces_find(spaces, pid);
    if (space != NULL) {
        begin(spaces, space, pid);
        return space;
    }
    space = rm_alloc(1, sizeof *space);
    if (space == NULL || !grow(spaces) || !rm_map_reserve(&spaces->map, spaces->count + 1)) {
        rm_free(space);
        return NULL;
    }
    begin(spaces, space, pid);
    rm_map_add(&spaces->map, hash_of(pid), (uint32_t)spaces->count);
    spaces->all[spaces->count++] = space;
    return space;
}

void rm_spaces_visit(struct rm_spaces *spaces, rm_space_visit_fn visit, void *context)
{
    for (size_t i = 0; i < spaces->count; i++) {
        visit(context, spaces->all[i]);
    }
}

/* The map cannot remove a key, so it is built again. */
void rm_spaces_forget(struct rm_spaces *spaces, int64_t before_ns, rm_space_visit_fn settle,
                      void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < spaces->count; i++) {
        struct rm_space *space = spaces->all[i];
        if (space->ended_ns != 0 && space->ended_ns < before_ns) {
            settle(context, space);
            free_space(space);
        } else {
            spaces->all[kept++] = space;
        }
    }
    if (kept == spaces->count) {
        return;
    }
    spaces->count = kept;
    rm_map_clear(&spaces->map);
    for (size_t i = 0; i < kept; i++) {
        rm_map_add(&spaces->map, hash_of(spaces->all[i]->pid), (uint32_t)i);
    }
}

/* ---- mappings ---------------------------------------------------------------------------- */

/* Index of the first mapping that ends after the address. */
static size_t place_of(const struct rm_space *space, uint64_t address)
{
    size_t low = 0, high = space->map_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->maps[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct rm_space_map *rm_space_find(const struct rm_space *space, uint64_t address)
{
    size_t at = place_of(space, address);
    return at < space->map_count && space->maps[at].start <= address ? &space->maps[at] : NULL;
}

static bool reserve_maps(struct rm_space *space, size_t count)
{
    if (count <= space->map_room) {
        return true;
    }
    size_t room = count < 16 ? 16 : 2 * count;
    struct rm_space_map *maps =
        count <= MOST_MAPS ? rm_realloc(space->maps, room, sizeof *maps) : NULL;
    if (maps == NULL) {
        return false;
    }
    space->maps = maps;
    space->map_room = room;
    return true;
}

/* Adds a mapping, which replaces overlapped parts of others. */
static void add_map(struct rm_space *space, const struct rm_space_map *map)
{
    size_t at = place_of(space, map->start);
    if (map->end <= map->start || !reserve_maps(space, space->map_count + 2)) {
        return;
    }
    if (at < space->map_count && space->maps[at].start < map->start) {
        struct rm_space_map *under = &space->maps[at];
        if (under->end > map->end) { /* a part on both sides remains */
            memmove(under + 1, under, (space->map_count - at) * sizeof *under);
            space->map_count++;
        }
        under->end = map->start;
        at++;
    }
    size_t past = at;
    while (past < space->map_count && space->maps[past].end <= map->end) {
        past++;
    }
    if (past < space->map_count && space->maps[past].start < map->end) {
        struct rm_space_map *cut = &space->maps[past];
        cut->offset += map->end - cut->start;
        cut->start = map->end;
    }
    memmove(&space->maps[at + 1], &space->maps[past],
            (space->map_count - past) * sizeof *space->maps);
    space->map_count = space->map_count - (past - at) + 1;
    space->maps[at] = *map;
}

static void note_map(struct rm_spaces *spaces, struct rm_space *space,
                     const struct rm_tree_record *record)
{
    const struct rm_image_key key = {
        .path = record->text,
        .pid = record->pid,
        .device = record->device,
        .inode = record->inode,
        .generation = record->generation,
    };
    const struct rm_space_map map = {
        .start = record->start,
        .end = record->start + record->bytes,
        .offset = record->offset,
        .image = rm_images_get(spaces->images, &key),
    };
    add_map(space, &map);
    space->code = ++spaces->latest_code;
}

/* ---- ends of processes ------------------------------------------------------------------- */

static void set_name(struct rm_space *space, const char *name)
{
    (void)rm_text_set(space->name, sizeof space->name, name);
}

static void note_fork(struct rm_spaces *spaces, const struct rm_tree_record *record)
{
    struct rm_space *child = take(spaces, record->pid);
    const struct rm_space *parent = rm_spaces_find(spaces, record->parent);
    if (child == NULL || parent == NULL || parent == child) {
        return;
    }
    memcpy(child->name, parent->name, sizeof child->name);
    if (reserve_maps(child, parent->map_count) && parent->map_count > 0) {
        memcpy(child->maps, parent->maps, parent->map_count * sizeof *child->maps);
        child->map_count = parent->map_count;
    }
}

void rm_spaces_note(struct rm_spaces *spaces, const struct rm_tree_record *record)
{
    if (record->kind == RM_TREE_FORK) {
        note_fork(spaces, record);
        return;
    }
    struct rm_space *space = rm_spaces_find(spaces, record->pid);
    if (space == NULL) {
        return;
    }
    switch (record->kind) {
    case RM_TREE_EXEC:
        space->living = 1;
        space->has_lost_main = false;
        space->exec_ns = record->t_ns;
        forget_code(space);
        rm_resident_withdraw(&space->resident);
        space->code = ++spaces->latest_code;
        set_name(space, record->text);
        break;
    case RM_TREE_THREAD:
        space->threads++;
        space->living++;
        break;
    case RM_TREE_NAME:
        set_name(space, record->text);
        break;
    case RM_TREE_MAP:
        note_map(spaces, space, record);
        break;
    case RM_TREE_USED:
        space->used_ns += record->count;
        space->accounted += record->is_first_cpu ? 1 : 0;
        break;
    case RM_TREE_EXIT:
        space->living -= space->living > 0 ? 1 : 0;
        space->has_lost_main |= record->tid == record->pid;
        space->ended_ns = space->has_lost_main && space->living == 0 ? record->t_ns : 0;
        break;
    default:
        break;
    }
}

/* ---- running processes ------------------------------------------------------------------- */

void rm_space_rename(struct rm_space *space, const struct rm_root *root, struct rm_scratch *scratch)
{
    char path[64];
    struct rm_text text, line;
    (void)snprintf(path, sizeof path, "proc/%u/comm", space->pid);
    if (rm_file_read_once(root, path, scratch, &text) == RESMON_OK && rm_parse_line(&text, &line)) {
        (void)rm_text_copy(space->name, sizeof space->name, line.at, rm_text_left(&line));
    }
}

static void read_maps(struct rm_spaces *spaces, struct rm_space *space, const struct rm_root *root,
                      struct rm_scratch *scratch)
{
    char path[64];
    struct rm_text text, line;
    (void)snprintf(path, sizeof path, "proc/%u/maps", space->pid);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    while (rm_parse_line(&text, &line)) {
        struct rm_proc_map map;
        if (rm_proc_map_parse(line, &map) && map.is_code) {
            struct rm_tree_record record = {
                .kind = RM_TREE_MAP,
                .pid = space->pid,
                .start = map.start,
                .bytes = map.end - map.start,
                .offset = map.offset,
                .device = map.device,
                .inode = map.inode,
            };
            (void)rm_text_copy(record.text, sizeof record.text, map.path.at,
                               rm_text_left(&map.path));
            note_map(spaces, space, &record);
        }
    }
}

void rm_space_reread(struct rm_spaces *spaces, struct rm_space *space, const struct rm_root *root,
                     struct rm_scratch *scratch)
{
    rm_space_rename(space, root, scratch);
    read_maps(spaces, space, root, scratch);
}

struct rm_space *rm_spaces_begin(struct rm_spaces *spaces, uint32_t pid, const struct rm_root *root,
                                 struct rm_scratch *scratch)
{
    struct rm_space *space = take(spaces, pid);
    if (space != NULL) {
        rm_space_reread(spaces, space, root, scratch);
    }
    return space;
}
