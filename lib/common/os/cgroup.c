/* SPDX-License-Identifier: MIT */
#include "os/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "os/file.h"

/* ---- finding it ------------------------------------------------------------------------- */

static const char *const v1_names[RM_CGROUP_CONTROLLERS] = {"memory", "cpu", "cpuacct", "blkio",
                                                            "pids"};

/* The cgroups of a process in each hierarchy, before the mounts are known. */
struct membership {
    bool is_v1[RM_CGROUP_CONTROLLERS];  /* a version 1 hierarchy has the controller */
    bool has_v1[RM_CGROUP_CONTROLLERS]; /* the path of the cgroup in that hierarchy is known */
    char v1[RM_CGROUP_CONTROLLERS][RM_CGROUP_PATH_BYTES];
    bool has_v2;
    char v2[RM_CGROUP_PATH_BYTES];
};

static bool copy_path(char target[RM_CGROUP_PATH_BYTES], struct rm_text path)
{
    size_t length = rm_text_left(&path);
    if (length >= RM_CGROUP_PATH_BYTES) {
        return false;
    }
    memcpy(target, path.at, length);
    target[length] = '\0';
    return true;
}

/* Whether a comma-separated list has the word. */
static bool list_has(struct rm_text list, const char *word)
{
    struct rm_text item;
    while (rm_parse_until(&list, ',', &item)) {
        if (rm_text_equals(&item, word)) {
            return true;
        }
    }
    return rm_text_equals(&list, word);
}

/* Lines of /proc/PID/cgroup: "4:memory:/path", "0::/path"; the path may hold colons. */
static void parse_membership(struct rm_text text, struct membership *ret)
{
    struct rm_text line, number, list;
    while (rm_parse_line(&text, &line)) {
        if (!rm_parse_until(&line, ':', &number) || !rm_parse_until(&line, ':', &list)) {
            continue;
        }
        if (rm_text_equals(&number, "0") && rm_text_left(&list) == 0) {
            ret->has_v2 = copy_path(ret->v2, line);
            continue;
        }
        for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
            if (list_has(list, v1_names[i])) {
                ret->is_v1[i] = true;
                ret->has_v1[i] = copy_path(ret->v1[i], line);
            }
        }
    }
}

struct mount {
    struct rm_text root;  /* the part of the hierarchy that is mounted */
    struct rm_text point; /* the mount point, with the kernel's octal escapes */
    struct rm_text type;
    struct rm_text options; /* of the file system: the controllers, in version 1 */
};

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup cgroup rw,memory" */
static bool parse_mount(struct rm_text line, struct mount *ret)
{
    struct rm_text word;
    for (int i = 0; i < 3; i++) {
        if (!rm_parse_word(&line, &word)) {
            return false;
        }
    }
    if (!rm_parse_word(&line, &ret->root) || !rm_parse_word(&line, &ret->point)) {
        return false;
    }
    do {
        if (!rm_parse_word(&line, &word)) {
            return false;
        }
    } while (!rm_text_equals(&word, "-"));
    return rm_parse_word(&line, &ret->type) && rm_parse_word(&line, &word) &&
           rm_parse_word(&line, &ret->options);
}

static bool is_octal(struct rm_text text)
{
    for (int i = 0; i < 3; i++) {
        if (rm_text_left(&text) < 3 || text.at[i] < '0' || text.at[i] > '7') {
            return false;
        }
    }
    return true;
}

static bool append_plain(char *target, size_t capacity, size_t *length, struct rm_text text)
{
    size_t more = rm_text_left(&text);
    if (*length + more >= capacity) {
        return false;
    }
    memcpy(target + *length, text.at, more);
    *length += more;
    target[*length] = '\0';
    return true;
}

/* Appends text; decodes the kernel's octal escapes (\040 and so on). */
static bool append_unescaped(char *target, size_t capacity, size_t *length, struct rm_text text)
{
    while (text.at < text.end) {
        char c = *text.at++;
        if (c == '\\' && is_octal(text)) {
            c = (char)((text.at[0] - '0') * 64 + (text.at[1] - '0') * 8 + (text.at[2] - '0'));
            text.at += 3;
        }
        if (*length + 1 >= capacity) {
            return false;
        }
        target[(*length)++] = c;
    }
    target[*length] = '\0';
    return true;
}

/* Whether the cgroup is in the mounted part of the hierarchy; `rest`: its path below that part. */
static bool is_below(const char *root, const char *group, struct rm_text *rest)
{
    *rest = rm_text_of(group, strlen(group));
    if (strcmp(root, "/") != 0 && !rm_parse_literal(rest, root)) {
        return false;
    }
    return (rest->at == rest->end || *rest->at == '/') && strstr(group, "/..") == NULL;
}

