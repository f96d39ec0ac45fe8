/* SPDX-License-Identifier: MIT */
#include "stack/processes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/text.h"
#include "os/identity.h"
#include "os/proc_pid.h"

/* ---- rows ----------------------------------------------------------------------------------- */

#define MOST_WATCHED 512U                /* bound of open process descriptors */
#define LOADING_NS   (5 * RM_NS_PER_MS)  /* upper bound of a program's loading time */
#define TICK_NS      (10 * RM_NS_PER_MS) /* tick of the slowest kernels (CONFIG_HZ=100) */

void rm_each_open(struct rm_each *each)
{
    each->taskstats = -1;
    (void)rm_taskstats_open(&each->taskstats); /* works without it for users without permission */
}

void rm_each_close(struct rm_each *each)
{
    rm_taskstats_close(each->taskstats);
    each->taskstats = -1;
}

static int64_t since_start(const struct rm_each *each, int64_t t_ns)
{
    int64_t start_ns = each->block.header->start.ns;
    return t_ns > start_ns ? t_ns - start_ns : 0;
}

static void rename_row(struct rm_process_row *row, const char *name)
{
    (void)rm_text_set(row->name, sizeof row->name, name);
}

/* ---- records of the kernel --------------------------------------------------------------- */

void rm_each_begin(struct rm_each *each, struct rm_space *space, uint32_t parent, int64_t t_ns)
{
    struct rm_process_row row = {
        .pid = space->pid, .parent = parent, .start_ns = since_start(each, t_ns)};
    rename_row(&row, space->name);
    space->row = rm_process_row_add(&each->block, &row);
    space->watch = -1;
    if (each->watched < MOST_WATCHED) {
        space->watch = rm_process_end_watch(space->pid);
        each->watched += space->watch >= 0 ? 1 : 0;
    }
}

/* The account is over a thread's life; schedstat uses the same clock. */
void rm_each_found(struct rm_each *each, struct rm_space *space, uint32_t thread)
{
    char path[64];
    struct rm_text text;
    uint64_t ns = 0;
    (void)snprintf(path, sizeof path, "proc/%u/task/%u/schedstat", space->pid, thread);
    if (each->taskstats >= 0 &&
        rm_file_read_once(each->root, path, each->scratch, &text) == RESMON_OK) {
        (void)rm_parse_u64(&text, &ns);
        space->before_ns += ns;
    }
}

/* The peak before an exec belongs to the previous program, unless the account of the process's end
 * was earlier than the record of its exec. */
static void forget_peak(struct rm_process_row *row)
{
    if ((row->known & RM_PROCESS_HAS_STATUS) == 0) {
        rm_process_row_forget(row, RM_PROCESS_HAS_PEAK | RM_PROCESS_PEAK_IS_EXACT);
        RM_STORE(&row->rss_peak, 0);
    }
}

/* Notes an end that the kernel did not report. */
static void rm_each_end(struct rm_each *each, struct rm_space *space, int64_t t_ns)
{
    if (space->row != NULL) {
        RM_STORE(&space->row->end_ns, since_start(each, t_ns));
        rm_process_row_know(space->row, RM_PROCESS_HAS_ENDED);
    }
}

void rm_each_note(struct rm_each *each, const struct rm_tree_record *record)
{
    struct rm_space *space = rm_spaces_find(each->spaces, record->pid);
    struct rm_process_row *row = space != NULL ? space->row : NULL;
    if (row == NULL) {
        return;
    }
    if (record->kind == RM_TREE_EXEC || record->kind == RM_TREE_NAME) {
        rename_row(row, record->text);
        if (record->kind == RM_TREE_EXEC) {
            forget_peak(row);
        }
    } else if (record->kind == RM_TREE_EXIT && space->ended_ns != 0) {
        rm_each_end(each, space, record->t_ns);
    }
}

/* ---- accounts and looks ------------------------------------------------------------------ */

