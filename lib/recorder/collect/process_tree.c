/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* usleep */
#include "collect/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/own_io.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"

static const char *const file_names[RM_TREE_FILES] = {"stat", "statm", "io", "fd"};

static const struct rm_key io_keys[] = {
    RM_KEY("rchar:", RM_TREE_READ_CHARS),      RM_KEY("wchar:", RM_TREE_WRITE_CHARS),
    RM_KEY("syscr:", RM_TREE_READ_COUNT),      RM_KEY("syscw:", RM_TREE_WRITE_COUNT),
    RM_KEY("read_bytes:", RM_TREE_READ_BYTES), RM_KEY("write_bytes:", RM_TREE_WRITE_BYTES),
};

/* ---- the index by pid ------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t pid)
{
    return rm_hash_u64(RM_HASH_START, pid);
}

static struct rm_tree_member *find_member(const struct rm_process_tree *tree, uint64_t pid)
{
    struct rm_map_search search = {.hash = hash_of(pid)};
    for (uint32_t position; rm_map_next(&tree->by_pid, &search, &position);) {
        if (tree->members[position].pid == pid) {
            return &tree->members[position];
        }
    }
    return NULL;
}

/* ---- a member --------------------------------------------------------------------------- */

static void close_member(struct rm_process_tree *tree, struct rm_tree_member *member)
{
    for (int f = 0; f < RM_TREE_FILES; f++) {
        if (member->kept[f].is_open) {
            rm_kept_close(&member->kept[f]);
            tree->open_files--;
        }
    }
}

static bool is_kept(struct rm_process_tree *tree, struct rm_tree_member *member, int file)
{
    struct rm_kept *kept = &member->kept[file];
    if (kept->is_open && !rm_kept_is_ours(kept)) {
        *kept = (struct rm_kept){0}; /* the program has closed its descriptor */
        tree->open_files--;
    }
    return kept->is_open;
}

/* Keeps the file open if open_bound allows. */
static void keep_or_close(struct rm_process_tree *tree, struct rm_tree_member *member, int file,
                          int fd, bool is_worth_it)
{
    if (is_worth_it && tree->open_files < tree->open_bound) {
        rm_kept_take(&member->kept[file], fd);
        tree->open_files++;
    } else {
        (void)close(fd);
    }
}

/* The files of a main thread that has ended are read at another thread. */
static void dir_of(const struct rm_tree_member *member, int file, char path[64])
{
    bool is_of_thread =
        member->memory_thread != 0 && (file == RM_TREE_STATM || file == RM_TREE_FD_DIRECTORY);
    int length = snprintf(path, 64, "proc/%llu", (unsigned long long)member->pid);
    if (is_of_thread) {
        (void)snprintf(path + length, 64 - (size_t)length, "/task/%llu",
                       (unsigned long long)member->memory_thread);
    }
}

static void path_of(const struct rm_tree_member *member, int file, char path[64])
{
    dir_of(member, file, path);
    size_t length = strlen(path);
    (void)snprintf(path + length, 64 - length, "/%s", file_names[file]);
}

_Static_assert((int)RM_TREE_STAT == (int)RM_OWN_STAT && (int)RM_TREE_STATM == (int)RM_OWN_STATM &&
                   (int)RM_TREE_IO == (int)RM_OWN_IO,
               "files have other numbers");

/* In a tree of one process the order of readings does not matter, so a file that another collector
 * has read for this sample is used. */
static bool take_read_file(const struct rm_process_tree *tree, const struct rm_collect *collect,
                           const struct rm_tree_member *member, int file, struct rm_text *ret_text)
{
    return tree->count == 1 && !collect->is_group && member->pid == (uint64_t)collect->proc_pid &&
           rm_collect_take(collect, (enum rm_own_file)file, ret_text);
}

/* Reads a file of a member, which is kept open if open_bound allows. */
static resmon_status read_member_file(struct rm_process_tree *tree, struct rm_collect *collect,
                                      struct rm_tree_member *member, int file,
                                      struct rm_text *ret_text)
{
    char path[64];
    if (take_read_file(tree, collect, member, file, ret_text)) {
        return RESMON_OK;
    }
    path_of(member, file, path);
    if (is_kept(tree, member, file)) {
        return rm_fd_read(member->kept[file].fd, path, &collect->scratch, ret_text);
    }
    int fd;
    resmon_status status = rm_fd_open(&collect->root, path, &fd);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_fd_read(fd, path, &collect->scratch, ret_text);
    keep_or_close(tree, member, file, fd, status == RESMON_OK);
    return status;
}

