/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include "os/proc_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- numbers of processes --------------------------------------------------------------- */

/* The namespaces nest 32 deep at most (MAX_PID_NS_LEVEL). */
#define MOST_LEVELS 33U

static bool read_file(const struct rm_root *root, struct rm_scratch *scratch, const char *proc_dir,
                      const char *name, struct rm_text *ret_text)
{
    char path[RM_FILE_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", proc_dir, name);
    return length > 0 && length < RM_FILE_PATH_BYTES &&
           rm_file_read_once(root, path, scratch, ret_text) == RESMON_OK;
}

static bool find_line(struct rm_text text, const char *key, struct rm_text *ret_rest)
{
    struct rm_text line;
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, key)) {
            *ret_rest = line;
            return true;
        }
    }
    return false;
}

/* "NSpid:\t4711\t12\t1": the numbers of a process or thread, from the namespace of /proc down to
 * its own.  Returns the number of levels; 0: not known. */
static unsigned read_levels(const struct rm_root *root, struct rm_scratch *scratch,
                            const char *proc_dir, int64_t levels[MOST_LEVELS])
{
    struct rm_text text, rest, word;
    unsigned count = 0;
    int64_t number;
    if (!read_file(root, scratch, proc_dir, "status", &text) || !find_line(text, "NSpid:", &rest)) {
        return 0;
    }
    while (count < MOST_LEVELS && rm_parse_word(&rest, &word) && rm_parse_i64(&word, &number)) {
        levels[count++] = number;
    }
    return count;
}

/* The target of proc/self. 0: empty, which means that this process is not in the namespace of
 * /proc; -1: unknown. */
