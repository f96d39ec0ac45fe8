/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "os/process_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/kept.h"
#include "os/proc_pid.h"

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

#define IS_EXITING UINT64_C(4) /* PF_EXITING of <linux/sched.h>: before any event of its end */

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

static bool read_stat(uint32_t pid, struct rm_pid_stat *ret_stat)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "/proc/%u/stat", pid);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    return length > 0 && rm_pid_stat_parse(rm_text_of(text, (size_t)length), ret_stat);
}

static bool learn_of_zombie(uint32_t pid, uint32_t *ret_status)
{
    struct rm_pid_stat stat;
    if (!read_stat(pid, &stat) || stat.state != 'Z') {
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

/* Since boot, which a sleep of the machine makes earlier on the other clock, and never later. */
static int64_t start_of(const struct rm_pid_stat *stat)
{
    int64_t asleep_ns = rm_clock_of_time(CLOCK_BOOTTIME) - rm_clock_monotonic_ns();
    int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
    int64_t tick_ns = RM_NS_PER_S / (ticks_per_s > 0 ? ticks_per_s : 100);
    return (int64_t)stat->starttime * tick_ns - asleep_ns;
}

enum rm_process_life rm_process_life_of(uint32_t pid, int64_t before_ns)
{
    struct rm_pid_stat stat;
    if (!read_stat(pid, &stat) || start_of(&stat) > before_ns) {
        return RM_PROCESS_IS_OVER;
    }
    bool has_main = stat.state != 'Z' && stat.state != 'X' && (stat.flags & IS_EXITING) == 0;
    return has_main           ? RM_PROCESS_RUNS
           : stat.threads > 1 ? RM_PROCESS_WITHOUT_MAIN
                              : RM_PROCESS_IS_OVER;
}
