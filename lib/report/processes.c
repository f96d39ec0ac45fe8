/* SPDX-License-Identifier: MIT */
#include "report/processes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/human.h"
#include "base/text.h"
#include "report/table.h"

#define MOST_ROWS  40 /* one by one; */
#define MOST_NAMES 20 /* more are shown by name, those with most CPU time */

typedef char cell[RM_TABLE_CELL_BYTES];

static void set(cell target, const char *text)
{
    (void)rm_text_set(target, RM_TABLE_CELL_BYTES, text);
}

static void set_seconds(cell target, double seconds, bool is_least)
{
    char text[RM_HUMAN_BYTES];
    if (isnan(seconds)) {
        set(target, "-");
        return;
    }
    rm_human_seconds(text, seconds);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", is_least ? ">=" : "", text);
}

/* A mark that was looked at before the end may have risen since. */
static void set_peak(cell target, double bytes, bool is_sampled)
{
    char text[RM_HUMAN_BYTES];
    if (isnan(bytes)) {
        set(target, "-");
        return;
    }
    rm_human_bytes(text, bytes);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", is_sampled ? "~" : "", text);
}

/* ---- one by one -------------------------------------------------------------------------- */

struct tree {
    const struct resmon_run *run;
    struct rm_table table;
    bool is_shown[MOST_ROWS];
};

static void set_end(cell target, const resmon_run_process *process)
{
    if (process->signal_number > 0) {
        (void)snprintf(target, RM_TABLE_CELL_BYTES, "signal %d", process->signal_number);
    } else if (process->reason == RESMON_END_RUNNING) {
        set(target, "runs");
    } else if (process->reason == RESMON_END_UNKNOWN) {
        set(target, "-");
    } else {
        (void)snprintf(target, RM_TABLE_CELL_BYTES, "%d", process->exit_status);
    }
}

static void add_process(struct tree *tree, const resmon_run_process *process, unsigned depth)
{
    cell *row = rm_table_row(&tree->table);
    if (row == NULL) {
        return;
    }
    unsigned indent = depth < 16 ? 2 * depth : 32;
    (void)snprintf(row[0], sizeof row[0], "%*s%.40s", (int)indent, "", process->name);
    (void)snprintf(row[1], sizeof row[1], "%lld", (long long)process->pid);
    set_seconds(row[2], (double)process->start_ns * 1e-9, false);
    set_seconds(row[3], (double)process->duration_ns * 1e-9, false);
    set_seconds(row[4], process->cpu_s, process->cpu_provenance == RESMON_PROVENANCE_SAMPLED);
    set_peak(row[5], process->rss_peak_bytes,
             process->rss_peak_provenance == RESMON_PROVENANCE_SAMPLED);
    set_end(row[6], process);
}

/* The latest of the parent's number that began before. */
static bool is_child(const struct resmon_run *run, size_t child, size_t parent)
{
    const resmon_run_process *processes = run->processes;
    for (size_t i = child; i-- > 0;) {
        if (processes[i].pid == processes[child].parent_pid) {
            return i == parent;
        }
    }
    return false;
}

static void add_tree(struct tree *tree, size_t at, unsigned depth)
{
    tree->is_shown[at] = true;
    add_process(tree, &tree->run->processes[at], depth);
    for (size_t i = at + 1; i < tree->run->process_count; i++) {
        if (!tree->is_shown[i] && is_child(tree->run, i, at)) {
            add_tree(tree, i, depth + 1);
        }
    }
}

static void write_tree(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    static const char *const headings[] = {"", "pid", "began", "wall", "CPU", "peak RSS", "exit"};
    struct tree tree = {.run = run};
    rm_table_begin(&tree.table, headings, sizeof headings / sizeof *headings, 1);
    tree.table.width = width;
    for (size_t i = 0; i < run->process_count; i++) {
        if (!tree.is_shown[i]) {
            add_tree(&tree, i, 0);
        }
    }
    rm_table_end(&tree.table, buffer);
}

/* ---- by name ----------------------------------------------------------------------------- */

struct sum {
    const char *name;
    size_t count, failed;
    double cpu_s, longest_s, rss_peak_bytes;
    bool is_sampled;
    bool has_least;
};