static void know_peak(struct rm_process_row *row, uint64_t bytes, bool is_exact)
{
    if (bytes > row->rss_peak) {
        RM_STORE(&row->rss_peak, bytes);
    }
    if (bytes > 0) {
        rm_process_row_know(row, RM_PROCESS_HAS_PEAK | (is_exact ? RM_PROCESS_PEAK_IS_EXACT : 0));
    }
}

static void know_status(struct rm_process_row *row, uint32_t status)
{
    row->wait_status = status;
    rm_process_row_know(row, RM_PROCESS_HAS_STATUS);
}

/* Accounts come in the order of ends, immediately; the current process with the pid may not be
 * known yet. */
static void take_account(void *context, const struct rm_task_account *account)
{
    struct rm_each *each = context;
    uint32_t pid = account->pid != 0 ? account->pid : account->thread;
    struct rm_space *space = rm_spaces_find(each->spaces, pid);
    if (space == NULL || space->row == NULL) {
        return;
    }
    if (space->has_account && account->thread == pid) {
        if (each->early_count < RM_ARRAY_LEN(each->early)) {
            each->early[each->early_count++] = *account;
        }
        return;
    }
    space->has_account |= account->thread == pid;
    space->accounts++;
    space->accounts_least_ns += account->cpu_ns;
    space->accounts_most_ns += account->most_ns;
    if (account->thread == pid) {
        know_status(space->row, account->wait_status);
        RM_STORE(&space->row->rss_peak, 0); /* threads that an exec ended had the old memory */
    }
    know_peak(space->row, account->rss_peak, true);
}

/* A child of vfork() has its parent's memory until exec. */
static bool has_own_memory(const struct rm_space *space)
{
    int64_t parent = (int64_t)space->row->parent;
    bool is_same;
    return space->exec_ns != 0 || parent == 0 ||
           !rm_identity_compare_memory((int64_t)space->pid, parent, &is_same) || !is_same;
}

/* Just after exec, a program is still being mapped and linked. */
static bool has_settled(const struct rm_space *space)
{
    return space->exec_ns == 0 || rm_clock_monotonic_ns() - space->exec_ns > LOADING_NS;
}

static void look_at(struct rm_each *each, struct rm_space *space)
{
    static const struct rm_key keys[] = {RM_KEY("VmHWM:", 0)};
    char directory[32], path[80];
    struct rm_text text;
    uint64_t kib = 0;
    (void)snprintf(directory, sizeof directory, "proc/%u", space->pid);
    uint64_t thread = space->has_lost_main ? rm_task_living(each->root, directory) : space->pid;
    (void)snprintf(path, sizeof path, "%s/task/%llu/status", directory, (unsigned long long)thread);
    if (has_settled(space) && has_own_memory(space) &&
        rm_file_read_once(each->root, path, each->scratch, &text) == RESMON_OK) {
        (void)rm_parse_keys(text, keys, 1, &kib);
        know_peak(space->row, kib * 1024, false);
    }
}

/* Reads a process, whose name may have changed. */
static void rm_each_look_at(struct rm_each *each, struct rm_space *space)
{
    if (space->row != NULL) {
        rename_row(space->row, space->name);
        look_at(each, space);
    }
}

static void look_at_living(void *context, struct rm_space *space)
{
    struct rm_each *each = context;
    if (space->row != NULL && space->ended_ns == 0) {
        look_at(each, space);
    }
}

static void read_accounts(struct rm_each *each)
{
    struct rm_task_account early[RM_ARRAY_LEN(each->early)];
    uint32_t count = each->early_count;
    memcpy(early, each->early, sizeof early);
    each->early_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        take_account(each, &early[i]);
    }
    (void)rm_taskstats_read(each->taskstats, take_account, each);
}

void rm_each_replace(struct rm_each *each)
{
    if (each->taskstats >= 0) {
        read_accounts(each);
    }
}

