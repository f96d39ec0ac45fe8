/* SPDX-License-Identifier: MIT */
#include "run/join.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "run/headline.h"
#include "run/scope_sums.h"

/* The row of a process that was also observed from outside: it keeps the values of the kernel. */
static resmon_run_process *seen(struct resmon_run *run, size_t seen_count, int64_t pid,
                                int64_t start_ns)
{
    resmon_run_process *found = NULL;
    for (size_t i = 0; i < seen_count; i++) {
        if (run->processes[i].pid == pid && run->processes[i].start_ns <= start_ns) {
            found = &run->processes[i]; /* the latest process with this pid */
        }
    }
    return found;
}

/* The row of a process with a part that is joined already: a process may run several monitors. */
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

static void describe(struct resmon_run *run, resmon_run_process *process,
                     const struct resmon_run *part)
{
    const resmon_headline headline = rm_run_headline(part);
    const resmon_run_end end = rm_run_end(part);
    process->pid = rm_run_pid(part);
    process->name = rm_arena_keep(&run->strings, rm_run_title(part), SIZE_MAX);
    process->start_ns = part->info.start_realtime_ns - run->info.start_realtime_ns;
    process->duration_ns = part->info.duration_ns;
    process->cpu_s = headline.cpu_s;
    process->cpu_provenance = RESMON_PROVENANCE_MEASURED;
    process->rss_peak_bytes = headline.rss_peak_bytes;
    process->rss_peak_provenance = headline.rss_peak_provenance;
    process->reason = end.reason;
    process->exit_status = end.exit_status;
    process->signal_number = end.signal_number;
}

/* Of several parts of one process, the part with the longest duration is shown. */
static void put_process(struct resmon_run *run, size_t seen_count, const struct resmon_run *part)
{
    int64_t pid = rm_run_pid(part);
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
        describe(run, process, part);
    }
    process->scopes += part->scope_count;
}

static bool join(struct rm_run_paths *paths, struct resmon_run *run,
                 struct resmon_run *const *parts, size_t count)
{
    bool is_whole = true;
    size_t seen_count = run->process_count;
    for (size_t i = 0; i < count; i++) {
        is_whole &= rm_run_paths_add(paths, parts[i], (int64_t)i);
        rm_run_add_costs(&run->info, &parts[i]->info);
        put_process(run, seen_count, parts[i]);
    }
    return is_whole && rm_run_paths_put(paths, run);
}

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
    struct rm_run_paths paths = {0};
    bool is_whole = widen(run, count) && join(&paths, run, parts, count);
    rm_run_paths_free(&paths);
    return is_whole ? rm_scope_names_sum(run)
                    : rm_error(RESMON_ENOMEM, "out of memory for the scopes of several processes");
}
