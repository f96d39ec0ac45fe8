/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH, syscall */
#include "os/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/sanitizer.h"

static RM_THREAD_LOCAL bool has_own_table;

void rm_kept_isolate_thread(void)
{
#if defined(SYS_close_range)
    const unsigned unshare = 1U << 1; /* CLOSE_RANGE_UNSHARE */
    /* A sanitizer's report would be lost, and it takes descriptors with the same number for one. */
    if (rm_sanitizer_is_here() || syscall(SYS_close_range, 0U, UINT_MAX, unshare) != 0) {
        return;
    }
    has_own_table = true;
    for (int standard = 0; standard < 3; standard++) {
        (void)open("/", O_PATH | O_CLOEXEC); /* what is written to it by mistake fails */
    }
#endif
}

/* Above what programs take for granted (after close(0), open() gives 0), and below the 64 that a
 * table of descriptors has room for at first: growing it is slow where threads share it. */
#define LOWEST 40

/* Real-time signals that pthreads leave alone.  Files opened after each other have different ones,
 * so that one is not taken for the other where it got its number. */
#define FIRST_TAG 34
#define MANY_TAGS (RM_KEPT_TAG - FIRST_TAG)

static int next_tag(void)
{
    static unsigned count;
    return FIRST_TAG + (int)(RM_FETCH_ADD(&count, 1) % MANY_TAGS);
}

static bool put_tag(int fd, int tag)
{
    return fcntl(fd, F_SETSIG, tag) == 0 && fcntl(fd, F_GETSIG) == tag;
}

/* A failure but EBADF (a filter of system calls) says nothing about the file. */
static bool has_tag(int fd, int tag)
{
    int found = fcntl(fd, F_GETSIG);
    return found == tag || (found < 0 && errno != EBADF);
}

bool rm_kept_is_isolated(void)
{
    return has_own_table;
}

void rm_kept_tag(int fd)
{
    (void)put_tag(fd, RM_KEPT_TAG);
}

bool rm_kept_is_tagged(int fd)
{
    return has_tag(fd, RM_KEPT_TAG);
}

void rm_kept_mark(int fd)
{
    if (!has_own_table) {
        rm_kept_tag(fd);
    }
}

void rm_kept_drop(int fd)
{
    if (has_own_table || rm_kept_is_tagged(fd)) {
        (void)close(fd);
    }
}

int rm_kept_raise(int fd)
{
    rm_kept_mark(fd);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
    if (high >= 0) {
        rm_kept_drop(fd);
    }
    return high >= 0 ? high : fd;
}

bool rm_kept_open(struct rm_kept *kept, const char *path, int flags)
{
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : open(path, flags | O_CLOEXEC, 0600);
    *kept = (struct rm_kept){0};
    if (fd < 0) {
        return false;
    }
    rm_kept_take(kept, rm_kept_raise(fd));
    kept->is_quick = kept->tag != 0;
    return true;
}

bool rm_kept_open_sentinel(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/", O_RDONLY | O_DIRECTORY);
}

/* No other thread has that address while this one lives. */
static const void *own_table(void)
{
    return has_own_table ? &has_own_table : NULL;
}

void rm_kept_note(struct rm_kept *kept, int fd)
{
    struct stat info = {0};
    (void)fstat(fd, &info); /* cannot fail for an open file */
    *kept =
        (struct rm_kept){.is_open = true, .fd = fd, .device = info.st_dev, .inode = info.st_ino};
}

void rm_kept_take(struct rm_kept *kept, int fd)
{
    int tag = next_tag();
    fd = fd <= STDERR_FILENO ? rm_kept_raise(fd) : fd;
    rm_kept_note(kept, fd);
    kept->table = own_table();
    kept->tag = !has_own_table && put_tag(fd, tag) ? tag : 0;
}

void rm_kept_hold_standard(struct rm_kept_standard *standard)
{
    *standard = (struct rm_kept_standard){.files = {{.is_open = false}}};
    for (int number = 0; number < 3; number++) {
        if (fcntl(number, F_GETFD) >= 0) {
            continue;
        }
        int fd = open("/", O_PATH | O_CLOEXEC);
        if (fd == number) {
            rm_kept_note(&standard->files[number], fd);
        } else if (fd >= 0) {
            (void)close(fd);
        }
    }
}

void rm_kept_release_standard(struct rm_kept_standard *standard)
{
    for (int number = 0; number < 3; number++) {
        rm_kept_close(&standard->files[number]);
    }
}

bool rm_kept_is_of_this_table(const struct rm_kept *kept)
{
    return kept->table == own_table();
}

bool rm_kept_is_ours(const struct rm_kept *kept)
{
    struct stat info;
    if (!kept->is_open || kept->table != NULL || has_own_table) {
        return kept->is_open && rm_kept_is_of_this_table(kept);
    }
    bool is_other = kept->tag != 0 && !has_tag(kept->fd, kept->tag);
    if (is_other || kept->is_quick) {
        return !is_other;
    }
    return fstat(kept->fd, &info) == 0 ? info.st_dev == kept->device && info.st_ino == kept->inode
                                       : errno != EBADF;
}

bool rm_kept_revive(struct rm_kept *kept, const char *path, int flags)
{
    return kept->is_open && (rm_kept_is_ours(kept) || rm_kept_open(kept, path, flags));
}

void rm_kept_close(struct rm_kept *kept)
{
    if (rm_kept_is_ours(kept)) {
        (void)close(kept->fd);
    }
    *kept = (struct rm_kept){0};
}
