/* SPDX-License-Identifier: MIT */
#include "os/process_files.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"

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
