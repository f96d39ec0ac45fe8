/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_DIRECTORY, O_NOFOLLOW */
#include "gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "say.h"

#define PLACE        "/dev/shm"
#define PREFIX       "resmon-run-"
#define LEAST_MEMORY (256.0 * 1024 * 1024)

/* ---- directories -------------------------------------------------------------------------- */

/* /dev/shm is writable for all users: only a private directory of this user is opened. */
static int open_own(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_own =
        fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0;
    if (fd >= 0 && !is_own) {
        (void)close(fd);
    }
    return is_own ? fd : -1;
}

/* Uses the descriptor, as the name may refer to another directory by now.  Closes it. */
static void remove_all(int fd, const char *path)
{
    int copy = dup(fd);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL && copy >= 0) {
        (void)close(copy);
    }
    if (dir != NULL) {
        rewinddir(dir);
    }
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        (void)unlinkat(fd, entry->d_name, 0);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(path); /* nothing, if it is not empty */
    (void)close(fd);
}

/* Removes directories of killed `resmon run` processes: their lock is free. */
static void sweep(void)
{
    char path[sizeof PLACE + 256];
    DIR *dir = opendir(PLACE);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof path, PLACE "/%s", entry->d_name);
        int fd = open_own(path);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            remove_all(fd, path);
        } else if (fd >= 0) {
            (void)close(fd);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* Each process takes 2 MB until the end, which programs may need for themselves. */
static bool has_memory(void)
{
    struct statvfs info;
    return statvfs(PLACE, &info) == 0 &&
           (double)info.f_bavail * (double)info.f_frsize >= LEAST_MEMORY;
}

/* Another process may sweep the directory before it is locked; then the next one is made. */
static bool make_directory(struct cli_gather *gather)
{
    for (int tries = 0; tries < 3; tries++) {
        struct stat info;
        (void)snprintf(gather->directory, sizeof gather->directory, PLACE "/" PREFIX "XXXXXX");
        gather->fd = mkdtemp(gather->directory) != NULL ? open_own(gather->directory) : -1;
        if (gather->fd >= 0 && flock(gather->fd, LOCK_EX | LOCK_NB) == 0 &&
            fstat(gather->fd, &info) == 0 && info.st_nlink > 0) {
            return true;
        }
        if (gather->fd >= 0) {
            (void)close(gather->fd);
        }
    }
    gather->directory[0] = '\0';
    return false;
}

/* False: the options do not fit. */
static bool put_variable(struct cli_gather *gather, const char *options)
{
    const size_t bytes = sizeof gather->variable;
    int length = snprintf(gather->variable, bytes, "%s%s%s", gather->directory,
                          options != NULL ? "," : "", options != NULL ? options : "");
    bool does_fit = length >= 0 && (size_t)length < bytes;
    if (!does_fit) {
        (void)snprintf(gather->variable, bytes, "%s", gather->directory);
    }
    return does_fit;
}

void cli_gather_begin(struct cli_gather *gather, const char *options)
{
    *gather = (struct cli_gather){.fd = -1};
    sweep();
    if (!has_memory()) {
        if (options != NULL) {
            cli_say("run", "no scopes: " PLACE " has less than 256 MiB left");
        }
    } else if (!make_directory(gather)) {
        if (options != NULL) {
            cli_say("run", "no scopes: cannot create a directory in " PLACE ": %s",
                    strerror(errno));
        }
    } else if (!put_variable(gather, options)) {
        cli_say("run", "the options for scopes are longer than %u bytes: they are ignored",
                CLI_RUN_BYTES);
    }
}

/* ---- recordings --------------------------------------------------------------------------- */

static int is_recording(const struct dirent *entry)
{
    const char *name = entry->d_name, *ending = strstr(name, ".rec");
    return name[0] != '.' && ending != NULL && (ending[4] == '\0' || ending[4] == '.');
}

/* Sorted by name: by pid, then by monitor.  Free each entry, and the list. */
static size_t list(const struct cli_gather *gather, struct dirent ***ret_entries)
{
    *ret_entries = NULL;
    int count = gather->directory[0] != '\0'
                    ? scandir(gather->directory, ret_entries, is_recording, alphasort)
                    : 0;
    return count > 0 ? (size_t)count : 0;
}

static void free_list(struct dirent **entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
}

static void path_of(const struct cli_gather *gather, const struct dirent *entry,
                    char path[CLI_GATHER_PATH_BYTES])
{
    (void)snprintf(path, CLI_GATHER_PATH_BYTES, "%s/%s", gather->directory, entry->d_name);
}

static bool is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

/* The number of entries that were written after entry `at`. */
static size_t count_later(const struct timespec *written, size_t count, size_t at)
{
    size_t later = 0;
    for (size_t i = 0; i < count; i++) {
        later += is_later(&written[i], &written[at]) ? 1 : 0;
    }
    return later;
}

size_t cli_gather_newest(const struct cli_gather *gather, char (*paths)[CLI_GATHER_PATH_BYTES],
                         size_t most)
{
    struct dirent **entries;
    size_t kept = 0, count = list(gather, &entries);
    struct timespec *written = cli_grow(NULL, (count + 1) * sizeof *written);
    for (size_t i = 0; i < count; i++) {
        struct stat info;
        bool is_there = fstatat(gather->fd, entries[i]->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
        written[i] = is_there ? info.st_mtim : (struct timespec){0, 0};
    }
    for (size_t i = 0; i < count && kept < most; i++) {
        if (count_later(written, count, i) < most) {
            path_of(gather, entries[i], paths[kept++]);
        }
    }
    free(written);
    free_list(entries, count);
    return kept;
}

static void join_all(const struct cli_gather *gather, resmon_monitor *monitor)
{
    struct dirent **entries;
    size_t missing = 0, count = list(gather, &entries);
    for (size_t i = 0; i < count; i++) {
        char path[CLI_GATHER_PATH_BYTES];
        path_of(gather, entries[i], path);
        missing += resmon_monitor_join(monitor, path) != RESMON_OK ? 1 : 0;
    }
    free_list(entries, count);
    if (missing > 0) {
        cli_say("run", "the scopes of %zu processes are missing: %s", missing, resmon_last_error());
    }
}

/* ---- nested `resmon run` ------------------------------------------------------------------ */

/* The directory of the outer `resmon run`, which observes the same programs; -1: none. */
static int open_outer(void)
{
    char path[sizeof((struct cli_gather *)NULL)->directory];
    const char *variable = getenv("RESMON_RUN");
    size_t length = variable != NULL ? strcspn(variable, ",") : 0;
    if (length == 0 || length >= sizeof path) {
        return -1;
    }
    memcpy(path, variable, length);
    path[length] = '\0';
    return open_own(path);
}

/* Links the recordings into the outer directory.  The pid makes their names unique. */
static void hand_over(const struct cli_gather *gather)
{
    struct dirent **entries;
    int outer = open_outer();
    size_t count = outer >= 0 ? list(gather, &entries) : 0;
    for (size_t i = 0; i < count; i++) {
        char name[CLI_GATHER_PATH_BYTES];
        (void)snprintf(name, sizeof name, "%s.%ld", entries[i]->d_name, (long)getpid());
        (void)!linkat(gather->fd, entries[i]->d_name, outer, name, 0);
    }
    if (outer >= 0) {
        free_list(entries, count);
        (void)close(outer);
    }
}

void cli_gather_end(struct cli_gather *gather, resmon_monitor *monitor)
{
    if (gather->directory[0] == '\0') {
        return;
    }
    if (rmdir(gather->directory) == 0) { /* there are no recordings */
        (void)close(gather->fd);
        gather->directory[0] = '\0';
        return;
    }
    if (monitor != NULL) {
        join_all(gather, monitor);
    }
    hand_over(gather);
    remove_all(gather->fd, gather->directory);
    gather->directory[0] = '\0';
}