void rm_each_look(struct rm_each *each)
{
    if (each->taskstats >= 0) {
        read_accounts(each);
    } else {
        rm_spaces_visit(each->spaces, look_at_living, each);
    }
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Events are exact, but under contention some are missing, or count for the process that ran next.
 * Accounts lack at most a thread's usage since the last tick. */
static uint64_t cpu_ns_of(const struct rm_space *space, bool has_all_accounts)
{
    uint64_t before_ns = space->before_ns;
    uint64_t least_ns =
        space->accounts_least_ns > before_ns ? space->accounts_least_ns - before_ns : 0;
    uint64_t most_ns =
        space->accounts_most_ns > before_ns ? space->accounts_most_ns - before_ns : 0;
    most_ns = has_all_accounts ? most_ns + space->accounts * TICK_NS : UINT64_MAX;
    return space->used_ns < least_ns  ? least_ns
           : space->used_ns > most_ns ? most_ns
                                      : space->used_ns;
}

void rm_each_settle(struct rm_each *each, struct rm_space *space)
{
    struct rm_process_row *row = space->row;
    uint32_t status;
    look_at_living(each, space); /* living threads have no account */
    if (row != NULL) {
        bool has_all_accounts = space->accounts >= space->threads;
        RM_STORE(&row->cpu_ns, cpu_ns_of(space, has_all_accounts));
        bool is_known = has_all_accounts || rm_space_is_accounted(space);
        bool is_sampled = !is_known && space->was_hidden;
        rm_process_row_know(row, (is_known || space->clock_ns > 0 ? RM_PROCESS_HAS_CPU : 0) |
                                     (is_sampled ? RM_PROCESS_CPU_IS_SAMPLED : 0));
        if ((row->known & RM_PROCESS_HAS_STATUS) == 0 &&
            rm_process_end_learn(space->watch, space->pid, &status)) {
            know_status(row, status);
        }
    }
    each->watched -= space->watch >= 0 ? 1 : 0;
    rm_process_end_forget(space->watch);
    space->watch = -1;
    space->row = NULL;
}

/* ---- hidden processes ----------------------------------------------------------------------- */

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

/* Adds CPU time that no event has counted. */
static void reveal(struct rm_hidden *hidden, struct rm_space *space)
{
    space->is_hidden = false;
    hidden->count--;
    hidden->cpu_ns += space->clock_ns > space->used_ns ? space->clock_ns - space->used_ns : 0;
}

void rm_hidden_read_clock(struct rm_space *space)
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
    rm_hidden_read_clock(space);
    if (space->exec_ns != 0 && !space->is_hidden &&
        rm_process_life_of(space->pid, space->ended_ns) == RM_PROCESS_RUNS) {
        hide(hidden, space);
    }
}

/* ---- processes found in /proc ------------------------------------------------------------ */

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
        return space->ended_ns == 0 ? space : NULL; /* the pid is not reused */
    }
    space = rm_spaces_begin(hidden->spaces, pid, hidden->root, hidden->scratch);
    if (space != NULL && hidden->each != NULL) {
        rm_each_begin(hidden->each, space, parent_of(hidden, pid), rm_clock_monotonic_ns());
    }
    return space;
}

/* Events of a thread can be opened again when its program is the user's own again. */
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
        rm_hidden_read_clock(space);
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

static void look_at_hidden(void *context, struct rm_space *space)
{
    struct rm_hidden *hidden = context;
    if (!space->was_hidden || space->ended_ns != 0) {
        return;
    }
    rm_hidden_read_clock(space);
    if (!space->is_hidden) {
        return;
    }
    if (rm_process_life_of(space->pid, INT64_MAX) == RM_PROCESS_IS_OVER) {
        rm_hidden_read_clock(space); /* the process has ended, but was not waited for */
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
        rm_spaces_visit(hidden->spaces, look_at_hidden, hidden);
    }
}

void rm_hidden_settle(struct rm_hidden *hidden, struct rm_space *space)
{
    if (space->was_hidden) {
        rm_hidden_read_clock(space);
    }
    if (space->is_hidden) {
        reveal(hidden, space);
    }
    space->used_ns = space->used_ns > space->clock_ns ? space->used_ns : space->clock_ns;
}
