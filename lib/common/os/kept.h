/* SPDX-License-Identifier: MIT */
/*
 * Owns descriptors that stay open between calls.  Programs may close descriptors that they do not
 * know (daemons close every descriptor from 3 on).  The same numbers can then be given to files of
 * the program.  So a kept descriptor is verified before each close, write, read or command: by a
 * tag on the open file, by device and inode, or by both. lib/README.md lists the users of each kept
 * descriptor.
 */
#ifndef RM_OS_KEPT_H
#define RM_OS_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"

/* The signal number (F_SETSIG) of an open file for asynchronous I/O, which our files never use.
 * Duplicates share this property, and no other code sets this number.  Every kind of file has the
 * property, also sockets and perf events.  Reading it is faster than fstat(). */
#define RM_KEPT_TAG 63

/* Zeroed: closed. */
struct rm_kept {
    bool is_open;
    bool is_quick;     /* the tag alone is checked */
    int tag;           /* 0: no tag */
    const void *table; /* NULL: the table of the program; else the private table of one thread,
                          which no other code can change */
    int fd;
    dev_t device;
    ino_t inode;
};

/**
 * Gives the calling thread a private descriptor table, with only stand-ins for stdin, stdout and
 * stderr in it.  Does nothing where the kernel lacks support (before 5.9) or a filter of system
 * calls forbids it.  Does nothing under a sanitizer, whose reports would be lost.
 */
RM_SHARED void rm_kept_isolate_thread(void);

/** Whether the calling thread has a private descriptor table. */
bool rm_kept_is_isolated(void);

/** openat(2) with close-on-exec, for a descriptor that is not kept; -1 with errno. */
int rm_open_at(int directory, const char *path, int flags, mode_t mode);

/** Opens `path` with close-on-exec, under a number that programs rarely use, and tags the file;
 * false with errno.  A new file (O_TMPFILE) has mode 0600. */
RM_SHARED bool rm_kept_open(struct rm_kept *kept, const char *path, int flags);

/** Takes over a descriptor that was opened just now, and tags its file, because the program may
 * open the same path.  If the number is 0, 1 or 2, because the program was started without that
 * file, the descriptor gets another number. */
RM_SHARED void rm_kept_take(struct rm_kept *kept, int fd);

/** Records a descriptor of the program without a tag, because the open file is shared with other
 * descriptors. */
void rm_kept_note(struct rm_kept *kept, int fd);

/** For a descriptor that is closed soon: rm_kept_mark() tags the file, and rm_kept_drop() closes
 * the descriptor unless the number is another file's by now. */
void rm_kept_mark(int fd);
void rm_kept_drop(int fd);

/** Moves a descriptor to a number that programs rarely use; returns it unchanged if no such number
 * is free. */
RM_SHARED int rm_kept_raise(int fd);

/** Around calls of foreign code that opens files for us.  Stand-ins occupy the numbers 0 to 2 that
 * the program was started without, so that the new files do not get them.  Reading and writing
 * there still fails, as before.  Waits for files of our other threads that have such a number for
 * a moment. */
void rm_kept_hold_standard(void);
void rm_kept_release_standard(void);

/** Tags a bare descriptor with RM_KEPT_TAG, or checks for the tag.  For objects that are known by
 * number alone, such as perf events. */
void rm_kept_tag(int fd);
bool rm_kept_is_tagged(int fd);

/** Whether it is open and still the same file: one or two fast system calls.  False in a thread
 * with another descriptor table than that of the opening thread. */
RM_SHARED bool rm_kept_is_ours(const struct rm_kept *kept);

/** Whether its number is valid in the calling thread's descriptor table.  A descriptor that threads
 * of several tables use is not reopened in another table.  Each thread would then replace the
 * descriptor of the others, and the old descriptors would never be closed. */
bool rm_kept_is_of_this_table(const struct rm_kept *kept);

/** Opens a descriptor that serves as a sentinel: if it is closed, the program has closed unknown
 * descriptors.  For a foreign library with descriptors of its own that cannot be checked. */
bool rm_kept_open_sentinel(struct rm_kept *kept);

/** The descriptor; -1 when closed. */
static inline int rm_kept_fd(const struct rm_kept *kept)
{
    return kept->is_open ? kept->fd : -1;
}

/** Opens it again where the program has closed it; false when it is not open. */
bool rm_kept_revive(struct rm_kept *kept, const char *path, int flags);

/** Closes it, unless the number is another file's by now. */
RM_SHARED void rm_kept_close(struct rm_kept *kept);

#endif