static int64_t read_self(const struct rm_root *root)
{
    char target[32];
    struct stat info;
    int64_t number;
    int fd = rm_kept_fd(&root->kept);
    ssize_t length = readlinkat(fd, "proc/self", target, sizeof target);
    if (length < 0) {
        bool is_there = errno == ENOENT &&
                        fstatat(fd, "proc/self", &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(info.st_mode);
        return is_there ? 0 : -1;
    }
    struct rm_text text = rm_text_of(target, (size_t)length);
    return rm_parse_i64(&text, &number) && number > 0 ? number : -1;
}

struct rm_pid_view rm_pid_view_find(const struct rm_root *root, struct rm_scratch *scratch,
                                    int64_t pid)
{
    int64_t levels[MOST_LEVELS];
    int64_t own = read_self(root);
    struct rm_pid_view view = {.kind = RM_PID_VIEW_SAME, .own = own > 0 ? own : pid};
    if (own == 0) {
        return (struct rm_pid_view){.kind = RM_PID_VIEW_FOREIGN};
    }
    unsigned count = own > 0 ? read_levels(root, scratch, "proc/self", levels) : 0;
    if (count > 1 && levels[0] == own && levels[count - 1] == pid) {
        view.kind = RM_PID_VIEW_OUTER; /* even if the two numbers are equal by chance */
        view.depth = count - 1;
    } else if (view.own != pid) {
        view.kind = RM_PID_VIEW_OUTER;
    }
    return view;
}

int64_t rm_pid_view_here(const struct rm_pid_view *view, const struct rm_root *root,
                         struct rm_scratch *scratch, int64_t number)
{
    int64_t levels[MOST_LEVELS];
    char dir[32];
    if (view->kind == RM_PID_VIEW_SAME) {
        return number;
    }
    (void)snprintf(dir, sizeof dir, "proc/%lld", (long long)number);
    return view->depth > 0 && read_levels(root, scratch, dir, levels) > view->depth
               ? levels[view->depth]
               : 0;
}

/* The fdinfo of a pidfd has the pid as seen in the reader's /proc: "Pid:\t4711". 0: no number
 * there, -1: the process has ended. */
static int64_t number_of_descriptor(const struct rm_root *root, struct rm_scratch *scratch, int fd)
{
    char path[64];
    struct rm_text text, rest, word;
    int64_t number;
    /* Per thread: the sampling thread has a private descriptor table. */
    (void)snprintf(path, sizeof path, "proc/thread-self/fdinfo/%d", fd);
    return rm_file_read_once(root, path, scratch, &text) == RESMON_OK &&
                   find_line(text, "Pid:", &rest) && rm_parse_word(&rest, &word) &&
                   rm_parse_i64(&word, &number) && number > 0
               ? number
               : 0;
}

int64_t rm_pid_view_there(const struct rm_pid_view *view, const struct rm_root *root,
                          struct rm_scratch *scratch, int64_t pid)
{
    if (view->kind == RM_PID_VIEW_SAME) {
        return pid;
    }
#ifdef SYS_pidfd_open
    int fd = view->kind == RM_PID_VIEW_OUTER ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
    if (fd >= 0) {
        int64_t number = number_of_descriptor(root, scratch, fd);
        (void)close(fd);
        return number;
    }
#endif
    return 0;
}

/* ---- stat and statm --------------------------------------------------------------------- */

/* The position after the name: 1 is the field after the state, so it is the number in proc(5) minus
 * 3. */
static const struct {
    uint8_t position;
    bool is_required;
    size_t offset;
} fields[] = {
#define FIELD(position, is_required, name)                            \
    {                                                                 \
        (position), (is_required), offsetof(struct rm_pid_stat, name) \
    }
    FIELD(1, true, ppid),        FIELD(3, true, session),      FIELD(6, true, flags),
    FIELD(7, true, minflt),      FIELD(9, true, majflt),       FIELD(11, true, utime),
    FIELD(12, true, stime),      FIELD(13, true, cutime),      FIELD(14, true, cstime),
    FIELD(17, true, threads),    FIELD(19, true, starttime),   FIELD(20, true, vsize),
    FIELD(21, true, rss),        FIELD(25, false, startstack), FIELD(39, false, blkio_delay),
    FIELD(49, false, exit_code),
#undef FIELD
};

bool rm_pid_stat_parse(struct rm_text text, struct rm_pid_stat *ret_stat)
{
    /* The name may hold anything, a ')' too: the fields start after the last one. */
    const char *after = text.end;
    while (after > text.at && after[-1] != ')') {
        after--;
    }
    struct rm_text rest = {after, text.end};
    struct rm_text word;
    struct rm_pid_stat stat = {0};
    if (after == text.at || !rm_parse_word(&rest, &word)) {
        return false;
    }
    stat.state = *word.at;
    size_t next = 0;
    for (uint8_t position = 1; next < RM_ARRAY_LEN(fields); position++) {
        if (!rm_parse_word(&rest, &word)) {
            break;
        }
        if (position == fields[next].position) {
            uint64_t value;
            if (!rm_parse_u64(&word, &value)) {
                return false;
            }
            memcpy((char *)&stat + fields[next].offset, &value, sizeof value);
            next++;
        }
    }
    if (next < RM_ARRAY_LEN(fields) && fields[next].is_required) {
        return false;
    }
    *ret_stat = stat;
    return true;
}

bool rm_pid_statm_parse(struct rm_text text, struct rm_pid_statm *ret_statm)
{
    struct rm_pid_statm statm;
    uint64_t *const numbers[] = {&statm.size, &statm.resident, &statm.shared,
                                 &statm.text, &statm.lib,      &statm.data};
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        if (!rm_parse_u64(&text, numbers[i])) {
            return false;
        }
    }
    *ret_statm = statm;
    return true;
}

/* ---- lines of maps ---------------------------------------------------------------------- */

/* "55d0-55f0" */
static bool parse_pair(struct rm_text *line, const char *between, uint64_t *ret_first,
                       uint64_t *ret_second)
{
    return rm_parse_hex(line, ret_first) && rm_parse_literal(line, between) &&
           rm_parse_hex(line, ret_second);
}

/* "r-xp" */
static bool parse_rights(struct rm_text *line, struct rm_proc_map *map)
{
    struct rm_text rights;
    bool is_whole = rm_parse_word(line, &rights) && rm_text_left(&rights) == 4;
    map->is_code = is_whole && rights.at[2] == 'x';
    map->is_private = is_whole && rights.at[3] == 'p';
    return is_whole;
}

