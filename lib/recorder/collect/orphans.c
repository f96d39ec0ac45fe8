/* SPDX-License-Identifier: MIT */
#include "collect/orphans.h"

#include <math.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "os/own_io.h"
#include "os/proc_pid.h"

/* ---- forks that the kernel reports ---------------------------------------------------------- */

#define MOST_BIRTHS 8192

/* Index + 1 of the pid; 0: not found. */
static size_t place_of(const struct rm_births *births, uint64_t pid)
{
    size_t at = births->count;
    while (at > 0 && births->births[at - 1].pid != pid) { /* young processes fork most */
        at--;
    }
    return at;
}

bool rm_births_has(const struct rm_births *births, uint64_t pid)
{
    return place_of(births, pid) > 0;
}

static void add_birth(struct rm_births *births, uint64_t pid, bool is_over)
{
    struct rm_birth *grown = births->count < MOST_BIRTHS ? rm_grow(births->births, births->count,
                                                                   &births->room, sizeof *grown)
                                                         : NULL;
    births->has_missed |= grown == NULL;
    if (grown != NULL) {
        births->births = grown;
        births->births[births->count++] = (struct rm_birth){pid, is_over};
    }
}

void rm_births_note(struct rm_births *births, uint64_t child, bool is_ours)
{
    size_t place = place_of(births, child);
    if (place > 0) { /* the pid was reused */
        births->births[place - 1] = births->births[--births->count];
    }
    if (is_ours) {
        add_birth(births, child, false);
    }
}

void rm_births_note_end(struct rm_births *births, uint64_t pid)
{
    if (!rm_births_has(births, pid)) { /* else the pid was reused */
        add_birth(births, pid, true);
    }
}

bool rm_births_read(struct rm_births *births, rm_fork_visit_fn *visit, void *context)
{
    size_t kept = 0;
    bool has_all = rm_fork_events_read(&births->events, visit, context) && !births->has_missed;
    for (size_t i = 0; i < births->count; i++) {
        if (!births->births[i].is_over) { /* else all of its forks have been reported */
            births->births[kept++] = births->births[i];
        }
    }
    births->count = kept;
    births->has_missed = false;
    return has_all;
}

void rm_births_close(struct rm_births *births)
{
    rm_fork_events_close(&births->events);
    rm_free(births->births);
    *births = (struct rm_births){.count = 0};
}

/* ---- orphans that are reparented to us ------------------------------------------------------ */

static bool takes_in_orphans(void)
{
    int is_subreaper = 0;
    return getpid() == 1 ||
           (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper, 0UL, 0UL, 0UL) == 0 && is_subreaper != 0);
}

/* The kernel's account of children waited for has storage I/O.  I/O calls are taken from our own
 * account, from which the library's own I/O is subtracted. */
static struct rm_reaped read_account(struct rm_reaper *reaper, long *ret_faults)
{
    struct rusage usage = {.ru_minflt = 0};
    uint64_t all[RM_IO_FIELDS] = {0};
    struct rm_reaped sum;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    (void)rm_own_io_read(&reaper->io, all);
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        sum.io[f] = (double)all[f];
    }
    sum.cpu_s = rm_collect_seconds(&usage.ru_utime) + rm_collect_seconds(&usage.ru_stime);
    sum.io[RM_IO_READ_BYTES] = 512.0 * (double)usage.ru_inblock;
    sum.io[RM_IO_WRITE_BYTES] = 512.0 * (double)usage.ru_oublock;
    *ret_faults = usage.ru_minflt;
    return sum;
}

struct rm_reaped rm_reaper_look(struct rm_reaper *reaper)
{
    long faults;
    struct rm_reaped grown = {.cpu_s = 0.0};
    if (reaper->pid == 0 || reaper->other_count > 0) {
        return grown;
    }
    const struct rm_reaped sum = read_account(reaper, &faults);
    bool has_waited = faults != reaper->latest_faults;
    grown.cpu_s = sum.cpu_s - reaper->latest_s;
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        grown.io[f] = has_waited ? fmax(sum.io[f] - reaper->latest_io[f], 0.0) : 0.0;
        reaper->latest_io[f] = sum.io[f];
    }
    reaper->latest_s = sum.cpu_s;
    reaper->latest_faults = faults;
    return grown;
}

struct search {
    struct rm_reaper *reaper;
    const struct rm_root *root;
    struct rm_scratch *scratch;
    uint64_t child_start; /* in ticks since boot */
};

/* Within the same tick, the smaller pid is older: pids are allocated in order. */
static bool note_other(void *context, uint32_t pid, uint32_t thread)
{
    const struct search *search = context;
    struct rm_reaper *reaper = search->reaper;
    struct rm_pid_stat stat;
    bool is_other = pid == thread && pid != reaper->pid && pid != reaper->child &&
                    rm_collect_read_stat(search->root, search->scratch, pid, &stat) == RESMON_OK &&
                    (stat.starttime < search->child_start ||
                     (stat.starttime == search->child_start && pid < reaper->child));
    if (is_other && reaper->other_count < RM_REAPER_OTHERS) {
        reaper->others[reaper->other_count++] = pid;
    }
    return true;
}

bool rm_reaper_is_other(const struct rm_reaper *reaper, uint64_t pid)
{
    for (size_t i = 0; i < reaper->other_count; i++) {
        if (reaper->others[i] == pid) {
            return true;
        }
    }
    return false;
}

void rm_reaper_open(struct rm_reaper *reaper, const struct rm_root *root,
                    struct rm_scratch *scratch, uint64_t pid, uint64_t child)
{
    if (!takes_in_orphans()) {
        return;
    }
    struct rm_pid_stat stat;
    struct search search = {.reaper = reaper, .root = root, .scratch = scratch};
    *reaper = (struct rm_reaper){.pid = pid, .child = child};
    if (rm_collect_read_stat(root, scratch, child, &stat) == RESMON_OK) {
        search.child_start = stat.starttime;
        (void)rm_task_walk(root, (uint32_t)pid, note_other, &search);
    }
    (void)rm_own_io_open(&reaper->io);
    const struct rm_reaped sum = read_account(reaper, &reaper->latest_faults);
    reaper->latest_s = sum.cpu_s;
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        reaper->latest_io[f] = sum.io[f];
    }
}

void rm_reaper_close(struct rm_reaper *reaper)
{
    rm_kept_close(&reaper->io);
}
