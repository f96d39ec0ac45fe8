/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "os/process_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/kept.h"
#include "os/pid_stat.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* PIDFD_GET_INFO of <linux/pidfd.h>, which older headers lack: as it was in Linux 6.15. */
struct info {
    uint64_t mask, cgroup;
    uint32_t pid, group, parent, ids[8];
    int32_t exit_code;
};
#define GET_INFO  _IOWR(0xff, 11, struct info)
#define WITH_EXIT (UINT64_C(1) << 3)

int rm_process_end_watch(uint32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, (long)pid, 0UL);
    if (fd >= 0) {
        fd = rm_kept_raise(fd);
        rm_kept_mark(fd);
    }
    return fd;
}

void rm_process_end_forget(int fd)
{
    if (fd >= 0) {
        rm_kept_drop(fd);
    }
}

static bool learn_of_zombie(uint32_t pid, uint32_t *ret_status)
{
    char text[1024];
    struct rm_pid_stat stat;
    (void)snprintf(text, sizeof text, "/proc/%u/stat", pid);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (length <= 0 || !rm_pid_stat_parse(rm_text_of(text, (size_t)length), &stat) ||
        stat.state != 'Z') {
        return false;
    }
    *ret_status = (uint32_t)stat.exit_code;
    return true;
}

bool rm_process_end_learn(int fd, uint32_t pid, uint32_t *ret_status)
{
    struct info info = {.mask = WITH_EXIT};
    if (fd >= 0 && ioctl(fd, GET_INFO, &info) == 0 && (info.mask & WITH_EXIT) != 0) {
        *ret_status = (uint32_t)info.exit_code;
        return true;
    }
    return learn_of_zombie(pid, ret_status);
}
