/* SPDX-License-Identifier: MIT */
#include "collect/births.h"

#include <string.h>

#include "base/alloc.h"

#define MOST_PIDS 8192

static size_t place_of(const struct rm_births *births, uint64_t pid)
{
    size_t at = births->count;
    while (at > 0 && births->pids[at - 1] != pid) { /* who forks is young, mostly */
        at--;
    }
    return at;
}

bool rm_births_has(const struct rm_births *births, uint64_t pid)
{
    return place_of(births, pid) > 0;
}

/* The order of the rest is kept: the old ones come first. */
static void forget(struct rm_births *births, size_t place)
{
    memmove(&births->pids[place - 1], &births->pids[place],
            (births->count - place) * sizeof *births->pids);
    births->count--;
    births->old_count -= place <= births->old_count ? 1 : 0;
}

static void add(struct rm_births *births, uint64_t pid)
{
    uint64_t *pids = births->count < MOST_PIDS
                         ? rm_grow(births->pids, births->count, &births->room, sizeof *pids)
                         : NULL;
    births->has_missed |= pids == NULL;
    if (pids != NULL) {
        births->pids = pids;
        births->pids[births->count++] = pid;
    }
}

void rm_births_note(struct rm_births *births, uint64_t child, bool is_ours)
{
    size_t place = place_of(births, child);
    if (place > 0) { /* its number is another process's now */
        forget(births, place);
    }
    if (is_ours) {
        add(births, child);
    }
}

void rm_births_note_end(struct rm_births *births, uint64_t pid)
{
    if (!rm_births_has(births, pid)) { /* else another process has its number */
        add(births, pid);
    }
}

bool rm_births_read(struct rm_births *births, rm_fork_visit_fn *visit, void *context)
{
    births->old_count = births->count;
    bool has_all = rm_fork_events_read(&births->events, visit, context) && !births->has_missed;
    /* Whoever ended before had nobody who was not told of by now. */
    births->count -= births->old_count;
    if (births->count > 0) {
        memmove(births->pids, &births->pids[births->old_count],
                births->count * sizeof *births->pids);
    }
    births->old_count = 0;
    births->has_missed = false;
    births->born_count = births->count;
    return has_all;
}

void rm_births_close(struct rm_births *births)
{
    rm_fork_events_close(&births->events);
    rm_free(births->pids);
    *births = (struct rm_births){.count = 0};
}
