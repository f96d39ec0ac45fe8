/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* usleep, __WALL */
#include "os/own_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/parse.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_io.h"
#include "os/proc_pid.h"

/* ---- pages ------------------------------------------------------------------------------ */

/* Opens the files of the calling thread: those of the process are empty after its main thread has
 * ended. */
void rm_own_pages_open(struct rm_own_pages *pages, const struct rm_root *root, uint64_t page_bytes)
{
    *pages = (struct rm_own_pages){.page_bytes = page_bytes};
    (void)rm_file_open(&pages->statm, root, "proc/thread-self/statm");
    (void)rm_file_open(&pages->pagemap, root, "proc/thread-self/pagemap");
}

void rm_own_pages_close(struct rm_own_pages *pages)
{
    rm_file_close(&pages->statm);
    rm_file_close(&pages->pagemap);
}

bool rm_own_pages_rss(struct rm_own_pages *pages, struct rm_scratch *scratch, uint64_t *ret_anon,
                      uint64_t *ret_file)
{
    struct rm_text text;
    struct rm_pid_statm statm;
    if (!rm_file_is_open(&pages->statm) ||
        rm_file_read(&pages->statm, scratch, &text) != RESMON_OK ||
        !rm_pid_statm_parse(text, &statm)) {
        return false;
    }
    /* The kernel sums the three counters one after the other. */
    uint64_t shared = statm.shared;
    *ret_anon = statm.resident > shared ? (statm.resident - shared) * pages->page_bytes : 0;
    *ret_file = shared * pages->page_bytes;
    return true;
}

bool rm_own_pages_is_own(struct rm_own_pages *pages, uint64_t address)
{
    uint64_t entry;
    uint64_t offset = address / pages->page_bytes * sizeof entry;
    return rm_file_is_open(&pages->pagemap) &&
           rm_file_read_at(&pages->pagemap, offset, &entry, sizeof entry) == RESMON_OK &&
           (entry & RM_PAGE_IS_PRESENT) != 0 && (entry & RM_PAGE_IS_FILE_OR_SHARED) == 0;
}

/* ---- present RSS ------------------------------------------------------------------------ */

bool rm_own_rss_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/proc/self/statm", O_RDONLY);
}

bool rm_own_rss_read(const struct rm_kept *kept, uint64_t *ret_bytes)
{
    char bytes[128];
    struct rm_pid_statm statm;
    ssize_t length = rm_kept_is_ours(kept) ? pread(kept->fd, bytes, sizeof bytes, 0) : -1;
    if (length <= 0) {
        return false;
    }
    rm_own_io_note_read(length);
    if (!rm_pid_statm_parse(rm_text_of(bytes, (size_t)length), &statm)) {
        return false;
    }
    *ret_bytes = statm.resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

/* ---- high-water mark of RSS ------------------------------------------------------------- */

/* These files are always the real ones of this process, independent of a monitor's fs_root. */
#define CLEAR_REFS "/proc/self/clear_refs"
#define STATUS     "/proc/self/status"
#define STATM      "/proc/self/statm"

static uint64_t read_rusage(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* ru_maxrss is the maximum of the mark and of the peak before exec; a reset does not change that
 * peak.  The peak before exec is at most the value at the load of the library.  So a larger
 * ru_maxrss is the mark; otherwise VmHWM is read. */
static uint64_t rusage_at_load;

__attribute__((constructor)) static void note_rusage_at_load(void)
{
    rusage_at_load =
        rusage_at_load == 0 ? read_rusage() : rusage_at_load; /* see rm_autorun_load() */
}

/* The mark belongs to the process, and any thread may read it.  The kept descriptors belong to the
 * program's table.  A thread with a private table opens the file for a moment, as `once`. -1: not
 * open. */
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

/* The library writes to no other file in the middle of a program's work; the check prevents a write
 * to a wrong file. */
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

/* ---- CPU time of the process tree --------------------------------------------------------- */

struct list {
    uint64_t count, rest_ns;
    struct rm_descendant descendants[RM_DESCENDANTS];
};

/* A sequence lock with two copies: the copy that `version` selects does not change as long as
 * `version` is unchanged. */
static struct list lists[2];
static uint32_t version;      /* stored with release, after its list */
static const void *publisher; /* atomic */
static uint64_t highest;      /* atomic: the highest sum of descendants so far */

static void copy_descendants(struct rm_descendant *target, const struct rm_descendant *source,
                             uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        RM_STORE(&target[i].pid, RM_LOAD(&source[i].pid));
        RM_STORE(&target[i].child, RM_LOAD(&source[i].child));
        RM_STORE(&target[i].own_ns, RM_LOAD(&source[i].own_ns));
        RM_STORE(&target[i].waited_ns, RM_LOAD(&source[i].waited_ns));
    }
}

static void publish(const struct rm_descendant *descendants, size_t count, uint64_t rest_ns)
{
    uint32_t next = RM_LOAD(&version) + 1;
    struct list *list = &lists[next & 1];
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&list->count, count);
    RM_STORE(&list->rest_ns, rest_ns);
    copy_descendants(list->descendants, descendants, count);
    RM_STORE_RELEASE(&version, next);
}

/* The child of a fork starts without descendants. */
static void forget_descendants(void)
{
    publish(NULL, 0, 0);
    RM_STORE(&publisher, NULL);
    RM_STORE(&highest, 0);
}

