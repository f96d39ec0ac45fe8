/* SPDX-License-Identifier: MIT */
/*
 * Owns descriptors that stay open between calls.  Programs close descriptors that they do not know
 * (daemons: every one from 3 on), and then give the same numbers to files of their own.  So a kept
 * descriptor is recognised by device and inode before it is closed or written to, and whoever reads
 * through it can tell that it is lost.
 */
#ifndef RM_SYS_KEPT_H
#define RM_SYS_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

/* Zeroed: closed. */
struct rm_kept {
    bool is_open;
    int fd;
    dev_t device;
    ino_t inode;
};

/** Opens `path` below the directory `at` (or AT_FDCWD), close-on-exec; false with errno. */
bool rm_kept_open(struct rm_kept *kept, int at, const char *path, int flags);

/** Takes over a descriptor that was opened just now. */
void rm_kept_take(struct rm_kept *kept, int fd);

/** Whether it is open, and still the file that was opened: one fstat. */
bool rm_kept_is_ours(const struct rm_kept *kept);

/** The descriptor; -1 when closed. */
static inline int rm_kept_fd(const struct rm_kept *kept)
{
    return kept->is_open ? kept->fd : -1;
}

/** Opens it again where the program has closed it; false when it is not open. */
bool rm_kept_revive(struct rm_kept *kept, const char *path, int flags);

/** Closes it, unless the number is another file's by now. */
void rm_kept_close(struct rm_kept *kept);

#endif
