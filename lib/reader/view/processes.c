/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define MOST_ROWS  40 /* of processes; of more there are sums by name, */
#define MOST_NAMES 20 /* of the names with the most CPU time */

/* ---- a row for each ---------------------------------------------------------------------- */

struct tree {
    const struct resmon_run *run;
    struct rm_page *page;
    struct rm_page_table *table;
    struct rm_view_columns columns;
    bool *is_shown;
};

static const char *end_of(struct rm_page *page, const resmon_run_process *process)
{
    return process->signal_number > 0 ? rm_page_print(page, "signal %d", process->signal_number)
           : process->reason == RESMON_END_RUNNING ? "runs"
           : process->reason == RESMON_END_UNKNOWN
               ? RM_PAGE_UNKNOWN
               : rm_page_print(page, "%d", process->exit_status);
}

static void add_process(struct tree *tree, const resmon_run_process *process, uint32_t depth)
{
    struct rm_page_cell *cells = rm_page_row(tree->page, tree->table);
    rm_page_set(&cells[0], rm_page_shown(tree->page, process->name));
    cells[0].depth = depth;
    rm_columns_set(tree->page, &cells[1], &tree->columns, process, "not known");
    rm_page_set(&cells[1 + tree->columns.count], end_of(tree->page, process));
}

/* The last earlier process with the parent's pid (pids are reused). */
static int64_t parent_of(const struct resmon_run *run, size_t child)
{
    for (size_t i = child; i-- > 0;) {
        if (run->processes[i].pid == run->processes[child].parent_pid) {
            return (int64_t)i;
        }
    }
    return -1;
}

static void add_tree(struct tree *tree, size_t at, uint32_t depth)
{
    tree->is_shown[at] = true;
    add_process(tree, &tree->run->processes[at], depth);
    for (size_t i = at + 1; i < tree->run->process_count; i++) {
        if (!tree->is_shown[i] && parent_of(tree->run, i) == (int64_t)at) {
            add_tree(tree, i, depth + 1);
        }
    }
}

/* `is_tree`: children are below their parents; else the processes are in the order of the run. */
static struct rm_page_table *table_of(const struct rm_subject *subject,
                                      enum rm_column_detail detail, bool is_tree)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const struct rm_records records = {run->processes, run->process_count, sizeof *run->processes};
    struct tree tree = {.run = run,
                        .page = page,
                        .table = rm_columns_begin(page, RM_TABLE_processes),
                        .columns = rm_columns_choose(RM_TABLE_processes, detail, records),
                        .is_shown = rm_page_alloc(page, run->process_count, 1)};
    if (tree.table == NULL || tree.is_shown == NULL) {
        return NULL;
    }
    rm_page_column(tree.table, "name", "process")->is_left = true;
    rm_columns_add(tree.table, &tree.columns);
    (void)rm_page_column(tree.table, "exit", "exit");
    rm_page_room(page, tree.table, run->process_count);
    for (size_t i = 0; i < run->process_count; i++) {
        if (!is_tree) {
            add_process(&tree, &run->processes[i], 0);
        } else if (!tree.is_shown[i]) {
            add_tree(&tree, i, 0);
        }
    }
    return tree.table;
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

static void set_marked(struct rm_page *page, struct rm_page_cell *cell, double value,
                       const char *unit, const char *mark)
{
    rm_page_set_value(page, cell, value, unit, "not known");
    rm_page_mark(page, cell, mark);
}

static struct rm_page_table *names_table(struct rm_page *page, const struct resmon_run *run)
{
    static const char *const headers[] = {"program", "count",    "CPU",
                                          "longest", "peak RSS", "failed"};
    const resmon_run_process **sorted =
        rm_page_alloc(page, run->process_count, sizeof(const resmon_run_process *));
    struct sum *sums = rm_page_alloc(page, run->process_count, sizeof *sums);
    if (sorted == NULL || sums == NULL) {
        return NULL;
    }
    size_t count = sum_up(run, sorted, sums);
    size_t shown = count < MOST_NAMES ? count : MOST_NAMES;
    struct rm_page_table *table = rm_page_table_new(
        page, "programs",
        rm_page_print(page, "Processes: %s, by program", rm_page_grouped(page, run->process_count)),
        RM_HEADERS(headers, RM_ARRAY_LEN(headers), 1), shown);
    for (size_t i = 0; i < shown; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_page_shown(page, sums[i].name));
        set_marked(page, &cells[1], (double)sums[i].count, "", "");
        set_marked(page, &cells[2], sums[i].cpu_s, "s", sums[i].has_least ? ">=" : "");
        set_marked(page, &cells[3], sums[i].longest_s, "s", "");
        set_marked(page, &cells[4], sums[i].rss_peak_bytes, "B", sums[i].is_sampled ? "~" : "");
        set_marked(page, &cells[5], (double)sums[i].failed, "", "");
    }
    rm_page_note(table, count > shown ? rm_page_print(page, "and %zu programs with less CPU time",
                                                      count - shown)
                                      : "");
    rm_page_note(table, "each of them: resmon show FILE processes");
    return table;
}

/* ---- all --------------------------------------------------------------------------------- */

/* Whether processes were observed from outside, and did not only record their own scopes. */
static bool are_observed(const struct resmon_run *run)
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

struct rm_page_table *rm_processes_table(const struct rm_subject *subject,
                                         enum rm_column_detail detail, size_t most)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    if (most > 0) {
        return run->process_count > 0 ? table_of(subject, detail, false) : NULL;
    }
    if (!are_observed(run)) {
        return NULL;
    }
    struct rm_page_table *table =
        run->process_count <= MOST_ROWS ? table_of(subject, detail, true) : names_table(page, run);
    if (has_hidden(run)) {
        rm_page_note(table, ">=: read up to 20 ms before its end: the kernel hides the events of a "
                            "program that runs with other privileges or is not readable");
    }
    if (run->info.dropped_processes > 0) {
        rm_page_note(table, rm_page_print(page, "and %s processes that had no room",
                                          rm_page_grouped(page, run->info.dropped_processes)));
    }
    return table;
}
