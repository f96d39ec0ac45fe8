/* SPDX-License-Identifier: MIT */
#include "sys/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

bool rm_kept_open(struct rm_kept *kept, int at, const char *path, int flags)
{
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : openat(at, path, flags | O_CLOEXEC);
    *kept = (struct rm_kept){0};
    if (fd >= 0) {
        rm_kept_take(kept, fd);
    }
    return fd >= 0;
}

void rm_kept_take(struct rm_kept *kept, int fd)
{
    struct stat info = {0};
    (void)fstat(fd, &info); /* cannot fail for an open file */
    *kept =
        (struct rm_kept){.is_open = true, .fd = fd, .device = info.st_dev, .inode = info.st_ino};
}

bool rm_kept_is_ours(const struct rm_kept *kept)
{
    struct stat info;
    if (!kept->is_open) {
        return false;
    }
    /* Another failure (a filter of system calls) says nothing about the file. */
    return fstat(kept->fd, &info) == 0 ? info.st_dev == kept->device && info.st_ino == kept->inode
                                       : errno != EBADF;
}

bool rm_kept_revive(struct rm_kept *kept, const char *path, int flags)
{
    return kept->is_open && (rm_kept_is_ours(kept) || rm_kept_open(kept, AT_FDCWD, path, flags));
}

void rm_kept_close(struct rm_kept *kept)
{
    if (rm_kept_is_ours(kept)) {
        (void)close(kept->fd);
    }
    *kept = (struct rm_kept){0};
}
