/* SPDX-License-Identifier: MIT */
/*
 * Owns descriptors that stay open between calls.  Programs close descriptors that they do not know
 * (daemons: every one from 3 on), and then give the same numbers to files of their own.  So a kept
 * descriptor is recognised before it is closed or written to - by a tag on the open file, or by
 * device and inode - and whoever reads through it can tell that it is lost.
 */
#ifndef RM_SYS_KEPT_H
#define RM_SYS_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

/* Zeroed: closed. */
struct rm_kept {
    bool is_open;
    bool is_tagged;
    bool is_quick; /* the tag is enough */
    int fd;
    dev_t device;
    ino_t inode;
};

/**
 * Gives the calling thread a table of descriptors of its own, with nothing in it but stand-ins for
 * the standard three.  Does nothing where the kernel cannot (before 5.9, or a filter of system
 * calls), nor under a sanitizer, whose reports would be lost.
 */
void rm_kept_isolate_thread(void);

/** Opens `path` close-on-exec, under a number that programs hardly use, and tags it; false with
 * errno. */
bool rm_kept_open(struct rm_kept *kept, const char *path, int flags);

/** Takes over a descriptor that was opened just now. */
void rm_kept_take(struct rm_kept *kept, int fd);

/** Tags it as well: the program may open the very same file. */
void rm_kept_tag(struct rm_kept *kept);

/** Whether it is open, and still the file that was opened: one quick system call. */
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
