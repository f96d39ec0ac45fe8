/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "base/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEVER_WAIT    1U /* GRND_NONBLOCK */
#define ONLY_IF_NEW   1U /* RENAME_NOREPLACE */
#define CLOSE_AT_EXEC 1U /* MFD_CLOEXEC */

/* Linux before 3.17. */
static bool read_device(void *bytes, size_t length)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool is_read = fd >= 0 && read(fd, bytes, length) == (ssize_t)length;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_read;
}

bool rm_random(void *bytes, size_t length)
{
    long got = syscall(SYS_getrandom, bytes, length, NEVER_WAIT);
    return got == (long)length || (got < 0 && errno == ENOSYS && read_device(bytes, length));
}

void rm_wipe(void *bytes, size_t length)
{
    memset(bytes, 0, length);
    __asm__ volatile("" : : "r"(bytes) : "memory"); /* the compiler may not leave it out */
}

ssize_t rm_directory_read(int fd, void *bytes, size_t capacity)
{
    return syscall(SYS_getdents64, fd, bytes, capacity);
}

int rm_memory_file(const char *name)
{
    return (int)syscall(SYS_memfd_create, name, CLOSE_AT_EXEC);
}

int rm_ioctl(int fd, unsigned long request, void *argument)
{
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

int rm_rename_new(const char *from, const char *to)
{
    struct stat info;
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, ONLY_IF_NEW);
    if (done == 0 || (errno != ENOSYS && errno != EINVAL)) {
        return done;
    }
    if (lstat(to, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}
