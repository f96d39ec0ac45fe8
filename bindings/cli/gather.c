/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_DIRECTORY, O_NOFOLLOW */
#include "gather.h"

#include <dirent.h>
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

#define PLACE      "/dev/shm"
#define PREFIX     "resmon-run-"
#define LEAST_ROOM (256.0 * 1024 * 1024)

/* ---- directories -------------------------------------------------------------------------- */

/* Anybody may put anything there: what is no directory of this user alone is not touched. */
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

/* By its descriptor, not by its name, which may be another's by now.  Closes it. */
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

/* What a `resmon run` that was killed has left: nobody has its lock. */
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

/* Each process takes 2 MB until the end; programs need this memory for themselves. */
static bool has_room(void)
{
    struct statvfs info;
    return statvfs(PLACE, &info) == 0 &&
           (double)info.f_bavail * (double)info.f_frsize >= LEAST_ROOM;
}

/* Another one may sweep it before it is locked: then it is gone, and a next one is made. */
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

void cli_gather_begin(struct cli_gather *gather, const char *scopes)
{
    *gather = (struct cli_gather){.fd = -1};
    sweep();
    if (!has_room()) {
        if (scopes != NULL) {
            cli_say("run", "no scopes: " PLACE " has less than 256 MiB left");
        }
    } else if (make_directory(gather)) {
        (void)snprintf(gather->variable, sizeof gather->variable, "%s%s%s", gather->directory,
                       scopes != NULL ? ",scopes=" : "", scopes != NULL ? scopes : "");
    }
}

/* ---- what was recorded -------------------------------------------------------------------- */

static bool is_recording(const char *name)
{
    const char *ending = strstr(name, ".rec");
    return name[0] != '.' && ending != NULL && (ending[4] == '\0' || ending[4] == '.');
}

/* In the order of their names: of pids, and of monitors in one. */
static void join_all(const char *directory, resmon_monitor *monitor)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, alphasort);
    int missing = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        if (is_recording(entries[i]->d_name) && resmon_monitor_join(monitor, path) != RESMON_OK) {
            missing++;
        }
        free(entries[i]);
    }
    free(entries);
    if (missing > 0) {
        cli_say("run", "the scopes of %d processes are missing: %s", missing, resmon_last_error());
    }
}

void cli_gather_end(struct cli_gather *gather, resmon_monitor *monitor)
{
    if (gather->directory[0] == '\0') {
        return;
    }
    if (monitor != NULL) {
        join_all(gather->directory, monitor);
    }
    remove_all(gather->fd, gather->directory);
    gather->directory[0] = '\0';
}
