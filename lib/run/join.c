/* SPDX-License-Identifier: MIT */
#include "run/join.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "run/headline.h"
#include "run/scope_names.h"
#include "run/scope_sum.h"

/* A path of all parts together.  [0] is above those at the top. */
struct path {
    resmon_run_scope sum;
    double squares;       /* of the calls' differences from their mean, added up */
    uint32_t parent;      /* as those below, an index; 0: none */
    uint32_t first, last; /* children */
    uint32_t next;        /* of the same parent */
};

struct joining {
    struct path *paths;
    uint32_t path_count;
    uint32_t *path_of; /* by scope of the part at hand */
};

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the scopes of several processes");
}

/* ---- paths -------------------------------------------------------------------------------- */

static uint32_t path_below(struct joining *joining, uint32_t parent, const resmon_run_scope *scope)
{
    struct path *above = &joining->paths[parent];
    for (uint32_t at = above->first; at != 0; at = joining->paths[at].next) {
        if (strcmp(joining->paths[at].sum.name, scope->name) == 0) {
            return at;
        }
    }
    uint32_t fresh = joining->path_count++;
    joining->paths[fresh] = (struct path){.sum = rm_scope_sum_begin(scope), .parent = parent};
    joining->paths[fresh].sum.depth = scope->depth;
    joining->paths[fresh].sum.wall_stddev_ns = RM_NAN;
    if (above->first == 0) {
        above->first = fresh;
    } else {
        joining->paths[above->last].next = fresh;
    }
    above->last = fresh;
    return fresh;
}

/* Of two groups of calls: T. F. Chan, G. H. Golub, R. J. LeVeque: Updating Formulae and a Pairwise
 * Algorithm for Computing Sample Variances, 1979. */
static void add_spread(struct path *path, const resmon_run_scope *scope)
{
    double before = (double)path->sum.calls, more = (double)scope->calls;
    if (more > 0.0) {
        double own =
            more > 1.0 ? scope->wall_stddev_ns * scope->wall_stddev_ns * (more - 1.0) : 0.0;
        double apart = before > 0.0 ? scope->wall_ns / more - path->sum.wall_ns / before : 0.0;
        path->squares += own + apart * apart * before * more / (before + more);
    }
}

static void add_scope(struct path *path, const resmon_run_scope *scope)
{
    uint64_t threads = path->sum.threads + scope->threads; /* those of processes are different */
    add_spread(path, scope);
    rm_scope_sum_own(&path->sum, scope);
    rm_scope_sum_inclusive(&path->sum, scope);
    rm_scope_sum_energy(&path->sum, scope);
    path->sum.threads = threads;
}

static void add_part(struct joining *joining, const struct resmon_run *part)
{
    for (size_t i = 0; i < part->scope_count; i++) {
        const resmon_run_scope *scope = &part->scopes[i];
        uint32_t parent = scope->parent >= 0 ? joining->path_of[scope->parent] : 0;
        joining->path_of[i] = path_below(joining, parent, scope);
        add_scope(&joining->paths[joining->path_of[i]], scope);
    }
}

/* ---- the result --------------------------------------------------------------------------- */

static const char *copy(struct resmon_run *run, const char *text)
{
    return rm_arena_text(&run->strings, text, strlen(text));
}

/* Counters are each run's own. */
static bool put_scope(struct resmon_run *run, const struct path *path, int64_t parent)
{
    resmon_run_scope *scope = &run->scopes[run->scope_count];
    *scope = path->sum;
    scope->parent = parent;
    scope->name = copy(run, path->sum.name);
    scope->file = copy(run, path->sum.file);
    scope->function = copy(run, path->sum.function);
    scope->counter_calls = 0;
    scope->counters = NULL;
    if (scope->calls > 1) {
        scope->wall_stddev_ns = sqrt(path->squares / (double)(scope->calls - 1));
    }
    run->scope_count++;
    return scope->name != NULL && scope->file != NULL && scope->function != NULL;
}

/* In preorder; 0 past the end. */
static uint32_t path_after(const struct joining *joining, uint32_t at)
{
    if (joining->paths[at].first != 0) {
        return joining->paths[at].first;
    }
    while (at != 0 && joining->paths[at].next == 0) {
        at = joining->paths[at].parent;
    }
    return joining->paths[at].next;
}

/* Outer scopes first; `index_of` is where each path went. */
static bool put_scopes(const struct joining *joining, struct resmon_run *run, int64_t *index_of)
{
    bool is_put = true;
    index_of[0] = -1;
    for (uint32_t at = path_after(joining, 0); at != 0 && is_put; at = path_after(joining, at)) {
        index_of[at] = (int64_t)run->scope_count;
        is_put = put_scope(run, &joining->paths[at], index_of[joining->paths[at].parent]);
    }
    return is_put;
}

/* 0: it is not known, as in a document that was changed. */
static int64_t pid_of(const struct resmon_run *part)
{
    double pid = rm_run_fact_number(part, "run", "pid");
    return pid >= 1.0 && pid <= (double)INT32_MAX ? (int64_t)pid : 0;
}