/* fstat() of the open directory saves the path lookup, which is most of the cost. */
static bool stat_fds(struct rm_process_tree *tree, const struct rm_collect *collect,
                     struct rm_tree_member *member, uint64_t *ret_count)
{
    char path[64];
    int fd;
    if (tree->lists_fds || !collect->root.is_live) {
        return false;
    }
    if (!is_kept(tree, member, RM_TREE_FD_DIRECTORY)) {
        path_of(member, RM_TREE_FD_DIRECTORY, path);
        if (tree->open_files >= tree->open_bound ||
            rm_fd_open(&collect->root, path, &fd) != RESMON_OK) {
            return false;
        }
        keep_or_close(tree, member, RM_TREE_FD_DIRECTORY, fd, true);
    }
    return rm_fd_count_kept(&member->kept[RM_TREE_FD_DIRECTORY], ret_count);
}

static bool count_fds(struct rm_process_tree *tree, const struct rm_collect *collect,
                      struct rm_tree_member *member, uint64_t *ret_count)
{
    char dir[64];
    if (stat_fds(tree, collect, member, ret_count)) {
        return true;
    }
    dir_of(member, RM_TREE_FD_DIRECTORY, dir);
    bool is_counted = rm_fd_count(&collect->root, dir, ret_count) == RESMON_OK;
    tree->lists_fds |= is_counted && *ret_count > 0 && member->kept[RM_TREE_FD_DIRECTORY].is_open;
    return is_counted;
}

static double cpu_seconds(const struct rm_collect *collect, const struct rm_tree_member *member,
                          const struct rm_pid_stat *stat)
{
    int64_t cpu_ns;
    if (member->has_clock && rm_clock_read_cpu(member->clock, &cpu_ns)) {
        return (double)cpu_ns * 1e-9;
    }
    return (double)(stat->utime + stat->stime) * collect->tick_s;
}

static const enum rm_io_field own_fields[RM_TREE_IO_FIELDS] = {
    [RM_TREE_READ_CHARS] = RM_IO_READ_CHARS, [RM_TREE_WRITE_CHARS] = RM_IO_WRITE_CHARS,
    [RM_TREE_READ_COUNT] = RM_IO_READ_CALLS, [RM_TREE_WRITE_COUNT] = RM_IO_WRITE_CALLS,
    [RM_TREE_READ_BYTES] = RM_IO_READ_BYTES, [RM_TREE_WRITE_BYTES] = RM_IO_WRITE_BYTES,
};

/* Subtracts the library's own I/O, up to just before the reading.  A call that only one of the two
 * counters includes must not make a value fall. */
static void take_ours_out(const struct rm_tree_member *member, const struct rm_own_io *ours,
                          uint64_t io[RM_TREE_IO_FIELDS])
{
    for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
        io[f] = rm_own_io_rest(ours, own_fields[f], io[f], (uint64_t)member->io[f]);
    }
}

/* For our own process, without the library's own I/O. */
static bool read_member_io(struct rm_process_tree *tree, struct rm_collect *collect,
                           struct rm_tree_member *member, uint64_t io[RM_TREE_IO_FIELDS],
                           uint64_t *ret_found)
{
    struct rm_text text;
    struct rm_own_io now = {.is_settled = false};
    bool is_own = collect->is_self && member == &tree->members[0];
    bool is_read = take_read_file(tree, collect, member, RM_TREE_IO, &text);
    if (!is_read) {
        if (is_own) {
            rm_own_io_before(&now);
        }
        if (read_member_file(tree, collect, member, RM_TREE_IO, &text) != RESMON_OK) {
            return false;
        }
        rm_own_io_after(&now);
    }
    *ret_found = rm_parse_keys(text, io_keys, RM_ARRAY_LEN(io_keys), io);
    if (is_own) {
        take_ours_out(member, is_read ? &collect->own_io : &now, io);
    }
    return true;
}

static double waited_seconds(const struct rm_collect *collect, const struct rm_pid_stat *stat)
{
    return (double)(stat->cutime + stat->cstime) * collect->tick_s;
}

static bool read_statm(struct rm_process_tree *tree, struct rm_collect *collect,
                       struct rm_tree_member *member, struct rm_pid_statm *ret_statm)
{
    struct rm_text text;
    return read_member_file(tree, collect, member, RM_TREE_STATM, &text) == RESMON_OK &&
           rm_pid_statm_parse(text, ret_statm);
}

/* Finds a living thread that has the memory of a member whose main thread has ended. */
static void find_memory_thread(struct rm_process_tree *tree, struct rm_collect *collect,
                               struct rm_tree_member *member)
{
    static const int files[] = {RM_TREE_STATM, RM_TREE_FD_DIRECTORY};
    char dir[64];
    (void)snprintf(dir, sizeof dir, "proc/%llu", (unsigned long long)member->pid);
    member->memory_thread = rm_task_living(&collect->root, dir);
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        struct rm_kept *kept = &member->kept[files[i]];
        tree->open_files -= kept->is_open ? 1 : 0;
        rm_kept_close(kept);
    }
}

