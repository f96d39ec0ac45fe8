/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "setup/asked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"

#define LEAST_ROOM (128.0 * 1024 * 1024)

static bool is_own_directory(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

static bool has_room(const char *path)
{
    struct statvfs room;
    return statvfs(path, &room) == 0 && (double)room.f_bavail * (double)room.f_frsize >= LEAST_ROOM;
}

bool rm_asked_find(struct rm_asked *ret_asked)
{
    const char *run = secure_getenv("RESMON_RUN");
    size_t length = run != NULL ? strcspn(run, ",") : 0;
    if (length == 0 || length >= sizeof ret_asked->directory || run[0] != '/') {
        return false;
    }
    (void)rm_text_copy(ret_asked->directory, sizeof ret_asked->directory, run, length);
    ret_asked->options = run + length + (run[length] == ',' ? 1 : 0);
    return is_own_directory(ret_asked->directory) && has_room(ret_asked->directory);
}