/* A process that was seen from outside, too: the kernel's figures stay. */
static resmon_run_process *seen(struct resmon_run *run, size_t seen_count, int64_t pid,
                                int64_t start_ns)
{
    resmon_run_process *found = NULL;
    for (size_t i = 0; i < seen_count; i++) {
        if (run->processes[i].pid == pid && run->processes[i].start_ns <= start_ns) {
            found = &run->processes[i]; /* the latest of that number */
        }
    }
    return found;
}

/* A process that has given another part: several monitors were in it at one time. */
static resmon_run_process *joined(struct resmon_run *run, size_t seen_count, int64_t pid,
                                  int64_t start_ns, int64_t end_ns)
{
    for (size_t i = seen_count; i < run->process_count; i++) {
        resmon_run_process *process = &run->processes[i];
        if (pid != 0 && process->pid == pid && process->start_ns <= end_ns &&
            start_ns <= process->start_ns + process->duration_ns) {
            return process;
        }
    }
    return NULL;
}

static bool describe(struct resmon_run *run, resmon_run_process *process,
                     const struct resmon_run *part)
{
    const resmon_headline headline = rm_run_headline(part);
    const resmon_run_end end = rm_run_end(part);
    process->pid = pid_of(part);
    process->name = copy(run, rm_run_title(part));
    process->start_ns = part->info.start_realtime_ns - run->info.start_realtime_ns;
    process->duration_ns = part->info.duration_ns;
    process->cpu_s = headline.cpu_s;
    process->rss_peak_bytes = headline.rss_peak_bytes;
    process->rss_peak_provenance = headline.rss_peak_provenance;
    process->reason = end.reason;
    process->exit_status = end.exit_status;
    process->signal_number = end.signal_number;
    return process->name != NULL;
}

/* Of several parts of one process that of the longest time is shown. */
static bool put_process(struct resmon_run *run, size_t seen_count, const struct resmon_run *part)
{
    bool is_whole = true;
    int64_t pid = pid_of(part);
    int64_t start_ns = part->info.start_realtime_ns - run->info.start_realtime_ns;
    resmon_run_process *process = seen(run, seen_count, pid, start_ns);
    bool is_seen = process != NULL;
    if (!is_seen) {
        process = joined(run, seen_count, pid, start_ns, start_ns + part->info.duration_ns);
    }
    if (process == NULL) {
        process = &run->processes[run->process_count++];
        *process = (resmon_run_process){.duration_ns = -1};
    }
    if (!is_seen && part->info.duration_ns > process->duration_ns) {
        is_whole = describe(run, process, part);
    }
    process->scopes += part->scope_count;
    return is_whole;
}

static void add_costs(resmon_run_info *info, const resmon_run_info *part)
{
    if (!isnan(part->scopes_ns)) {
        info->scopes_ns =
            isnan(info->scopes_ns) ? part->scopes_ns : info->scopes_ns + part->scopes_ns;
    }
    info->dropped_threads += part->dropped_threads;
    info->dropped_scopes += part->dropped_scopes;
    info->dropped_paths += part->dropped_paths;
    info->stale_ends += part->stale_ends;
    info->misordered_ends += part->misordered_ends;
}

static bool join(struct joining *joining, struct resmon_run *run, struct resmon_run *const *parts,
                 size_t count)
{
    bool is_whole = true;
    size_t seen_count = run->process_count;
    for (size_t i = 0; i < count; i++) {
        add_part(joining, parts[i]);
        add_costs(&run->info, &parts[i]->info);
        is_whole &= put_process(run, seen_count, parts[i]);
    }
    run->scopes = rm_arena_alloc(&run->strings, joining->path_count, sizeof *run->scopes);
    int64_t *index_of = rm_alloc(joining->path_count, sizeof *index_of);
    is_whole &= run->scopes != NULL && index_of != NULL && put_scopes(joining, run, index_of);
    rm_free(index_of);
    return is_whole;
}

/* Room for as many more processes. */
static bool widen(struct resmon_run *run, size_t more)
{
    resmon_run_process *wider =
        rm_arena_alloc(&run->strings, run->process_count + more, sizeof *wider);
    if (wider == NULL) {
        return false;
    }
    if (run->process_count > 0) {
        memcpy(wider, run->processes, run->process_count * sizeof *wider);
    }
    run->processes = wider;
    return true;
}

resmon_status rm_run_join(struct resmon_run *run, struct resmon_run *const *parts, size_t count)
{
    size_t total = 1, most = 1;
    struct joining joining = {.path_count = 1};
    for (size_t i = 0; i < count; i++) {
        total += parts[i]->scope_count;
        most = parts[i]->scope_count > most ? parts[i]->scope_count : most;
    }
    joining.paths = rm_alloc(total, sizeof *joining.paths);
    joining.path_of = rm_alloc(most, sizeof *joining.path_of);
    bool is_whole = joining.paths != NULL && joining.path_of != NULL && widen(run, count) &&
                    join(&joining, run, parts, count);
    rm_free(joining.paths);
    rm_free(joining.path_of);
    return is_whole ? rm_scope_names_sum(run) : out_of_memory();
}