static void read_memory(struct rm_process_tree *tree, struct rm_collect *collect,
                        struct rm_tree_member *member)
{
    struct rm_pid_statm statm = {0};
    bool is_read = read_statm(tree, collect, member, &statm);
    if (member->has_lost_main && (!is_read || statm.size == 0)) {
        find_memory_thread(tree, collect, member);
        is_read = read_statm(tree, collect, member, &statm);
    }
    if (is_read && (statm.size > 0 || member->is_zombie)) {
        /* rss is not from stat, which lacks the CPUs' pending changes (proc(5)). */
        member->vms = (double)statm.size * collect->page_bytes;
        member->rss = (double)statm.resident * collect->page_bytes;
        member->shared = (double)statm.shared * collect->page_bytes;
    }
}

static void read_details(struct rm_process_tree *tree, struct rm_collect *collect,
                         struct rm_tree_member *member)
{
    uint64_t count, found;
    uint64_t io[RM_TREE_IO_FIELDS] = {0};
    read_memory(tree, collect, member);
    /* Other users' processes and zombies are not readable: the last values are kept. */
    if (read_member_io(tree, collect, member, io, &found)) {
        tree->io_found |= found;
        for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
            double now = (found >> f & 1) != 0 ? (double)io[f] : member->io[f];
            member->io_growth[f] += member->has_io ? now - member->io[f] : 0.0;
            member->io[f] = now;
        }
        member->has_io = true;
    }
    if (member->is_zombie) {
        member->fds = 0.0; /* its descriptors are closed; the directory is root's */
    } else if (count_fds(tree, collect, member, &count)) {
        member->fds = (double)count;
        tree->has_fds = true;
    }
}

/* Whether a file of /proc/PID fails like that of an ended or hidden process. */
static bool is_end_of_process(resmon_status status)
{
    return status == RESMON_ESRCH || status == RESMON_ENOENT || status == RESMON_EFORMAT ||
           status == RESMON_EACCES;
}

/* Whether a member shares its parent's memory.  Called before its size is read: later it may
 * have its own memory.  The answer is from the kernel (kcmp()).  Where that fails, a parent stopped
 * in vfork() waits for its child's exec, and both have the same size. */
static void note_sharing(const struct rm_process_tree *tree, struct rm_tree_member *member)
{
    const struct rm_tree_member *parent = member->is_apart ? NULL : find_member(tree, member->ppid);
    member->shares = false;
    if (parent == NULL) {
        return;
    }
    if (parent->here > 0 && member->here > 0 &&
        rm_identity_compare_memory(parent->here, member->here, &member->shares)) {
        member->is_apart = !member->shares;
    } else {
        member->shares = parent->waits && parent->vms == member->vms;
    }
}

static void take_stat(const struct rm_collect *collect, struct rm_tree_member *member,
                      const struct rm_pid_stat *stat)
{
    double waited = waited_seconds(collect, stat);
    member->waited_growth_s += waited - member->waited_s;
    member->waited_s = waited;
    member->own_s = cpu_seconds(collect, member, stat);
    member->starttime = stat->starttime;
    member->ppid = stat->ppid;
    member->has_lost_main = stat->state == 'Z' && stat->threads > 1; /* other threads live */
    member->is_zombie = stat->state == 'Z' && !member->has_lost_main;
    member->waits = stat->state == 'D';
    member->threads = (double)stat->threads;
    member->vms = (double)stat->vsize;
    member->rss = (double)stat->rss * collect->page_bytes; /* in case statm is not readable */
}

/* In state X a process was waited for, and its directory still exists.  Whether its parent's values
 * include its own is known once it is gone: some microseconds later, unless the kernel's thread
 * that removes it has lost its CPU. */
#define REMOVAL_WAIT_US 100
#define REMOVAL_WAITS   50

static bool is_being_removed(const struct rm_pid_stat *stat)
{
    return stat->state == 'X' && !rm_pid_stat_is_removed(stat);
}

static resmon_status read_stat(struct rm_process_tree *tree, struct rm_collect *collect,
                               struct rm_tree_member *member, bool *ret_is_parsed,
                               struct rm_pid_stat *ret_stat)
{
    struct rm_text text;
    resmon_status status = RESMON_OK;
    for (int waits = 0; waits <= REMOVAL_WAITS; waits++) {
        status = read_member_file(tree, collect, member, RM_TREE_STAT, &text);
        *ret_is_parsed = status == RESMON_OK && rm_pid_stat_parse(text, ret_stat);
        if (!*ret_is_parsed || !is_being_removed(ret_stat) || !collect->root.is_live) {
            break;
        }
        (void)usleep(REMOVAL_WAIT_US);
    }
    return status;
}

static bool is_there(const struct rm_tree_member *member, const struct rm_pid_stat *stat)
{
    return stat->state != 'X' && !rm_pid_stat_is_removed(stat) &&
           (member->starttime == 0 || member->starttime == stat->starttime);
}

/* Updates is_alive: a member whose pid belongs to another process now has ended.  Other failures
 * (no memory, no descriptor, bad format) leave the member as it is, and are returned. */
