/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "scope/forked.h"

#include <stddef.h>
#include <sys/mman.h>

#include <resmon/scope.h>

#include "base/compiler.h"
#include "base/fork.h"

#define MOST_STARTED 128U /* each has 1.2 MB of memory until the run is over */

struct counts {
    uint32_t started, lost; /* children */
};

static struct counts *counts; /* shared with the children; NULL: there is no memory */
static uint32_t counts_forks; /* rm_forks() of the process that made them */
static bool (*start_monitor)(void);

void rm_forked_prepare(void)
{
    rm_fork_watch();
    if (counts != NULL && counts_forks == rm_forks()) {
        return;
    }
    void *memory =
        mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counts = memory != MAP_FAILED ? memory : NULL; /* those of a parent stay for its children */
    counts_forks = rm_forks();
}

uint32_t rm_forked_lost(void)
{
    return counts != NULL && counts_forks == rm_forks() ? RM_LOAD(&counts->lost) : 0;
}

void rm_forked_start_by(bool (*start)(void))
{
    start_monitor = start;
}

void rm_forked_come(void)
{
    uint32_t forked = RM_SCOPE_FORKED;
    if (!__atomic_compare_exchange_n(&resmon_scope_session, &forked, 0, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return; /* another thread did */
    }
    struct counts *of_parent = counts;
    bool may_start = start_monitor != NULL && of_parent != NULL &&
                     RM_FETCH_ADD(&of_parent->started, 1) < MOST_STARTED;
    if ((!may_start || !start_monitor()) && of_parent != NULL) {
        (void)RM_FETCH_ADD(&of_parent->lost, 1);
    }
}
