/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_PATH, syscall */
#include "os/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/fork.h"
#include "base/sanitizer.h"

#define STANDARD_FILES 3

static RM_THREAD_LOCAL bool has_own_table;

void rm_kept_isolate_thread(void)
{
#if defined(SYS_close_range)
    const unsigned unshare = 1U << 1; /* CLOSE_RANGE_UNSHARE */
    /* A sanitizer's report would be lost, and it treats equal descriptor numbers in two tables as
     * one. */
    if (rm_sanitizer_is_here() || syscall(SYS_close_range, 0U, UINT_MAX, unshare) != 0) {
        return;
    }
    has_own_table = true;
    for (int standard = 0; standard < STANDARD_FILES; standard++) {
        (void)open("/", O_PATH | O_CLOEXEC); /* writes to it by mistake fail */
    }
#endif
}

/* Above the numbers that programs expect (after close(0), open() returns 0).  Below 64, the initial
 * capacity of a descriptor table: growing the table is slow when threads share it. */
#define LOWEST 40

/* Real-time signals that pthreads does not use.  Consecutive files get different tags, so that a
 * file is not mistaken for an earlier one with the same number. */
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

/* Any failure except EBADF (such as from a filter of system calls) is no information about the
 * file. */
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

int rm_open_at(int directory, const char *path, int flags, mode_t mode)
{
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return openat(directory, path, flags | O_CLOEXEC, mode);
}

bool rm_kept_open(struct rm_kept *kept, const char *path, int flags)
{
    int fd = rm_open_at(AT_FDCWD, path, flags, 0600);
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

/* Identifies the table by an address that no other living thread has. */
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

/* ---- stand-ins for the standard three ---------------------------------------------------- */

/* The first holder opens the stand-ins and the last one closes them.  Other holders must not
 * mistake a stand-in for a file of the program. */
static pthread_mutex_t standard_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned holders;
static struct rm_kept stand_ins[STANDARD_FILES];

static void close_stand_ins(void)
{
    for (int number = 0; number < STANDARD_FILES; number++) {
        rm_kept_close(&stand_ins[number]);
    }
}

static void forget_holders(void)
{
    standard_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    holders = 0;
    close_stand_ins();
}

static const struct rm_fork_part at_fork = {.in_child = forget_holders};

/* The wait until another thread of ours closes its file there, or moves it to a higher number.  A
 * tagged file is ours, so the wait is long.  A file that is only close-on-exec may be the
 * program's, so the wait is short. */
#define PAUSE_US          200
#define PAUSES_OF_OURS    5000
#define PAUSES_OF_ANYBODY 100

static int pauses_for(int number)
{
    int flags = fcntl(number, F_GETFD);
    if (stand_ins[number].is_open || (flags >= 0 && (flags & FD_CLOEXEC) == 0)) {
        return 0;
    }
    return fcntl(number, F_GETSIG) >= FIRST_TAG ? PAUSES_OF_OURS : PAUSES_OF_ANYBODY;
}

static int most_pauses(void)
{
    int most = 0;
    for (int number = 0; number < STANDARD_FILES; number++) {
        int pauses = pauses_for(number);
        most = pauses > most ? pauses : most;
    }
    return most;
}

/* Takes the free numbers one after the other: open() returns the lowest free number. */
static void take_free(void)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    for (; fd >= 0 && fd < STANDARD_FILES; fd = open("/", O_PATH | O_CLOEXEC)) {
        rm_kept_note(&stand_ins[fd], fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void open_stand_ins(void)
{
    for (int pauses = 0; pauses < most_pauses(); pauses++) {
        if (pauses > 0) {
            (void)usleep(PAUSE_US);
        }
        take_free();
    }
}

void rm_kept_hold_standard(void)
{
    if (has_own_table) {
        return; /* this thread always has stand-ins */
    }
    rm_fork_take_part(RM_FORK_STANDARD, &at_fork);
    (void)pthread_mutex_lock(&standard_lock);
    if (holders++ == 0) {
        open_stand_ins();
    }
    (void)pthread_mutex_unlock(&standard_lock);
}

void rm_kept_release_standard(void)
{
    if (has_own_table) {
        return;
    }
    (void)pthread_mutex_lock(&standard_lock);
    holders -= holders > 0 ? 1 : 0; /* after a fork by a holder, the child starts with 0 holders */
    if (holders == 0) {
        close_stand_ins();
    }
    (void)pthread_mutex_unlock(&standard_lock);
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