static resmon_status update_member(struct rm_process_tree *tree, struct rm_collect *collect,
                                   struct rm_tree_member *member)
{
    struct rm_pid_stat stat;
    bool is_parsed;
    resmon_status status = read_stat(tree, collect, member, &is_parsed, &stat);
    bool is_own = collect->is_self && member->pid == (uint64_t)collect->proc_pid;
    if (status != RESMON_OK && (is_own || !is_end_of_process(status))) {
        return status;
    }
    if (status == RESMON_OK && !is_parsed) {
        return rm_error(RESMON_EFORMAT, "the stat file of process %llu is garbled",
                        (unsigned long long)member->pid);
    }
    member->is_alive = status == RESMON_OK && !member->has_left && is_there(member, &stat);
    if (!member->is_alive) {
        return RESMON_OK;
    }
    take_stat(collect, member, &stat);
    member->own_threads = is_own ? rm_collect_own_threads(collect) : 0.0;
    note_sharing(tree, member);
    if (tree->reads_details) {
        read_details(tree, collect, member);
    }
    if (member->shares) {
        member->rss = member->vms = member->shared = 0.0;
    }
    return RESMON_OK;
}

static bool make_room(struct rm_process_tree *tree)
{
    if (tree->count == RM_TREE_MAX_MEMBERS) {
        tree->is_full = true;
        return false;
    }
    struct rm_tree_member *members =
        rm_grow(tree->members, tree->count, &tree->room, sizeof *members);
    if (members != NULL) {
        tree->members = members;
    }
    if (members == NULL || !rm_map_reserve(&tree->by_pid, tree->count + 1)) {
        tree->has_missed = true;
        return false;
    }
    return true;
}

static void forget_growth(struct rm_tree_member *member)
{
    member->waited_growth_s = 0.0;
    memset(member->io_growth, 0, sizeof member->io_growth);
}

/* False: the process has ended.  Without a pid in our namespace, it has clock ticks only. */
static bool find_clock(struct rm_collect *collect, struct rm_tree_member *member)
{
    int64_t pid =
        rm_pid_view_here(&collect->view, &collect->root, &collect->scratch, (int64_t)member->pid);
    member->here = pid;
    member->has_clock = pid > 0 && clock_getcpuclockid((pid_t)pid, &member->clock) == 0;
    return pid <= 0 || member->has_clock;
}

/* The process lives, but has no directory in /proc for this user. */
static bool is_hidden(const struct rm_collect *collect, const struct rm_tree_member *member)
{
    return collect->root.is_live && member->here > 0 && !member->has_left &&
           kill((pid_t)member->here, 0) != 0 && errno == EPERM;
}

/* A temporary failure, such as ENOMEM or EMFILE: the next search may find the process. */
static void note_missing(struct rm_process_tree *tree, resmon_status status)
{
    if (status != RESMON_OK && !tree->has_missed) {
        tree->missed = status;
        (void)rm_text_set(tree->why_missed, sizeof tree->why_missed, resmon_last_error());
    }
    tree->has_missed |= status != RESMON_OK;
}

/* Adds a process that is not a member yet, if it still exists. */
static void add_member(struct rm_process_tree *tree, struct rm_collect *collect, uint64_t pid)
{
    if (!make_room(tree)) {
        return;
    }
    struct rm_tree_member *member = &tree->members[tree->count];
    *member = (struct rm_tree_member){.pid = pid};
    if (collect->root.is_live && !find_clock(collect, member)) {
        return;
    }
    note_missing(tree, update_member(tree, collect, member));
    if (!member->is_alive) {
        tree->has_hidden |= is_hidden(collect, member);
        close_member(tree, member);
        return;
    }
    forget_growth(member);
    rm_map_add(&tree->by_pid, hash_of(pid), (uint32_t)tree->count++);
}

/* ---- children --------------------------------------------------------------------------- */

struct search {
    struct rm_process_tree *tree;
    struct rm_collect *collect;
    uint64_t pid;     /* member whose children are searched */
    bool has_changed; /* a scan of /proc found a new member */
    bool is_supported;
};

#define NEW_PIDS 128

/* Collects pids that are not members yet; true: there may be more than fit. */
static bool list_new(struct search *search, struct rm_text text, uint64_t new_pids[NEW_PIDS],
                     size_t *ret_count)
{
    uint64_t pid;
    *ret_count = 0;
    while (rm_parse_u64(&text, &pid)) {
        if (find_member(search->tree, pid) == NULL &&
            !rm_reaper_is_other(&search->tree->reaper, pid)) {
            new_pids[(*ret_count)++] = pid;
        }
        if (*ret_count == NEW_PIDS) {
            return true;
        }
    }
    return false;
}

