/* SPDX-License-Identifier: MIT */
/*
 * Owns descriptors that stay open between calls.  Programs close descriptors that they do not know
 * (daemons: every one from 3 on), and then give the same numbers to files of their own.  So a kept
 * descriptor is recognised before it is closed, written to or given a command, and before it is
 * read: by a tag on the open file, by device and inode, or both.  lib/README.md lists who keeps
 * which.
 */
#ifndef RM_OS_KEPT_H
#define RM_OS_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"

/* The signal that an open file would send if it were asynchronous, which none of ours is: a
 * property that it shares with its duplicates, and that nobody else's has.  Any kind of file has
 * it, sockets and perf events too, and it is quicker to ask for than fstat(). */
#define RM_KEPT_TAG 63

/* Zeroed: closed. */
struct rm_kept {
    bool is_open;
    bool is_quick;     /* the tag is enough */
    int tag;           /* 0: none */
    const void *table; /* NULL: the program's; else of one thread alone: nobody else can close it */
    int fd;
    dev_t device;
    ino_t inode;
};

/**
 * Gives the calling thread a table of descriptors of its own, with nothing in it but stand-ins for
 * the standard three.  Does nothing where the kernel cannot (before 5.9, or a filter of system
 * calls), nor under a sanitizer, whose reports would be lost.
 */
RM_SHARED void rm_kept_isolate_thread(void);

/** Whether the calling thread has such a table. */
bool rm_kept_is_isolated(void);

/** openat(2), close-on-exec, of a descriptor that is not kept; -1 with errno. */
int rm_open_at(int directory, const char *path, int flags, mode_t mode);

/** Opens `path` close-on-exec, under a number that programs hardly use, and tags it; false with
 * errno.  A file that this makes (O_TMPFILE) has mode 0600. */
RM_SHARED bool rm_kept_open(struct rm_kept *kept, const char *path, int flags);

/** Takes over a descriptor that was opened just now, and tags it: the program may open the very
 * same file.  Where the program was started without stdin, stdout or stderr, it gets another number
 * than theirs. */
RM_SHARED void rm_kept_take(struct rm_kept *kept, int fd);

/** Remembers a descriptor of the program, which shares its file with others: no tag. */
void rm_kept_note(struct rm_kept *kept, int fd);

/** For a descriptor that is opened now and closed soon: marks it, and closes it unless the number
 * is another file's by now. */
void rm_kept_mark(int fd);
void rm_kept_drop(int fd);

/** Gives a descriptor a number that programs hardly use; the same descriptor where there is none.
 */
RM_SHARED int rm_kept_raise(int fd);

/** For as long as somebody else's code opens files for us: they do not get the numbers of those of
 * the standard three that the program was started without, which stand-ins have meanwhile.  Reading
 * and writing there still fails, as it did.  Waits for files of our other threads that have such a
 * number for a moment. */
void rm_kept_hold_standard(void);
void rm_kept_release_standard(void);

/** Tags a bare descriptor with RM_KEPT_TAG, and asks for the tag: of the objects whose number alone
 * is known, perf events for one. */
void rm_kept_tag(int fd);
bool rm_kept_is_tagged(int fd);

/** Whether it is open, and still the file that was opened: one or two quick system calls.  False in
 * a thread whose table of descriptors is another than that in which it was opened. */
RM_SHARED bool rm_kept_is_ours(const struct rm_kept *kept);

/** Whether its number means anything to the calling thread.  One that threads of several tables use
 * is left alone where it does not: opened again, it would be lost to the others, who would do the
 * same, and nobody would close what they had. */
bool rm_kept_is_of_this_table(const struct rm_kept *kept);

/** Opens a descriptor for nothing but to be lost when the program closes those of a library that
 * keeps some of its own, which cannot be asked for. */
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