/*
 * Joins the mount point and the cgroup's path below the mounted part of the hierarchy.  Paths in
 * mountinfo are escaped.  The path of the cgroup is not: systemd's "\x2d" is part of a name.  A
 * path outside of the mounted part (another cgroup namespace: "/../..") gives only the mount point.
 */
static bool join(const struct mount *mount, const char *group, struct rm_cgroup_place *place)
{
    size_t length = 0;
    struct rm_text point = mount->point;
    (void)rm_parse_literal(&point, "/"); /* relative to the root directory */
    if (!append_unescaped(place->path, sizeof place->path, &length, point)) {
        return false;
    }
    place->mount_length = length;
    struct rm_text rest;
    char root[RM_CGROUP_PATH_BYTES];
    size_t root_length = 0;
    if (!append_unescaped(root, sizeof root, &root_length, mount->root)) {
        return false;
    }
    place->is_outside = !is_below(root, group, &rest);
    if (place->is_outside || rm_text_left(&rest) <= 1) {
        return true;
    }
    /* /proc/PID/cgroup has no escapes: a backslash belongs to the name
     * ("machine-qemu\\x2d1.scope"). */
    return append_plain(place->path, sizeof place->path, &length, rest);
}

static void place_mount(struct rm_cgroup *cgroup, const struct membership *groups,
                        const struct mount *mount)
{
    bool is_v2 = rm_text_equals(&mount->type, "cgroup2");
    if (!is_v2 && !rm_text_equals(&mount->type, "cgroup")) {
        return;
    }
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
        struct rm_cgroup_place place = {
            .version = is_v2 ? 2 : 1,
            .has_local_events = list_has(mount->options, "memory_localevents"),
        };
        /* A controller is in version 2 unless a version 1 hierarchy has it. */
        bool fits = is_v2 ? groups->has_v2 && !groups->is_v1[i]
                          : groups->has_v1[i] && list_has(mount->options, v1_names[i]);
        struct rm_cgroup_place *known = &cgroup->places[i];
        if (!fits || (known->version != 0 && !known->is_outside)) {
            continue; /* several mounts may have the cgroup: the first one is used */
        }
        if (join(mount, is_v2 ? groups->v2 : groups->v1[i], &place) &&
            (known->version == 0 || !place.is_outside)) {
            *known = place;
        }
    }
}

resmon_status rm_cgroup_find(struct rm_cgroup *cgroup, const struct rm_root *root,
                             struct rm_scratch *scratch, const char *proc_dir)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text, line;
    struct membership groups = {0};
    *cgroup = (struct rm_cgroup){0};
    (void)snprintf(path, sizeof path, "%s/cgroup", proc_dir);
    resmon_status status = rm_file_read_once(root, path, scratch, &text);
    if (status != RESMON_OK) {
        return status;
    }
    parse_membership(text, &groups);
    (void)snprintf(path, sizeof path, "%s/mountinfo", proc_dir);
    status = rm_file_read_once(root, path, scratch, &text);
    if (status != RESMON_OK) {
        return status;
    }
    while (rm_parse_line(&text, &line)) {
        struct mount mount;
        if (parse_mount(line, &mount)) {
            place_mount(cgroup, &groups, &mount);
        }
    }
    return RESMON_OK;
}

/* ---- by path --------------------------------------------------------------------------------- */

static bool is_cgroup(const struct mount *mount)
{
    return rm_text_equals(&mount->type, "cgroup2") || rm_text_equals(&mount->type, "cgroup");
}

/* Removes the mount point: with the part "/" mounted at /sys/fs/cgroup, "/sys/fs/cgroup/a" becomes
 * "/a". */
static bool take_mount_off(const struct mount *mount, const char *path,
                           char group[RM_CGROUP_PATH_BYTES])
{
    char point[RM_CGROUP_PATH_BYTES];
    size_t point_length = 0, length = 0;
    struct rm_text rest, root = mount->root;
    if (!is_cgroup(mount) || !append_unescaped(point, sizeof point, &point_length, mount->point) ||
        strcmp(point, "/") == 0 || !is_below(point, path, &rest)) {
        return false;
    }
    if (rm_text_equals(&root, "/") && rest.at != rest.end) {
        root.at = root.end;
    }
    return append_unescaped(group, RM_CGROUP_PATH_BYTES, &length, root) &&
           append_plain(group, RM_CGROUP_PATH_BYTES, &length, rest);
}