/* The list is in the scratch buffer that adding a member overwrites: so list first, then add. */
static void add_listed_children(struct search *search, uint64_t tid)
{
    char path[64];
    struct rm_text text;
    uint64_t new_pids[NEW_PIDS];
    size_t new_count;
    size_t before;
    bool has_more;
    (void)snprintf(path, sizeof path, "proc/%llu/task/%llu/children",
                   (unsigned long long)search->pid, (unsigned long long)tid);
    do {
        resmon_status status =
            rm_file_read_once(&search->collect->root, path, &search->collect->scratch, &text);
        search->is_supported = status != RESMON_ENOENT; /* EFORMAT: an empty list */
        if (status != RESMON_OK) {
            note_missing(search->tree, is_end_of_process(status) ? RESMON_OK : status);
            return;
        }
        before = search->tree->count;
        has_more = list_new(search, text, new_pids, &new_count);
        for (size_t i = 0; i < new_count; i++) {
            add_member(search->tree, search->collect, new_pids[i]);
        }
    } while (has_more && search->tree->count > before);
}

static bool parse_number(const char *name, uint64_t *ret_number)
{
    struct rm_text text = rm_text_of(name, strlen(name));
    return rm_parse_u64(&text, ret_number) && text.at == text.end;
}

static bool visit_task(void *context, const char *name)
{
    uint64_t tid;
    if (parse_number(name, &tid)) {
        add_listed_children(context, tid);
    }
    return true;
}

static bool is_parent(const struct rm_process_tree *tree, uint64_t pid)
{
    return find_member(tree, pid) != NULL || (tree->reaper.pid != 0 && tree->reaper.pid == pid);
}

static bool visit_process(void *context, const char *name)
{
    struct search *search = context;
    struct rm_pid_stat stat;
    uint64_t pid;
    if (!parse_number(name, &pid) || find_member(search->tree, pid) != NULL) {
        return true;
    }
    resmon_status status =
        rm_collect_read_stat(&search->collect->root, &search->collect->scratch, pid, &stat);
    note_missing(search->tree, is_end_of_process(status) ? RESMON_OK : status);
    if (status == RESMON_OK && is_parent(search->tree, stat.ppid) &&
        !rm_reaper_is_other(&search->tree->reaper, pid)) {
        size_t before = search->tree->count;
        add_member(search->tree, search->collect, pid);
        search->has_changed |= search->tree->count > before; /* a full tree ends the loop */
    }
    return true;
}

/* Members that have ended but were not waited for are in no list. */
static resmon_status find_group_members(struct rm_process_tree *tree, struct rm_collect *collect)
{
    resmon_status status = rm_collect_list_group(collect);
    tree->seen_changes = collect->members.changes;
    tree->has_missed = status != RESMON_OK;
    if (status != RESMON_OK && status != RESMON_ENOMEM) {
        return status; /* a failed reading does not mean that a member has left */
    }
    for (size_t i = 0; i < tree->count && status == RESMON_OK; i++) {
        struct rm_tree_member *member = &tree->members[i];
        member->has_left = !member->is_zombie && !rm_members_has(&collect->members, member->pid);
    }
    for (size_t i = 0; i < collect->members.count; i++) {
        if (find_member(tree, collect->members.pids[i]) == NULL) {
            add_member(tree, collect, collect->members.pids[i]);
        }
    }
    return RESMON_OK;
}

/* Each thread has its own list of children. */
static void find_children_of(struct search *search, const struct rm_tree_member *parent)
{
    search->pid = parent->pid;
    if (parent->threads > 1.0) {
        char path[64];
        (void)snprintf(path, sizeof path, "proc/%llu/task", (unsigned long long)search->pid);
        resmon_status status = rm_dir_visit(&search->collect->root, path, visit_task, search);
        note_missing(search->tree, is_end_of_process(status) ? RESMON_OK : status);
    } else {
        add_listed_children(search, search->pid);
    }
}

/* New members are visited, too, so grandchildren are found at once. */
static void find_children(struct rm_process_tree *tree, struct rm_collect *collect)
{
    tree->has_missed = false;
    struct search search = {.tree = tree, .collect = collect};
    if (tree->has_children_files && tree->reaper.pid != 0) {
        find_children_of(&search, &tree->orphans);
    }
    for (size_t i = 0; i < tree->count && tree->has_children_files; i++) {
        if (!tree->members[i].is_zombie) {
            find_children_of(&search, &tree->members[i]);
        }
    }
    if (!tree->has_children_files) {
        do { /* a child may be listed before its parent */
            search.has_changed = false;
            note_missing(tree, rm_dir_visit(&collect->root, "proc", visit_process, &search));
        } while (search.has_changed);
    }
}

/* Whether a process was created anywhere since the last search.  In "0.33 0.12 0.08 1/143 4711",
 * 4711 is the newest pid; 143 is the number of tasks, which also shows a process whose pid was
 * chosen (clone3). */
static bool has_forked(struct rm_process_tree *tree, struct rm_collect *collect)
{
    struct rm_text text, word;
    uint64_t running, tasks, newest;
    if (rm_collect_read(collect, &tree->loadavg, &text) != RESMON_OK) {
        return true;
    }
    for (int i = 0; i < 3; i++) {
        if (!rm_parse_word(&text, &word)) {
            return true;
        }
    }
    if (!rm_parse_u64(&text, &running) || !rm_parse_literal(&text, "/") ||
        !rm_parse_u64(&text, &tasks) || !rm_parse_u64(&text, &newest)) {
        return true;
    }
    bool has_changed = newest != tree->newest_pid || tasks > tree->task_count || tree->has_missed;
    tree->newest_pid = newest;
    tree->task_count = tasks;
    return has_changed;
}

