/* SPDX-License-Identifier: MIT */
#include "collect/births.h"

#include "base/alloc.h"

#define MOST_BIRTHS 8192

/* Its place from 1 on; 0: there is none. */
static size_t place_of(const struct rm_births *births, uint64_t pid)
{
    size_t at = births->count;
    while (at > 0 && births->births[at - 1].pid != pid) { /* who forks is young, mostly */
        at--;
    }
    return at;
}

bool rm_births_has(const struct rm_births *births, uint64_t pid)
{
    return place_of(births, pid) > 0;
}

static void add(struct rm_births *births, uint64_t pid, bool is_over)
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
    if (place > 0) { /* its number is another process's now */
        births->births[place - 1] = births->births[--births->count];
    }
    if (is_ours) {
        add(births, child, false);
    }
}

void rm_births_note_end(struct rm_births *births, uint64_t pid)
{
    if (!rm_births_has(births, pid)) { /* else another process has its number */
        add(births, pid, true);
    }
}

bool rm_births_read(struct rm_births *births, rm_fork_visit_fn *visit, void *context)
{
    size_t kept = 0;
    bool has_all = rm_fork_events_read(&births->events, visit, context) && !births->has_missed;
    for (size_t i = 0; i < births->count; i++) {
        if (!births->births[i].is_over) { /* else all that it forked was told by now */
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
