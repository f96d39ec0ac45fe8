/* SPDX-License-Identifier: MIT */
#include "sys/rss_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/parse.h"
#include "base/status.h"

/* These are about this process whatever fs_root a monitor reads, so they are the real files. */
#define CLEAR_REFS "/proc/self/clear_refs"
#define STATUS     "/proc/self/status"
#define STATM      "/proc/self/statm"

/* Both ways to read the mark may differ by what other threads touch in between. */
#define SLACK_BYTES ((uint64_t)1 << 20)

static uint64_t read_rusage(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

static uint64_t read_status(int fd)
{
    static const struct rm_key keys[] = {RM_KEY("VmHWM:", 0)};
    char bytes[4096];
    uint64_t kib = 0;
    ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    if (length <= 0) {
        return 0;
    }
    (void)rm_parse_keys(rm_text_of(bytes, (size_t)length), keys, 1, &kib);
    return kib * 1024;
}

static uint64_t read_statm(const struct rm_rss_mark *mark)
{
    char bytes[128];
    uint64_t size, resident;
    ssize_t length = pread(mark->statm_fd, bytes, sizeof bytes, 0);
    struct rm_text text = rm_text_of(bytes, length > 0 ? (size_t)length : 0);
    return rm_parse_u64(&text, &size) && rm_parse_u64(&text, &resident)
               ? resident * mark->page_bytes
               : 0;
}

static bool reset(int fd)
{
    return pwrite(fd, "5", 1, 0) == 1;
}

static void find_reading(struct rm_rss_mark *mark)
{
    if (mark->clear_fd < 0 || RM_FAULT(RM_FAULT_OPEN)) {
        mark->reading = RM_MARK_NONE;
        (void)snprintf(mark->why_not, sizeof mark->why_not, "cannot open %s: errno %d", CLEAR_REFS,
                       errno);
        return;
    }
    if (mark->status_fd < 0 || !reset(mark->clear_fd)) {
        mark->reading = RM_MARK_NONE;
        (void)snprintf(mark->why_not, sizeof mark->why_not,
                       "cannot reset the peak through %s: errno %d", CLEAR_REFS, errno);
        return;
    }
    /* After exec from a larger parent getrusage() goes on showing the parent's peak. */
    uint64_t by_rusage = read_rusage();
    uint64_t by_status = read_status(mark->status_fd);
    mark->reading = by_rusage <= by_status + SLACK_BYTES ? RM_MARK_RUSAGE : RM_MARK_STATUS;
}

void rm_rss_mark_open(struct rm_rss_mark *mark, uint64_t *ret_peak)
{
    *mark = (struct rm_rss_mark){
        .clear_fd = open(CLEAR_REFS, O_WRONLY | O_CLOEXEC),
        .status_fd = open(STATUS, O_RDONLY | O_CLOEXEC),
        .statm_fd = open(STATM, O_RDONLY | O_CLOEXEC),
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
    };
    *ret_peak = mark->status_fd >= 0 ? read_status(mark->status_fd) : 0;
    find_reading(mark);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

void rm_rss_mark_close(struct rm_rss_mark *mark)
{
    close_fd(&mark->clear_fd);
    close_fd(&mark->status_fd);
    close_fd(&mark->statm_fd);
}

uint64_t rm_rss_mark_read(const struct rm_rss_mark *mark)
{
    switch (mark->reading) {
    case RM_MARK_RUSAGE:
        return read_rusage();
    case RM_MARK_STATUS:
        return read_status(mark->status_fd);
    default:
        return read_statm(mark);
    }
}

void rm_rss_mark_reset(const struct rm_rss_mark *mark)
{
    if (mark->reading != RM_MARK_NONE) {
        (void)reset(mark->clear_fd);
    }
}