/* ---- births -----------------------------------------------------------------------------
 *
 * The kernel reports a fork before any other event of the child.  So all forks of a process are
 * known at the first reading after its end.  With the processes that ended since the previous
 * reading, the chain from the root to each new process is complete.
 */

static void note_fork(void *context, uint64_t parent, uint64_t child)
{
    struct rm_process_tree *tree = context;
    const struct rm_tree_member *above = find_member(tree, parent);
    struct rm_tree_member *before = find_member(tree, child);
    bool is_ours = rm_births_has(&tree->births, parent) || (above != NULL && !above->has_left);
    if (before != NULL && !is_ours) {
        before->has_left = true; /* forks by this pid are outside of the tree from here on */
    }
    rm_births_note(&tree->births, child, is_ours);
}

/* Upper bound of forks, below which a machine is polled once per second. */
#define BUSY_FORKS 32U
#define BUSY_NS    (100 * RM_NS_PER_MS)

int64_t rm_tree_take_forks(struct rm_process_tree *tree)
{
    if (!rm_births_are_reported(&tree->births)) {
        return INT64_MAX;
    }
    if (!rm_births_read(&tree->births, note_fork, tree)) {
        tree->has_missed = true; /* processes in a list of children can still be found there */
        tree->has_lost = true;
    }
    return tree->births.events.latest > BUSY_FORKS ? BUSY_NS : RM_NS_PER_S;
}

static void add_born(struct rm_process_tree *tree, struct rm_collect *collect)
{
    for (size_t i = 0; i < tree->births.count; i++) {
        struct rm_birth *birth = &tree->births.births[i];
        if (!birth->is_over && find_member(tree, birth->pid) == NULL) {
            add_member(tree, collect, birth->pid);
        }
        birth->is_over = !tree->has_missed; /* else once more: later it may be in no list */
    }
}

/* ---- members that ended ----------------------------------------------------------------- */

static struct rm_tree_member *living_ancestor(struct rm_process_tree *tree,
                                              const struct rm_tree_member *member)
{
    uint64_t ppid = member->ppid;
    for (size_t steps = 0; steps < tree->count; steps++) {
        struct rm_tree_member *parent = find_member(tree, ppid);
        if (parent == NULL) {
            bool is_ours = tree->reaper.pid != 0 && ppid == tree->reaper.pid;
            return is_ours && tree->reaper.other_count == 0 ? &tree->orphans : NULL;
        }
        if (parent->is_alive) {
            return parent;
        }
        ppid = parent->ppid;
    }
    return NULL;
}

static void note_ended(struct rm_process_tree *tree, const struct rm_tree_member *member)
{
    struct rm_tree_member *ancestor = living_ancestor(tree, member);
    double seconds = member->own_s + member->waited_s;
    tree->exited += 1.0;
    tree->uncounted += ancestor == NULL ? 1.0 : 0.0;
    *(ancestor == NULL ? &tree->carried_s : &ancestor->ended_s) += seconds;
    for (int f = 0; f < RM_TREE_IO_FIELDS; f++) {
        *(ancestor == NULL ? &tree->carried_io[f] : &ancestor->ended_io[f]) += member->io[f];
    }
    if (ancestor != NULL) {
        ancestor->ended_count += 1.0;
    }
}

/* Subtracts the missing part of `ended` from the growth of a value since it was read. */
static void take_over(double *value, double *growth, double ended, double latest)
{
    double taken = fmax(fmin(ended - *growth, latest - *value), 0.0);
    *value += taken;
    *growth += taken;
}

/* A child that was waited for between the readings of its parent and of itself is included in the
 * parent's values by now. */
static void look_again(struct rm_process_tree *tree, struct rm_collect *collect,
                       struct rm_tree_member *member)
{
    struct rm_text text;
    struct rm_pid_stat stat;
    uint64_t io[RM_TREE_IO_FIELDS] = {0};
    uint64_t found;
    if (read_member_file(tree, collect, member, RM_TREE_STAT, &text) == RESMON_OK &&
        rm_pid_stat_parse(text, &stat) && stat.starttime == member->starttime) {
        take_over(&member->waited_s, &member->waited_growth_s, member->ended_s,
                  waited_seconds(collect, &stat));
    }
    if (read_member_io(tree, collect, member, io, &found)) {
        for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
            take_over(&member->io[f], &member->io_growth[f], member->ended_io[f], (double)io[f]);
        }
    }
}

