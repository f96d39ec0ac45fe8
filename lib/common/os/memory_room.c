/* SPDX-License-Identifier: MIT */
#include "os/memory_room.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/proc_pid.h"

/* "No limit" in version 1 is a little less than 2^63. */
#define UNLIMITED (UINT64_C(1) << 60)

struct look {
    struct rm_root root;
    struct rm_scratch scratch;
    const struct rm_cgroup_place *group; /* while groups are visited */
    struct rm_memory_room *room;
};

static void take(struct look *look, uint64_t limit, uint64_t used, const char *what,
                 const char *name)
{
    uint64_t left = used < limit ? limit - used : 0;
    if (limit < UNLIMITED && left < look->room->bytes) {
        look->room->bytes = left;
        (void)snprintf(look->room->limit, sizeof look->room->limit, "%s%s", what, name);
    }
}

/* ---- cgroups --------------------------------------------------------------------- */

/* The names of the two versions. */
struct group_files {
    const char *limit, *used;
    struct rm_key idle;
};

static const struct group_files group_files[] = {
    {"memory.limit_in_bytes", "memory.usage_in_bytes", RM_KEY("total_inactive_file", 0)},
    {"memory.max", "memory.current", RM_KEY("inactive_file", 0)},
};

static bool read_number(struct look *look, const char *group, const char *file, uint64_t *ret_value)
{
    char path[RM_FILE_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", group, file);
    return length > 0 && length < (int)sizeof path &&
           rm_file_read_u64(&look->root, path, &look->scratch, ret_value) == RESMON_OK;
}

static uint64_t read_idle(struct look *look, const char *group, const struct rm_key *key)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t idle = 0;
    int length = snprintf(path, sizeof path, "%s/memory.stat", group);
    if (length > 0 && length < (int)sizeof path &&
        rm_file_read_once(&look->root, path, &look->scratch, &text) == RESMON_OK) {
        (void)rm_parse_keys(text, key, 1, &idle);
    }
    return idle;
}

static void visit(void *context, const char *path)
{
    struct look *look = context;
    const struct group_files *files = &group_files[look->group->version == 2 ? 1 : 0];
    uint64_t limit, used;
    if (!read_number(look, path, files->limit, &limit) || limit >= UNLIMITED ||
        !read_number(look, path, files->used, &used)) {
        return;
    }
    uint64_t idle = read_idle(look, path, &files->idle);
    const char *name = path + look->group->mount_length;
    take(look, limit, used > idle ? used - idle : 0, "the limit of cgroup ",
         name[0] != '\0' ? name : "/");
}

static void look_at_groups(struct look *look)
{
    struct rm_cgroup cgroup;
    if (rm_cgroup_find(&cgroup, &look->root, &look->scratch, "proc/self") == RESMON_OK) {
        look->group = &cgroup.places[RM_CGROUP_MEMORY];
        rm_cgroup_visit_ancestors(look->group, visit, look);
    }
}

/* ---- the process's own limits, and the machine's ------------------------------------------ */

static bool is_limited(int resource, struct rlimit *ret_limit)
{
    return getrlimit(resource, ret_limit) == 0 && ret_limit->rlim_cur != RLIM_INFINITY;
}

/* Reads the file of the calling thread: the file of the process is empty after its main thread has
 * ended. */
static void look_at_process(struct look *look)
{
    struct rm_text text;
    struct rm_pid_statm statm;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    if (rm_file_read_once(&look->root, "proc/thread-self/statm", &look->scratch, &text) !=
            RESMON_OK ||
        !rm_pid_statm_parse(text, &statm)) {
        return;
    }
    if (is_limited(RLIMIT_AS, &limit)) {
        take(look, limit.rlim_cur, statm.size * page_bytes, "RLIMIT_AS", "");
    }
    if (is_limited(RLIMIT_DATA, &limit)) {
        take(look, limit.rlim_cur, statm.data * page_bytes, "RLIMIT_DATA", "");
    }
}

static void look_at_machine(struct look *look)
{
    static const struct rm_key keys[] = {RM_KEY("MemAvailable:", 0)};
    struct rm_text text;
    uint64_t kib = 0;
    if (rm_file_read_once(&look->root, "proc/meminfo", &look->scratch, &text) == RESMON_OK &&
        rm_parse_keys(text, keys, 1, &kib) == 1) {
        take(look, kib * 1024, 0, "the memory of the machine", "");
    }
}

static void look_at_all(struct look *look)
{
    look_at_groups(look);
    look_at_process(look);
    look_at_machine(look);
}

static void look_below(const char *fs_root, void (*at)(struct look *look),
                       struct rm_memory_room *ret_room)
{
    struct look look = {.room = ret_room};
    *ret_room = (struct rm_memory_room){.bytes = UINT64_MAX};
    if (rm_root_open(&look.root, fs_root) != RESMON_OK) {
        return;
    }
    if (rm_scratch_init(&look.scratch) == RESMON_OK) {
        at(&look);
        rm_scratch_free(&look.scratch);
    }
    rm_root_close(&look.root);
}

void rm_memory_room_look(const char *fs_root, struct rm_memory_room *ret_room)
{
    look_below(fs_root, look_at_all, ret_room);
}

void rm_memory_room_of_process(const char *fs_root, struct rm_memory_room *ret_room)
{
    struct rlimit limit;
    if (is_limited(RLIMIT_AS, &limit) || is_limited(RLIMIT_DATA, &limit)) {
        look_below(fs_root, look_at_process, ret_room);
    } else {
        *ret_room = (struct rm_memory_room){.bytes = UINT64_MAX};
    }
}
