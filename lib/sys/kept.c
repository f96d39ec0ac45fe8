/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH, syscall */
#include "sys/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fault.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_ISOLATE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_ISOLATE 0
#endif
#endif
#if !defined(SYS_close_range)
#undef CAN_ISOLATE
#define CAN_ISOLATE 0
#elif !defined(CAN_ISOLATE)
#define CAN_ISOLATE 1
#endif

void rm_kept_isolate_thread(void)
{
#if CAN_ISOLATE
    const unsigned unshare = 1U << 1; /* CLOSE_RANGE_UNSHARE */
    if (syscall(SYS_close_range, 0U, UINT_MAX, unshare) != 0) {
        return;
    }
    for (int standard = 0; standard < 3; standard++) {
        (void)open("/", O_PATH | O_CLOEXEC); /* what is written to it by mistake fails */
    }
#endif
}

/* Above what programs take for granted (after close(0), open() gives 0), and below the 64 that a
 * table of descriptors has room for at first: growing it is slow where threads share it. */
#define LOWEST 40

/* The signal that the file would send if it were asynchronous, which none of ours is.  A property
 * of the open file that nobody else's has, and quicker to ask for than fstat(). */
#define TAG 63

bool rm_kept_open(struct rm_kept *kept, const char *path, int flags)
{
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : open(path, flags | O_CLOEXEC);
    *kept = (struct rm_kept){0};
    if (fd < 0) {
        return false;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
    if (high >= 0) {
        (void)close(fd);
        fd = high;
    }
    rm_kept_take(kept, fd);
    rm_kept_tag(kept);
    kept->is_quick = kept->is_tagged;
    return true;
}

void rm_kept_tag(struct rm_kept *kept)
{
    kept->is_tagged = fcntl(kept->fd, F_SETSIG, TAG) == 0 && fcntl(kept->fd, F_GETSIG) == TAG;
}

void rm_kept_take(struct rm_kept *kept, int fd)
{
    struct stat info = {0};
    (void)fstat(fd, &info); /* cannot fail for an open file */
    *kept =
        (struct rm_kept){.is_open = true, .fd = fd, .device = info.st_dev, .inode = info.st_ino};
}

/* A failure but EBADF (a filter of system calls) says nothing about the file. */
bool rm_kept_is_ours(const struct rm_kept *kept)
{
    struct stat info;
    if (!kept->is_open) {
        return false;
    }
    if (kept->is_tagged) {
        int tag = fcntl(kept->fd, F_GETSIG);
        bool is_tagged = tag == TAG || (tag < 0 && errno != EBADF);
        if (!is_tagged || kept->is_quick) {
            return is_tagged;
        }
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