/* Adds the usage of orphans that we have waited for. */
static void look_at_orphans(struct rm_process_tree *tree)
{
    struct rm_tree_member *orphans = &tree->orphans;
    const struct rm_reaped reaped = rm_reaper_look(&tree->reaper);
    orphans->waited_s += reaped.cpu_s;
    orphans->waited_growth_s += reaped.cpu_s;
    for (unsigned f = 0; f < RM_TREE_IO_FIELDS; f++) {
        orphans->io[f] += reaped.io[own_fields[f]];
        orphans->io_growth[f] += reaped.io[own_fields[f]];
    }
}

/*
 * Compares the usage of members that ended below a member with its growth of waited-for CPU time
 * and I/O (ticks are rounded down, once in the parent and never in our clocks).  The rest is
 * carried on.
 */
static void settle(struct rm_process_tree *tree, struct rm_collect *collect,
                   struct rm_tree_member *member)
{
    double tolerance = 2.0 * collect->tick_s;
    if (member->ended_count == 0.0) {
        return;
    }
    if (member == &tree->orphans) {
        look_at_orphans(tree);
    } else {
        look_again(tree, collect, member);
    }
    double missing = member->ended_s - member->waited_growth_s;
    double share = missing > tolerance ? missing / member->ended_s : 0.0;
    bool is_missing = share > 0.0;
    tree->carried_s += share * member->ended_s;
    for (int f = 0; f < RM_TREE_IO_FIELDS; f++) {
        double at_least = member->ended_io[f] - member->io_growth[f];
        is_missing |= at_least > 0.0;
        tree->carried_io[f] += fmax(fmax(at_least, share * member->ended_io[f]), 0.0);
    }
    tree->uncounted += is_missing ? member->ended_count : 0.0;
    member->ended_s = 0.0;
    member->ended_count = 0.0;
    memset(member->ended_io, 0, sizeof member->ended_io);
}

static void remove_ended(struct rm_process_tree *tree)
{
    size_t kept = 0;
    rm_map_clear(&tree->by_pid);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->members[i].is_alive) {
            tree->members[kept] = tree->members[i];
            rm_map_add(&tree->by_pid, hash_of(tree->members[kept].pid), (uint32_t)kept);
            kept++;
        } else {
            if (rm_births_are_reported(&tree->births) && !tree->members[i].has_left) {
                rm_births_note_end(&tree->births, tree->members[i].pid);
            }
            close_member(tree, &tree->members[i]);
        }
    }
    tree->count = kept;
}

/* The program has closed our descriptors, so our numbers may be files of its own. */
static void forget_lost_files(struct rm_process_tree *tree, const struct rm_collect *collect)
{
    for (size_t i = 0; i < tree->count && tree->generation != collect->root.generation; i++) {
        close_member(tree, &tree->members[i]);
    }
    tree->generation = collect->root.generation;
}

/* Finds new members; no search if no process was created. */
static resmon_status find_new(struct rm_process_tree *tree, struct rm_collect *collect,
                              bool has_ended)
{
    bool is_reported = rm_births_are_reported(&tree->births);
    bool has_news = is_reported ? tree->has_missed : has_forked(tree, collect);
    if (is_reported) {
        add_born(tree, collect);
    }
    if (collect->is_group) {
        has_news = has_news || collect->members.changes != tree->seen_changes ||
                   rm_members_are_due(&collect->members, rm_clock_monotonic_ns());
        return has_news || has_ended ? find_group_members(tree, collect) : RESMON_OK;
    }
    if (has_news) {
        find_children(tree, collect);
    }
    return RESMON_OK;
}

/* How the processes of a job without a cgroup are found; NULL: something else is observed. */
static const char *remark_of_job(const struct rm_collect *collect, char *text, size_t room)
{
    const struct rm_members *members = &collect->members;
    if (collect->group.entries == NULL) {
        return NULL;
    }
    if (members->by_entry != NULL) {
        (void)snprintf(text, room,
                       "the job has no cgroup here: its processes are those with %.80s in their "
                       "environment, and what they start",
                       members->by_entry);
    } else {
        (void)snprintf(text, room, "the job has no cgroup and no process here%s",
                       members->hidden > 0
                           ? ", as far as this user may see: run it as the job's user or as root"
                           : "");
    }
    return text;
}

/* Sets a remark about what the values lack, the first that applies. */
static void remark(const struct rm_process_tree *tree, struct rm_collect *collect)
{
    char text[sizeof tree->why_missed + 32];
    (void)snprintf(text, sizeof text, "processes are missing: %s", tree->why_missed);
    char of_job[200];
    const char *why = tree->is_full
                          ? "the tree had more than 8192 processes: the others are not counted"
                      : tree->has_missed ? text
                      : tree->has_hidden ? "processes of other users are hidden (/proc has "
                                           "hidepid): they count after their parent waited for them"
                      : tree->has_lost   ? "the kernel dropped fork events: processes whose parent "
                                           "ended between two samples may be missing"
                                         : remark_of_job(collect, of_job, sizeof of_job);
    if (why != NULL) {
        rm_collect_remark(collect, why);
        collect->provenance = RESMON_PROVENANCE_SAMPLED;
    }
}

