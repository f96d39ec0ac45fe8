/* SPDX-License-Identifier: MIT */
#include "stack/hidden.h"

#include <stdio.h>

#include "base/clock.h"
#include "os/proc_pid.h"
#include "os/process_end.h"
#include "os/task_walk.h"

static void hide(struct rm_hidden *hidden, struct rm_space *space)
{
    space->ended_ns = 0;
    space->living = 1;
    space->has_lost_main = false;
    space->is_hidden = true;
    space->was_hidden = true;
    hidden->count++;
    hidden->total++;
}

/* What it has used by now, that no event has counted. */
static void reveal(struct rm_hidden *hidden, struct rm_space *space)
{
    space->is_hidden = false;
    hidden->count--;
    hidden->cpu_ns += space->clock_ns > space->used_ns ? space->clock_ns - space->used_ns : 0;
}

void rm_hidden_ask_clock(struct rm_space *space)
{
    int64_t ns;
    if (rm_clock_read_cpu(rm_clock_of_process(space->pid), &ns) &&
        (uint64_t)ns > space->clock_before_ns + space->clock_ns) {
        space->clock_ns = (uint64_t)ns - space->clock_before_ns;
    }
}

static void end(struct rm_hidden *hidden, struct rm_space *space)
{
    space->ended_ns = rm_clock_monotonic_ns();
    if (hidden->each != NULL) {
        rm_each_end(hidden->each, space, space->ended_ns);
    }
}

void rm_hidden_check(struct rm_hidden *hidden, struct rm_space *space)
{
    rm_hidden_ask_clock(space);
    if (space->exec_ns != 0 && !space->is_hidden &&
        rm_process_life_of(space->pid, space->ended_ns) == RM_PROCESS_RUNS) {
        hide(hidden, space);
    }
}

/* ---- one that was found in /proc --------------------------------------------------------- */

static uint32_t parent_of(const struct rm_hidden *hidden, uint32_t pid)
{
    char path[64];
    struct rm_text text;
    struct rm_pid_stat stat;
    (void)snprintf(path, sizeof path, "proc/%u/stat", pid);
    bool is_read = rm_file_read_once(hidden->root, path, hidden->scratch, &text) == RESMON_OK;
    return is_read && rm_pid_stat_parse(text, &stat) ? (uint32_t)stat.ppid : 0;
}

static struct rm_space *find_or_begin(struct rm_hidden *hidden, uint32_t pid, bool *ret_is_new)
{
    struct rm_space *space = rm_spaces_find(hidden->spaces, pid);
    *ret_is_new = space == NULL;
    if (space != NULL) {
        return space->ended_ns == 0 ? space : NULL; /* nobody else's yet */
    }
    space = rm_spaces_begin(hidden->spaces, pid, hidden->root, hidden->scratch);
    if (space != NULL && hidden->each != NULL) {
        rm_each_begin(hidden->each, space, parent_of(hidden, pid), rm_clock_monotonic_ns());
    }
    return space;
}

/* Events of a thread can be had again when its program is the user's own once more. */
static bool visit_hidden(void *context, uint32_t pid, uint32_t thread)
{
    struct rm_hidden *hidden = context;
    bool is_new;
    struct rm_space *space = find_or_begin(hidden, pid, &is_new);
    if (space != NULL && is_new) {
        hide(hidden, space);
    }
    if (space == NULL || (!space->is_hidden && hidden->being_checked != pid) ||
        rm_perf_tree_add(hidden->tree, thread) != RESMON_OK) {
        return true;
    }
    if (space->is_hidden) {
        rm_hidden_ask_clock(space);
        reveal(hidden, space);
        rm_space_reread(hidden->spaces, space, hidden->root, hidden->scratch);
        hidden->being_checked = pid;
        hidden->opened++;
        space->living = 0;
    }
    space->living++;
    return true;
}

static bool visit_lost(void *context, uint32_t pid, uint32_t thread)
{
    bool is_new;
    (void)thread;
    return find_or_begin(context, pid, &is_new) != NULL || !is_new;
}

static void look_at(void *context, struct rm_space *space)
{
    struct rm_hidden *hidden = context;
    if (!space->was_hidden || space->ended_ns != 0) {
        return;
    }
    rm_hidden_ask_clock(space);
    if (!space->is_hidden) {
        return;
    }
    if (rm_process_life_of(space->pid, INT64_MAX) == RM_PROCESS_IS_OVER) {
        rm_hidden_ask_clock(space); /* of one that nobody has waited for */
        reveal(hidden, space);
        end(hidden, space);
    } else {
        hidden->being_checked = 0;
        rm_space_rename(space, hidden->root, hidden->scratch);
        if (hidden->each != NULL) {
            rm_each_look_at(hidden->each, space);
        }
        (void)rm_task_walk(hidden->root, space->pid, visit_hidden, hidden);
    }
}

static void look_for_lost(void *context, struct rm_space *space)
{
    struct rm_hidden *hidden = context;
    if (space->ended_ns != 0 || space->is_hidden) {
        return;
    }
    enum rm_process_life life = rm_process_life_of(space->pid, INT64_MAX);
    space->has_lost_main |= life == RM_PROCESS_WITHOUT_MAIN;
    if (life == RM_PROCESS_IS_OVER) {
        end(hidden, space);
    }
}

void rm_hidden_look(struct rm_hidden *hidden)
{
    if (hidden->has_lost) {
        hidden->has_lost = false;
        rm_spaces_visit(hidden->spaces, look_for_lost, hidden);
        (void)rm_task_walk(hidden->root, hidden->first, visit_lost, hidden);
    }
    if (hidden->total > 0) {
        rm_spaces_visit(hidden->spaces, look_at, hidden);
    }
}

void rm_hidden_settle(struct rm_hidden *hidden, struct rm_space *space)
{
    if (space->was_hidden) {
        rm_hidden_ask_clock(space);
    }
    if (space->is_hidden) {
        reveal(hidden, space);
    }
    space->used_ns = space->used_ns > space->clock_ns ? space->used_ns : space->clock_ns;
}
