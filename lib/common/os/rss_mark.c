/* SPDX-License-Identifier: MIT */
#include "os/rss_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_io.h"
#include "os/pid_stat.h"

/* These are about this process whatever fs_root a monitor reads, so they are the real files. */
#define CLEAR_REFS "/proc/self/clear_refs"
#define STATUS     "/proc/self/status"
#define STATM      "/proc/self/statm"

static uint64_t read_rusage(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* ru_maxrss is the larger of the mark and the peak that the process had when it called exec, which
 * no reset touches.  That peak is not above what was there when the library was loaded: so what is
 * above that is the mark, and for the rest VmHWM is asked. */
static uint64_t rusage_at_load;

__attribute__((constructor)) static void note_rusage_at_load(void)
{
    rusage_at_load =
        rusage_at_load == 0 ? read_rusage() : rusage_at_load; /* see rm_autorun_load() */
}

/* The mark is the process's, and read by all of its threads; the descriptors are of the program's
 * table: threads that have one of their own open the file for a moment, as `once`.  -1: not open.
 */
static int usable_fd(struct rm_kept *kept, struct rm_kept *once, const char *path, int flags)
{
    *once = (struct rm_kept){0};
    if (!kept->is_open || rm_kept_is_of_this_table(kept)) {
        return rm_kept_revive(kept, path, flags) ? kept->fd : -1;
    }
    return rm_kept_open(once, path, flags) ? once->fd : -1;
}

static ssize_t read_kept(struct rm_kept *kept, const char *path, char *bytes, size_t room)
{
    struct rm_kept once;
    int fd = usable_fd(kept, &once, path, O_RDONLY);
    ssize_t length = fd >= 0 ? pread(fd, bytes, room, 0) : -1;
    if (fd >= 0) {
        rm_own_io_note_read(length);
    }
    rm_kept_close(&once);
    return length;
}

static uint64_t read_status(struct rm_rss_mark *mark)
{
    static const struct rm_key keys[] = {RM_KEY("VmHWM:", 0)};
    char bytes[4096];
    uint64_t kib = 0;
    ssize_t length = read_kept(&mark->status, STATUS, bytes, sizeof bytes);
    if (length <= 0) {
        return 0;
    }
    (void)rm_parse_keys(rm_text_of(bytes, (size_t)length), keys, 1, &kib);
    return kib * 1024;
}

static uint64_t read_statm(struct rm_rss_mark *mark)
{
    char bytes[128];
    struct rm_pid_statm statm;
    ssize_t length = read_kept(&mark->statm, STATM, bytes, sizeof bytes);
    struct rm_text text = rm_text_of(bytes, length > 0 ? (size_t)length : 0);
    return rm_pid_statm_parse(text, &statm) ? statm.resident * mark->page_bytes : 0;
}

/* The one file that the library writes to in the middle of a program's work: never into another. */
static bool reset(struct rm_rss_mark *mark)
{
    struct rm_kept once;
    int fd = usable_fd(&mark->clear, &once, CLEAR_REFS, O_WRONLY);
    ssize_t written = fd >= 0 ? pwrite(fd, "5", 1, 0) : -1;
    if (fd >= 0) {
        rm_own_io_note_write(written);
    }
    rm_kept_close(&once);
    return written == 1;
}

static void give_up(struct rm_rss_mark *mark, const char *what)
{
    (void)rm_error_errno(errno, "cannot %s %s", what, CLEAR_REFS);
    (void)rm_text_set(mark->why_not, sizeof mark->why_not, resmon_last_error());
    RM_STORE(&mark->reading, RM_MARK_NONE);
}

static void find_reading(struct rm_rss_mark *mark)
{
    if (!mark->clear.is_open || !mark->status.is_open) {
        give_up(mark, "open " STATUS " or");
        return;
    }
    if (!reset(mark)) {
        give_up(mark, "reset the peak through");
        return;
    }
    mark->reading = RM_MARK_EXACT;
}

void rm_rss_mark_open(struct rm_rss_mark *mark, uint64_t *ret_peak)
{
    *mark = (struct rm_rss_mark){.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    (void)rm_kept_open(&mark->statm, STATM, O_RDONLY);
    (void)rm_kept_open(&mark->status, STATUS, O_RDONLY);
    (void)rm_kept_open(&mark->clear, CLEAR_REFS, O_WRONLY);
    int error = errno;
    *ret_peak = read_status(mark);
    errno = error;
    find_reading(mark);
}

void rm_rss_mark_close(struct rm_rss_mark *mark)
{
    rm_kept_close(&mark->clear);
    rm_kept_close(&mark->status);
    rm_kept_close(&mark->statm);
}

uint64_t rm_rss_mark_read(struct rm_rss_mark *mark)
{
    if (mark->reading == RM_MARK_NONE) {
        return read_statm(mark);
    }
    uint64_t peak = read_rusage();
    return peak > rusage_at_load ? peak : read_status(mark);
}

uint64_t rm_rss_mark_life(void)
{
    struct rm_rss_mark once = {.reading = RM_MARK_NONE};
    (void)rm_kept_open(&once.status, STATUS, O_RDONLY);
    uint64_t peak = read_status(&once);
    rm_kept_close(&once.status);
    return peak;
}

uint64_t rm_rss_mark_rss(struct rm_rss_mark *mark)
{
    return read_statm(mark);
}

void rm_rss_mark_reset(struct rm_rss_mark *mark)
{
    if (mark->reading != RM_MARK_NONE && !reset(mark)) {
        give_up(mark, "reset the peak through");
    }
}
