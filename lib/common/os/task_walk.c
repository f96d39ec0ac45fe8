/* SPDX-License-Identifier: MIT */
#include "os/task_walk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"
#include "os/dir.h"

#define MOST_PROCESSES ((size_t)1 << 16)

struct walk {
    const struct rm_root *root;
    struct rm_scratch scratch;
    rm_task_visit_fn visit;
    void *context;
    uint32_t *pids; /* found; those before `at` were visited */
    size_t at, count, room;
    bool is_over;
};

static void add_process(struct walk *walk, uint32_t pid)
{
    uint32_t *pids = walk->count < MOST_PROCESSES
                         ? rm_grow(walk->pids, walk->count, &walk->room, sizeof *pids)
                         : NULL;
    if (pids != NULL) {
        walk->pids = pids;
        walk->pids[walk->count++] = pid;
    }
}

static void add_children(struct walk *walk, uint32_t thread)
{
    char path[96];
    struct rm_text text;
    uint64_t pid;
    (void)snprintf(path, sizeof path, "proc/%u/task/%u/children", walk->pids[walk->at], thread);
    if (rm_file_read_once(walk->root, path, &walk->scratch, &text) != RESMON_OK) {
        return; /* has none, has ended, or a kernel that does not tell */
    }
    while (rm_parse_u64(&text, &pid) && pid <= UINT32_MAX) {
        add_process(walk, (uint32_t)pid);
    }
}

static bool visit_thread(void *context, const char *name)
{
    struct walk *walk = context;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t thread;
    if (rm_parse_u64(&text, &thread) && thread <= UINT32_MAX) {
        walk->is_over = !walk->visit(walk->context, walk->pids[walk->at], (uint32_t)thread);
        add_children(walk, (uint32_t)thread);
    }
    return !walk->is_over;
}

resmon_status rm_task_walk(const struct rm_root *root, uint32_t pid, rm_task_visit_fn visit,
                           void *context)
{
    char path[64];
    struct walk walk = {.root = root, .visit = visit, .context = context};
    resmon_status status = rm_scratch_init(&walk.scratch);
    resmon_status first = RESMON_OK;
    if (status != RESMON_OK) {
        return status;
    }
    add_process(&walk, pid);
    for (; walk.at < walk.count && !walk.is_over; walk.at++) {
        (void)snprintf(path, sizeof path, "proc/%u/task", walk.pids[walk.at]);
        status = rm_dir_visit(root, path, visit_thread, &walk);
        first = walk.at == 0 ? status : first;
    }
    if (walk.count == 0) {
        first = rm_error(RESMON_ENOMEM, "out of memory for a list of processes");
    }
    rm_free(walk.pids);
    rm_scratch_free(&walk.scratch);
    return first;
}

struct living {
    const struct rm_root *root;
    const char *proc_dir;
    uint64_t thread;
};

/* One that has ended, and a process that is over, has 0 pages. */
static bool visit_living(void *context, const char *name)
{
    struct living *living = context;
    char path[96], bytes[32] = "";
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t thread, pages = 0;
    int fd;
    (void)snprintf(path, sizeof path, "%s/task/%s/statm", living->proc_dir, name);
    if (!rm_parse_u64(&text, &thread) || rm_fd_open(living->root, path, &fd) != RESMON_OK) {
        return true;
    }
    ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    (void)close(fd);
    text = rm_text_of(bytes, length > 0 ? (size_t)length : 0);
    if (rm_parse_u64(&text, &pages) && pages > 0) {
        living->thread = thread;
    }
    return pages == 0;
}

uint64_t rm_task_living(const struct rm_root *root, const char *proc_dir)
{
    char path[64];
    struct living living = {.root = root, .proc_dir = proc_dir};
    (void)snprintf(path, sizeof path, "%s/task", proc_dir);
    (void)rm_dir_visit(root, path, visit_living, &living);
    return living.thread;
}