static int by_name(const void *left, const void *right)
{
    const resmon_run_process *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static int by_cpu(const void *left, const void *right)
{
    const struct sum *a = left, *b = right;
    return (a->cpu_s < b->cpu_s) - (a->cpu_s > b->cpu_s);
}

static void add_to(struct sum *sum, const resmon_run_process *process)
{
    bool has_failed = process->reason == RESMON_END_FAILED || process->reason == RESMON_END_KILLED;
    double peak = process->rss_peak_bytes;
    sum->name = process->name;
    sum->count++;
    sum->failed += has_failed ? 1 : 0;
    sum->cpu_s += isnan(process->cpu_s) ? 0.0 : process->cpu_s;
    sum->has_least |= process->cpu_provenance == RESMON_PROVENANCE_SAMPLED;
    sum->longest_s = fmax(sum->longest_s, (double)process->duration_ns * 1e-9);
    if (!(peak <= sum->rss_peak_bytes)) {
        sum->rss_peak_bytes = isnan(peak) ? sum->rss_peak_bytes : peak;
        sum->is_sampled = process->rss_peak_provenance == RESMON_PROVENANCE_SAMPLED;
    }
}

static size_t sum_up(const struct resmon_run *run, const resmon_run_process **sorted,
                     struct sum *sums)
{
    size_t count = 0;
    for (size_t i = 0; i < run->process_count; i++) {
        sorted[i] = &run->processes[i];
    }
    qsort(sorted, run->process_count, sizeof(const resmon_run_process *), by_name);
    for (size_t i = 0; i < run->process_count; i++) {
        if (count == 0 || strcmp(sums[count - 1].name, sorted[i]->name) != 0) {
            sums[count++] = (struct sum){.rss_peak_bytes = RM_NAN};
        }
        add_to(&sums[count - 1], sorted[i]);
    }
    qsort(sums, count, sizeof *sums, by_cpu);
    return count;
}

static void write_sums(struct rm_buffer *buffer, const struct sum *sums, size_t count, size_t width)
{
    static const char *const headings[] = {"", "count", "CPU", "longest", "peak RSS", "failed"};
    struct rm_table table;
    rm_table_begin(&table, headings, sizeof headings / sizeof *headings, 1);
    table.width = width;
    for (size_t i = 0; i < count && i < MOST_NAMES; i++) {
        cell *row = rm_table_row(&table);
        if (row == NULL) {
            break;
        }
        set(row[0], sums[i].name);
        rm_human_count(row[1], (double)sums[i].count);
        set_seconds(row[2], sums[i].cpu_s, sums[i].has_least);
        set_seconds(row[3], sums[i].longest_s, false);
        set_peak(row[4], sums[i].rss_peak_bytes, sums[i].is_sampled);
        rm_human_count(row[5], (double)sums[i].failed);
    }
    rm_table_end(&table, buffer);
    if (count > MOST_NAMES) {
        rm_buffer_printf(buffer, "  and %zu programs with less CPU time\n", count - MOST_NAMES);
    }
}

static void write_names(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    const resmon_run_process **sorted =
        rm_alloc(run->process_count, sizeof(const resmon_run_process *));
    struct sum *sums = rm_alloc(run->process_count, sizeof *sums);
    if (sorted != NULL && sums != NULL) {
        write_sums(buffer, sums, sum_up(run, sorted, sums), width);
    } else {
        rm_buffer_puts(buffer, "  (not shown: out of memory)\n");
    }
    rm_free(sorted);
    rm_free(sums);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Those that only recorded themselves are known by their scopes, which is why they did. */
static bool are_seen(const struct resmon_run *run)
{
    for (size_t i = 0; i < run->process_count; i++) {
        if (run->processes[i].parent_pid > 0 || run->processes[i].scopes == 0) {
            return true;
        }
    }
    return false;
}

static bool has_hidden(const struct resmon_run *run)
{
    for (size_t i = 0; i < run->process_count; i++) {
        if (run->processes[i].cpu_provenance == RESMON_PROVENANCE_SAMPLED) {
            return true;
        }
    }
    return false;
}

void rm_report_processes(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    if (!are_seen(run)) {
        return;
    }
    bool is_short = run->process_count <= MOST_ROWS;
    rm_buffer_printf(buffer, "\nProcesses: %zu%s\n", run->process_count,
                     is_short ? "" : ", by program; each of them: resmon show FILE processes");
    if (is_short) {
        write_tree(buffer, run, width);
    } else {
        write_names(buffer, run, width);
    }
    if (has_hidden(run)) {
        rm_buffer_puts(buffer,
                       "  >=  read up to 20 ms before its end: the kernel hides the events of a "
                       "program that\n      runs with other privileges or is not readable\n");
    }
    if (run->info.dropped_processes > 0) {
        rm_buffer_printf(buffer, "  and %llu processes that had no room\n",
                         (unsigned long long)run->info.dropped_processes);
    }
}
