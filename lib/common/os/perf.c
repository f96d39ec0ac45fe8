/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "os/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/kept.h"
#include "os/own_io.h"

#ifdef RM_FAULT_INJECTION
int (*rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid);
#else
static int (*const rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid) = NULL;
#endif

static int ask_kernel(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader)
{
    attributes->size = sizeof *attributes;
    if (rm_perf_made_open != NULL) {
        return rm_perf_made_open(attributes, tid);
    }
    return (int)syscall(SYS_perf_event_open, attributes, (pid_t)tid, cpu, leader,
                        PERF_FLAG_FD_CLOEXEC);
}

int rm_perf_open_event(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader)
{
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    int fd = ask_kernel(attributes, tid, cpu, leader);
    if (fd >= 0) {
        fd = rm_kept_raise(fd);
        rm_kept_tag(fd);
    }
    return fd;
}

int rm_perf_open(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attributes = {.type = type, .config = config};
    return rm_perf_open_event(&attributes, -1, cpu, -1);
}

int rm_perf_open_least(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return rm_perf_open_event(&attributes, 0, -1, -1);
}

int rm_perf_open_none(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = ENOENT;
    return -1;
}

static rlim_t most_files(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
}

int rm_perf_open_task(const struct rm_perf_request *request)
{
    struct perf_event_attr attributes = {
        .type = request->type,
        .config = request->config,
        .config1 = request->config1,
        .config2 = request->config2,
        .disabled = request->waits ? 1 : 0,
        .inherit = request->inherits ? 1 : 0,
        .exclude_user = request->skips_user ? 1 : 0,
        .exclude_kernel = request->skips_kernel ? 1 : 0,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                       (request->reads_as_group ? PERF_FORMAT_GROUP : 0),
    };
    int fd = rm_perf_open_event(&attributes, request->tid, -1, request->leader);
    if (fd >= 0 && (rlim_t)fd >= most_files()) {
        (void)close(fd);
        errno = EMFILE;
        return -1;
    }
    return fd;
}

bool rm_perf_start(int leader)
{
    return rm_perf_made_open != NULL ||
           ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0;
}

bool rm_perf_is_ours(int fd)
{
    return rm_kept_is_tagged(fd);
}

uint64_t rm_perf_id(int fd)
{
    uint64_t id = 0;
    return rm_perf_is_ours(fd) && ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

bool rm_perf_is_event(int fd, uint64_t id)
{
    uint64_t now = rm_perf_id(fd);
    return now != 0 ? now == id : rm_perf_is_ours(fd);
}

void rm_perf_close(int fd)
{
    if (rm_perf_is_ours(fd)) {
        (void)close(fd);
    }
}

int rm_perf_open_task_none(const struct rm_perf_request *request)
{
    (void)request;
    errno = ENOENT;
    return -1;
}

bool rm_perf_read(int fd, struct rm_perf_count *ret_count)
{
    ssize_t got = rm_perf_is_ours(fd) ? read(fd, ret_count, sizeof *ret_count) : -1;
    rm_own_io_note_read(got);
    return got == (ssize_t)sizeof *ret_count;
}

bool rm_perf_read_group(int fd, size_t count, struct rm_perf_group *ret_group)
{
    size_t bytes = offsetof(struct rm_perf_group, values) + count * sizeof ret_group->values[0];
    return count <= RM_PERF_GROUP && syscall(SYS_read, fd, ret_group, bytes) == (long)bytes &&
           ret_group->count == count;
}

bool rm_perf_sees_kernel(void)
{
    const struct rm_perf_request request = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .leader = -1};
    int fd = rm_perf_open_task(&request);
    if (fd >= 0) {
        rm_perf_close(fd);
    }
    return fd >= 0;
}

/* ": perf_event_paranoid is 2"; "" where it cannot be read. */
static void describe_paranoia(char text[64])
{
    char number[16];
    int64_t level;
    int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, number, sizeof number) : -1;
    struct rm_text rest = rm_text_of(number, length > 0 ? (size_t)length : 0);
    bool is_known = rm_parse_i64(&rest, &level);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[0] = '\0';
    if (is_known) {
        (void)snprintf(text, 64, ": perf_event_paranoid is %d", (int)level);
    }
}

/* "monotonic  1000000  0": seconds and nanoseconds.  The file is of the namespace of children: of
 * ours, unless this process has made one for them. */
static int64_t read_clock_offset(void)
{
    char bytes[256];
    struct stat own, of_children;
    int64_t seconds = 0, nanoseconds = 0;
    struct rm_text text, line, word;
    if (stat("/proc/self/ns/time", &own) != 0 ||
        stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
        own.st_ino != of_children.st_ino) {
        return 0;
    }
    int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, bytes, sizeof bytes) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    text = rm_text_of(bytes, length > 0 ? (size_t)length : 0);
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "monotonic") && rm_parse_word(&line, &word) &&
            rm_parse_i64(&word, &seconds) && rm_parse_word(&line, &word)) {
            (void)rm_parse_i64(&word, &nanoseconds);
            break;
        }
    }
    return seconds * RM_NS_PER_S + nanoseconds;
}

/* A namespace of time is entered once, before there is a second thread. */
static int64_t clock_offset(void)
{
    enum { UNKNOWN, KNOWN };
    static uint32_t state; /* atomic, release: after the offset */
    static int64_t latest; /* atomic */
    if (RM_LOAD_ACQUIRE(&state) == UNKNOWN) {
        RM_STORE(&latest, read_clock_offset());
        RM_STORE_RELEASE(&state, KNOWN);
    }
    return RM_LOAD(&latest);
}

int64_t rm_perf_time_ns(uint64_t time)
{
    return time < INT64_MAX / 2 ? (int64_t)time + clock_offset() : 0;
}

static resmon_status refuse_permission(resmon_status status, const char *name)
{
    char paranoia[64];
    describe_paranoia(paranoia);
    return rm_error(status,
                    "%s may not be counted by this user%s, or a filter of system calls "
                    "forbids it, as in containers",
                    name, paranoia);
}

resmon_status rm_perf_refuse(int error, const char *name, bool has_pmu)
{
    resmon_status status = rm_status_from_errno(error);
    switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        return has_pmu ? rm_error(RESMON_ENOENT, "this processor does not count %s", name)
                       : rm_error(RESMON_ENOENT, "this machine has no hardware counters (ENOENT): "
                                                 "a virtual machine without a PMU, for example");
    case EACCES:
    case EPERM:
        return refuse_permission(status, name);
    case ENOSYS:
        return rm_error(RESMON_ENOTSUP, "this kernel has no performance counters");
    case EMFILE:
    case ENFILE:
        return rm_error(status, "%s: no more files can be opened", name);
    case ENOSPC:
    case EBUSY:
        return rm_error(status, "%s: the processor has no free counter for it", name);
    case EINVAL:
        return rm_error(RESMON_ENOTSUP, "%s cannot be counted for a process on this machine", name);
    default:
        return rm_error_errno(error, "%s cannot be counted", name);
    }
}