void rm_tree_cpu_publish(const void *owner, const struct rm_descendant *descendants, size_t count,
                         uint64_t rest_ns)
{
    static const struct rm_fork_part clocks_at_fork = {.in_child = forget_descendants};
    const void *nobody = NULL;
    rm_fork_take_part(RM_FORK_CLOCKS, &clocks_at_fork);
    bool is_first = __atomic_compare_exchange_n(&publisher, &nobody, owner, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE);
    if (is_first) {
        RM_STORE(&highest, 0); /* the new owner counts its `rest_ns` anew */
    }
    if (is_first || nobody == owner) {
        publish(descendants, count < RM_DESCENDANTS ? count : RM_DESCENDANTS, rest_ns);
    }
}

void rm_tree_cpu_withdraw(const void *owner)
{
    if (__atomic_load_n(&publisher, __ATOMIC_ACQUIRE) == owner) {
        publish(NULL, 0, 0);
        RM_STORE(&highest, 0); /* the living descendants are not known any more */
        __atomic_store_n(&publisher, NULL, __ATOMIC_RELEASE);
    }
}

/* Gives an empty list if the list changes all the time; keep_highest() keeps the sum from a
 * decrease. */
static void read_list(struct list *list)
{
    list->count = 0;
    list->rest_ns = 0;
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = RM_LOAD_ACQUIRE(&version);
        const struct list *current = &lists[before & 1];
        uint64_t count = RM_LOAD(&current->count);
        uint64_t rest_ns = RM_LOAD(&current->rest_ns);
        count = count <= RM_DESCENDANTS ? count : 0;
        copy_descendants(list->descendants, current->descendants, count);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&version) == before) {
            list->count = count;
            list->rest_ns = rest_ns;
            return;
        }
    }
}

/* The kernel's resolution is 1 us. */
static uint64_t waited_for_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0;
    }
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * RM_NS_PER_S +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

/* If the clock is less than the descendant's time at the publication, the pid was reused by another
 * process. */
static bool is_alive(const struct rm_descendant *descendant, uint64_t *ret_ns)
{
    struct timespec now;
    if (clock_gettime(rm_clock_of_process((uint32_t)descendant->pid), &now) == 0) {
        uint64_t ns = (uint64_t)now.tv_sec * RM_NS_PER_S + (uint64_t)now.tv_nsec;
        *ret_ns = ns;
        return ns >= descendant->own_ns;
    }
    return false;
}

/* The CPU time of the listed descendants.  The time of an ended descendant is in the waited-for
 * time of our child that it descends from.  If that child has ended too, it is in our own
 * waited-for time. */
static uint64_t used_by_list(const struct list *list, bool *ret_is_sure)
{
    uint64_t ns = 0;
    bool alive[RM_DESCENDANTS];
    *ret_is_sure = true;
    for (uint64_t i = 0; i < list->count; i++) {
        const struct rm_descendant *descendant = &list->descendants[i];
        uint64_t own_ns;
        alive[i] = is_alive(descendant, &own_ns);
        ns += alive[i] ? own_ns + descendant->waited_ns : 0;
        *ret_is_sure &= !alive[i] && descendant->child != 0; /* ended: the time is in getrusage */
    }
    for (uint64_t i = 0; i < list->count; i++) {
        const struct rm_descendant *descendant = &list->descendants[i];
        for (uint64_t k = 0; k < list->count && !alive[i]; k++) {
            if (alive[k] && list->descendants[k].pid == descendant->child) {
                ns += descendant->own_ns + descendant->waited_ns;
            }
        }
    }
    return ns;
}

/* Reads again if a child was waited for meanwhile: its time would count twice, or not at all. */
static uint64_t used_by_all(const struct list *list, bool *ret_is_sure)
{
    uint64_t ns = 0;
    uint64_t waited = waited_for_ns();
    for (int tries = 0; tries < 4; tries++) {
        uint64_t before = waited;
        ns = waited + list->rest_ns + used_by_list(list, ret_is_sure);
        waited = list->count > 0 ? waited_for_ns() : before;
        if (waited == before) {
            break;
        }
    }
    return ns;
}

/* Between the end of a descendant and the next publication, a part of its time may be missing. */
static uint64_t keep_highest(uint64_t ns)
{
    uint64_t so_far = RM_LOAD(&highest);
    while (ns > so_far && !__atomic_compare_exchange_n(&highest, &so_far, ns, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return ns > so_far ? ns : so_far;
}

/* Reaps no child, and leaves SIGCHLD pending. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

static void read_descendants(struct rm_tree_cpu *cpu)
{
    struct list list;
    int error = errno;
    read_list(&list);
    bool is_sure;
    cpu->descendants_ns = keep_highest(used_by_all(&list, &is_sure));
    cpu->has_descendants = !is_sure || has_children();
    errno = error;
}

struct rm_tree_cpu rm_tree_cpu_at_begin(void)
{
    struct rm_tree_cpu cpu;
    read_descendants(&cpu);
    cpu.process_ns = (uint64_t)rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    return cpu;
}

struct rm_tree_cpu rm_tree_cpu_at_end(void)
{
    struct rm_tree_cpu cpu = {.process_ns = (uint64_t)rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID)};
    read_descendants(&cpu);
    return cpu;
}