resmon_status rm_tree_update(struct rm_process_tree *tree, struct rm_collect *collect)
{
    size_t ended = 0;
    forget_lost_files(tree, collect);
    look_at_orphans(tree);
    (void)rm_tree_take_forks(tree);
    for (size_t i = 0; i < tree->count; i++) {
        resmon_status status = update_member(tree, collect, &tree->members[i]);
        if (status != RESMON_OK) {
            return status; /* nothing is settled: the next reading finds all of it */
        }
        ended += tree->members[i].is_alive ? 0 : 1;
    }
    if (!collect->is_group && !tree->members[0].is_alive) {
        return rm_error(RESMON_ESRCH, "process %lld has ended", (long long)collect->pid);
    }
    if (ended > 0) {
        for (size_t i = 0; i < tree->count; i++) {
            if (!tree->members[i].is_alive) {
                note_ended(tree, &tree->members[i]);
            }
        }
        for (size_t i = 0; i < tree->count; i++) {
            settle(tree, collect, &tree->members[i]);
        }
        settle(tree, collect, &tree->orphans);
        remove_ended(tree);
    }
    for (size_t i = 0; i < tree->count; i++) {
        forget_growth(&tree->members[i]);
    }
    forget_growth(&tree->orphans);
    resmon_status status = find_new(tree, collect, ended > 0);
    remark(tree, collect);
    return status;
}

uint64_t rm_tree_child_above(const struct rm_process_tree *tree,
                             const struct rm_tree_member *member)
{
    for (size_t steps = 0; member != NULL && steps < tree->count; steps++) {
        if (member->ppid == tree->members[0].pid) {
            return member->pid;
        }
        member = find_member(tree, member->ppid);
    }
    return 0;
}

/* Upper bound: the kernel keeps a page for each open file. */
#define MOST_FILES 8192

/* Upper bound of descriptors: a thread with a descriptor table of its own leaves some to other
 * collectors, others leave most of them to the program. */
static size_t share_of_descriptors(void)
{
    static const rlim_t others = 128;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    rlim_t rest = limit.rlim_cur > others ? limit.rlim_cur - others : 0;
    rlim_t share = rm_kept_is_isolated() ? rest : limit.rlim_cur / 4;
    return (size_t)(share < MOST_FILES ? share : MOST_FILES);
}

static resmon_status find_members(struct rm_process_tree *tree, struct rm_collect *collect)
{
    if (collect->is_group) {
        (void)has_forked(tree, collect);
        return find_group_members(tree, collect);
    }
    add_member(tree, collect, (uint64_t)collect->proc_pid);
    if (tree->count == 0) {
        return tree->has_missed ? rm_error(tree->missed, "%s", tree->why_missed)
                                : rm_error(RESMON_ESRCH, "process %lld %s", (long long)collect->pid,
                                           tree->has_hidden ? "is hidden from this user (hidepid)"
                                                            : "does not exist");
    }
    struct search search = {.tree = tree, .collect = collect, .pid = (uint64_t)collect->proc_pid};
    add_listed_children(&search, search.pid);
    tree->has_children_files = search.is_supported;
    if (!collect->is_self && collect->root.is_live && collect->view.own != 0 &&
        tree->members[0].ppid == (uint64_t)collect->view.own) {
        rm_reaper_open(&tree->reaper, &collect->root, &collect->scratch, tree->members[0].ppid,
                       tree->members[0].pid);
        tree->orphans = (struct rm_tree_member){
            .pid = tree->reaper.pid, .is_alive = true, .threads = 2.0}; /* at least */
    }
    if (collect->root.is_live && tree->reaper.pid == 0 && collect->view.kind == RM_PID_VIEW_SAME) {
        (void)rm_fork_events_open(&tree->births.events, &collect->root,
                                  &collect->scratch); /* before the first search */
    }
    (void)has_forked(tree, collect);
    find_children(tree, collect);
    return RESMON_OK;
}

resmon_status rm_tree_open(struct rm_process_tree *tree, struct rm_collect *collect,
                           bool wants_details)
{
    *tree = (struct rm_process_tree){.open_bound = wants_details ? share_of_descriptors() : 0};
    tree->generation = collect->root.generation;
    (void)rm_file_open(&tree->loadavg, &collect->root, "proc/loadavg");
    if (!make_room(tree)) {
        return rm_error(RESMON_ENOMEM, "out of memory for a process tree");
    }
    resmon_status status = find_members(tree, collect);
    tree->reads_details = wants_details; /* from the first reading on */
    return status;
}

void rm_tree_close(struct rm_process_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        close_member(tree, &tree->members[i]);
    }
    rm_file_close(&tree->loadavg);
    rm_births_close(&tree->births);
    rm_reaper_close(&tree->reaper);
    rm_free(tree->members);
    rm_map_free(&tree->by_pid);
    *tree = (struct rm_process_tree){0};
}
