/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "os/pid_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