/* "55d0-55f0 r-xp 00000000 08:01 1234   /usr/bin/x" */
bool rm_proc_map_parse(struct rm_text line, struct rm_proc_map *ret_map)
{
    struct rm_text offset, device;
    uint64_t major, minor;
    if (!parse_pair(&line, "-", &ret_map->start, &ret_map->end) || ret_map->start >= ret_map->end ||
        !parse_rights(&line, ret_map) || !rm_parse_word(&line, &offset) ||
        !rm_parse_hex(&offset, &ret_map->offset) || !rm_parse_word(&line, &device) ||
        !parse_pair(&device, ":", &major, &minor) || !rm_parse_u64(&line, &ret_map->inode)) {
        return false;
    }
    ret_map->device = major << 32 | minor;
    while (rm_text_left(&line) > 0 && *line.at == ' ') {
        line.at++;
    }
    ret_map->path = line;
    return true;
}

/* ---- mappings of files ------------------------------------------------------------------ */

#define MOST_RANGES ((size_t)1 << 17)

static bool add_range(struct rm_file_mappings *mappings, const struct rm_mapped_range *range)
{
    struct rm_mapped_range *more =
        mappings->count < MOST_RANGES
            ? rm_grow(mappings->ranges, mappings->count, &mappings->room, sizeof *more)
            : NULL;
    if (more == NULL) {
        return false;
    }
    mappings->ranges = more;
    mappings->ranges[mappings->count++] = *range;
    return true;
}

void rm_file_mappings_read(struct rm_file_mappings *mappings, const char *path,
                           const struct rm_root *root, struct rm_scratch *scratch)
{
    struct rm_text text;
    struct rm_text line;
    struct rm_proc_map map;
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK) {
        return;
    }
    mappings->count = 0;
    bool has_room = true;
    while (has_room && rm_parse_line(&text, &line)) {
        if (rm_proc_map_parse(line, &map)) {
            const struct rm_mapped_range range = {map.start, map.end, map.inode != 0,
                                                  map.is_private};
            has_room = add_range(mappings, &range);
        }
    }
}

void rm_file_mappings_free(struct rm_file_mappings *mappings)
{
    rm_free(mappings->ranges);
    *mappings = (struct rm_file_mappings){.ranges = NULL};
}

const struct rm_mapped_range *rm_file_mappings_find(const struct rm_file_mappings *mappings,
                                                    uint64_t address)
{
    size_t low = 0;
    size_t high = mappings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mappings->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < mappings->ranges[low - 1].end ? &mappings->ranges[low - 1] : NULL;
}

/* ---- files as another process sees them ------------------------------------------------- */

static bool is_same(const struct rm_process_file *file, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_ino == file->inode &&
           makedev((unsigned)(file->device >> 32), (unsigned)file->device) == status.st_dev;
}

void rm_process_file_program(uint32_t pid, char *path, size_t room)
{
    (void)snprintf(path, room, "/proc/%u/exe", pid);
}

void rm_process_file_path(const struct rm_process_file *file, char *path, size_t room)
{
    struct stat status;
    if (is_same(file, file->path)) {
        (void)rm_text_set(path, room, file->path);
        return;
    }
    rm_process_file_program(file->pid, path, room);
    if (is_same(file, path)) {
        return;
    }
    (void)snprintf(path, room, "/proc/%u/root%s", file->pid, file->path);
    if (stat(path, &status) != 0) {
        (void)rm_text_set(path, room, file->path);
    }
}

bool rm_process_file_is_trusted(int fd, uint32_t pid)
{
    char path[64];
    struct stat file, process;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "/proc/%u", pid);
    return file.st_uid == geteuid() || file.st_uid == 0 ||
           (stat(path, &process) == 0 && file.st_uid == process.st_uid);
}

/* ---- threads of a process and its descendants -------------------------------------------- */

#define MOST_PROCESSES ((size_t)1 << 16)