static void belong_to(struct membership *groups, const char *group)
{
    const struct rm_text path = rm_text_of(group, strlen(group));
    groups->has_v2 = copy_path(groups->v2, path);
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
        groups->has_v1[i] = groups->is_v1[i] && copy_path(groups->v1[i], path);
    }
}

/* Marks hierarchies without the cgroup as not mounted.  False: no hierarchy has the cgroup. */
static bool drop_absent(struct rm_cgroup *cgroup, const struct rm_root *root)
{
    bool has_any = false;
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
        struct rm_cgroup_place *place = &cgroup->places[i];
        if (place->is_outside || !rm_file_exists(root, place->path)) {
            *place = (struct rm_cgroup_place){0};
        }
        has_any |= place->version != 0;
    }
    return has_any;
}

resmon_status rm_cgroup_find_path(struct rm_cgroup *cgroup, const struct rm_root *root,
                                  struct rm_scratch *scratch, const char *path)
{
    char group[RM_CGROUP_PATH_BYTES], plain[RM_CGROUP_PATH_BYTES];
    struct rm_text text, line;
    struct membership groups = {0};
    struct mount mount;
    size_t length = strlen(path);
    *cgroup = (struct rm_cgroup){0};
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (path[0] != '/' || !copy_path(plain, rm_text_of(path, length)) ||
        strstr(plain, "/..") != NULL) {
        return rm_error(
            RESMON_EINVAL,
            "'%.200s' is not a cgroup path: it must be absolute, as in \"/sys/fs/cgroup/a.slice\"",
            path);
    }
    memcpy(group, plain, sizeof group);
    resmon_status status = rm_file_read_once(root, "proc/self/cgroup", scratch, &text);
    if (status != RESMON_OK) {
        return status;
    }
    parse_membership(text, &groups); /* which hierarchies are of version 1 */
    status = rm_file_read_once(root, "proc/self/mountinfo", scratch, &text);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_text mounts = text;
    for (bool is_found = false; !is_found && rm_parse_line(&text, &line);) {
        is_found = parse_mount(line, &mount) && take_mount_off(&mount, plain, group);
    }
    belong_to(&groups, group);
    for (text = mounts; rm_parse_line(&text, &line);) {
        if (parse_mount(line, &mount)) {
            place_mount(cgroup, &groups, &mount);
        }
    }
    return drop_absent(cgroup, root)
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, "there is no cgroup %.200s here", plain);
}

/* ---- its files ------------------------------------------------------------------------------- */

resmon_status rm_cgroup_file(const struct rm_cgroup_place *place, const char *file,
                             char target[RM_FILE_PATH_BYTES])
{
    if (place->version == 0) {
        return rm_error(RESMON_ENOENT, "no cgroup hierarchy with %s is mounted", file);
    }
    int length = snprintf(target, RM_FILE_PATH_BYTES, "%s/%s", place->path, file);
    if (length < 0 || length >= RM_FILE_PATH_BYTES) {
        return rm_error(RESMON_ERANGE, "cgroup path too long: %s", place->path);
    }
    return RESMON_OK;
}

void rm_cgroup_visit_ancestors(const struct rm_cgroup_place *place, rm_cgroup_visit_fn visit,
                               void *context)
{
    char path[RM_CGROUP_PATH_BYTES];
    memcpy(path, place->path, sizeof path);
    while (place->version != 0) {
        visit(context, path);
        char *slash = strrchr(path, '/');
        if (slash == NULL || (size_t)(slash - path) < place->mount_length) {
            return;
        }
        *slash = '\0';
    }
}

/* ---- limits of memory ------------------------------------------------------------------- */

#define REFRESH_NS (10 * RM_NS_PER_S)

/* By version.  Where a cgroup has two limits, the lower one applies. */
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

/* True: the limit was read, or the file gives no limit.  False: the file could not be opened or
 * read this time. */
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
            return; /* the previous limit is kept */
        }
        lowest = status == RESMON_OK && limit < lowest ? limit : lowest;
    }
    level->limit = lowest < RM_CGROUP_UNLIMITED ? lowest : UINT64_MAX;
}

/* The limit of version 1 that includes ancestors above the mounted part; UINT64_MAX: no limit. */
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
    bool is_cut_off; /* version 1: a cgroup need not charge its ancestors */
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
        return; /* the last level is reserved for a hidden cgroup */
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

/* In version 1, a container that sees only its own cgroup can still read a lower limit of an
 * ancestor. */
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
        open_used(limits, &limits->levels[0]); /* a lower bound for the charge of its ancestors */
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
