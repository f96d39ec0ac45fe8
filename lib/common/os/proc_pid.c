/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */

#include "os/proc_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/text.h"

/* ---- numbers of processes --------------------------------------------------------------- */

/* The namespaces nest 32 deep at most (MAX_PID_NS_LEVEL). */
#define MOST_LEVELS 33U

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
 * its own.  How many there are; 0: the kernel does not tell. */
static unsigned read_levels(const struct rm_root *root, struct rm_scratch *scratch,
                            const char *proc_dir, int64_t levels[MOST_LEVELS])
{
    char path[64];
    struct rm_text text, rest, word;
    unsigned count = 0;
    int64_t number;
    (void)snprintf(path, sizeof path, "%s/status", proc_dir);
    if (rm_file_read_once(root, path, scratch, &text) != RESMON_OK ||
        !find_line(text, "NSpid:", &rest)) {
        return 0;
    }
    while (count < MOST_LEVELS && rm_parse_word(&rest, &word) && rm_parse_i64(&word, &number)) {
        levels[count++] = number;
    }
    return count;
}

/* What proc/self leads to; 0: nowhere, which the kernel says to processes that are not there; -1:
 * that cannot be told. */
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
        view.kind = RM_PID_VIEW_OUTER; /* although the two numbers may happen to be equal */
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

/* The information on a descriptor of a process is written for the reader's /proc: "Pid:\t4711";
 * 0: it has no number there, -1: it has ended. */
static int64_t number_of_descriptor(const struct rm_root *root, struct rm_scratch *scratch, int fd)
{
    char path[64];
    struct rm_text text, rest, word;
    int64_t number;
    /* By the thread: the sampling thread's descriptors are in a table of their own. */
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

/* Position behind the name, counted from 1 with the state's follower; proc(5)'s number less 3. */
static const struct {
    uint8_t position;
    bool is_required;
    size_t offset;
} fields[] = {
#define FIELD(position, is_required, name)                            \
    {                                                                 \
        (position), (is_required), offsetof(struct rm_pid_stat, name) \
    }
    FIELD(1, true, ppid),         FIELD(6, true, flags),         FIELD(7, true, minflt),
    FIELD(9, true, majflt),       FIELD(11, true, utime),        FIELD(12, true, stime),
    FIELD(13, true, cutime),      FIELD(14, true, cstime),       FIELD(17, true, threads),
    FIELD(19, true, starttime),   FIELD(20, true, vsize),        FIELD(21, true, rss),
    FIELD(25, false, startstack), FIELD(39, false, blkio_delay), FIELD(49, false, exit_code),
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