struct walk {
    const struct rm_root *root;
    struct rm_scratch scratch;
    rm_task_visit_fn visit;
    void *context;
    uint32_t *pids; /* found processes; those before `at` were visited */
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
        return; /* no child, the process has ended, or the kernel lacks the file */
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

/* A thread that has ended, and each thread of a process that has ended, has 0 pages. */
static bool visit_living(void *context, const char *name)
{
    struct living *living = context;
    char path[96], bytes[32];
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t thread, pages = 0;
    if (!rm_parse_u64(&text, &thread)) {
        return true;
    }
    (void)snprintf(path, sizeof path, "%s/task/%s/statm", living->proc_dir, name);
    text = rm_file_read_short(living->root, path, bytes, sizeof bytes);
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

/* ---- ends of processes -------------------------------------------------------------------- */

/* PIDFD_GET_INFO of <linux/pidfd.h>, which older headers lack, as in Linux 6.15. */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, group, parent, ids[8];
    int32_t exit_code;
};
#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define WITH_EXIT (UINT64_C(1) << 3)

#define IS_EXITING UINT64_C(4) /* PF_EXITING of <linux/sched.h>; before any event of the end */

int rm_process_end_watch(uint32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, (long)pid, 0UL);
    if (fd >= 0) {
        fd = rm_kept_raise(fd);
        rm_kept_mark(fd);
    }
    return fd;
}

void rm_process_end_forget(int fd)
{
    if (fd >= 0) {
        rm_kept_drop(fd);
    }
}

static bool read_stat(uint32_t pid, struct rm_pid_stat *ret_stat)
{
    char path[32], bytes[1024];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    return rm_pid_stat_parse(rm_file_read_short(NULL, path, bytes, sizeof bytes), ret_stat);
}

static bool learn_of_zombie(uint32_t pid, uint32_t *ret_status)
{
    struct rm_pid_stat stat;
    if (!read_stat(pid, &stat) || stat.state != 'Z') {
        return false;
    }
    *ret_status = (uint32_t)stat.exit_code;
    return true;
}

bool rm_process_end_learn(int fd, uint32_t pid, uint32_t *ret_status)
{
    struct pidfd_info info = {.mask = WITH_EXIT};
    if (fd >= 0 && rm_ioctl(fd, GET_INFO, &info) == 0 && (info.mask & WITH_EXIT) != 0) {
        *ret_status = (uint32_t)info.exit_code;
        return true;
    }
    return learn_of_zombie(pid, ret_status);
}

/* The start on CLOCK_MONOTONIC.  The kernel counts from boot, including suspends.  So after a
 * suspend, the result is too early, and never too late. */
static int64_t start_of(const struct rm_pid_stat *stat)
{
    int64_t asleep_ns = rm_clock_of_time(CLOCK_BOOTTIME) - rm_clock_monotonic_ns();
    int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
    int64_t tick_ns = RM_NS_PER_S / (ticks_per_s > 0 ? ticks_per_s : 100);
    return (int64_t)stat->starttime * tick_ns - asleep_ns;
}

enum rm_process_life rm_process_life_of(uint32_t pid, int64_t before_ns)
{
    struct rm_pid_stat stat;
    if (!read_stat(pid, &stat) || start_of(&stat) > before_ns) {
        return RM_PROCESS_IS_OVER;
    }
    bool has_main = stat.state != 'Z' && stat.state != 'X' && (stat.flags & IS_EXITING) == 0;
    return has_main           ? RM_PROCESS_RUNS
           : stat.threads > 1 ? RM_PROCESS_WITHOUT_MAIN
                              : RM_PROCESS_IS_OVER;
}

/* ---- capabilities ------------------------------------------------------------------------- */

/* The third number of /proc/PID/uid_map in the first namespace, which maps each user to itself. */
#define ALL_USERS UINT64_C(4294967295)

/* A kernel without namespaces has no such file. */
static bool is_first_namespace(const struct rm_root *root, struct rm_scratch *scratch,
                               const char *proc_dir)
{
    struct rm_text text;
    uint64_t inside, outside, count;
    if (!read_file(root, scratch, proc_dir, "uid_map", &text)) {
        return true;
    }
    return rm_parse_u64(&text, &inside) && rm_parse_u64(&text, &outside) &&
           rm_parse_u64(&text, &count) && inside == 0 && outside == 0 && count == ALL_USERS;
}

bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch, const char *proc_dir,
                       enum rm_capability capability)
{
    struct rm_text text, mask_text;
    uint64_t mask;
    return is_first_namespace(root, scratch, proc_dir) &&
           read_file(root, scratch, proc_dir, "status", &text) &&
           find_line(text, "CapEff:\t", &mask_text) && /* "000001ffffffffff" */
           rm_parse_hex(&mask_text, &mask) && rm_text_left(&mask_text) == 0 &&
           (mask >> capability & 1) != 0;
}
