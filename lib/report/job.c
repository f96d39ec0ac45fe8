/* SPDX-License-Identifier: MIT */
#include "report/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/columns.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "metric/metric.h"
#include "report/table.h"
#include "run/job_use.h"
#include "run/spread.h"

#define MOST_NAMES    4    /* of nodes, in a row */
#define UNEVEN        0.05 /* an imbalance that is worth a word */
#define WATCHED_SHARE 0.95
#define NAME_COLUMNS  32
#define NAME_BYTES    160

typedef char cell[RM_TABLE_CELL_BYTES];

/* ---- who is there --------------------------------------------------------------------------- */

static size_t nodes_in(const struct resmon_run *run, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < run->node_count; i++) {
        count += strcmp(run->nodes[i].state, state) == 0 ? 1 : 0;
    }
    return count;
}

/* "n3, n7" or "12 of them" */
static void name_nodes(const struct resmon_run *run, const char *state, size_t count,
                       char text[RM_ROWS_CLAUSE_BYTES])
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, RM_ROWS_CLAUSE_BYTES - 1);
    for (size_t i = 0; i < run->node_count && count <= MOST_NAMES; i++) {
        if (strcmp(run->nodes[i].state, state) == 0) {
            rm_buffer_printf(&buffer, "%s%s", buffer.length > 0 ? ", " : "", run->nodes[i].name);
        }
    }
    if (count > MOST_NAMES || buffer.status != RESMON_OK) {
        (void)snprintf(text, RM_ROWS_CLAUSE_BYTES, "%zu of them", count);
    } else {
        (void)rm_text_set(text, RM_ROWS_CLAUSE_BYTES, buffer.text != NULL ? buffer.text : "");
    }
    rm_buffer_free(&buffer);
}

static void add_node_hours(struct rm_rows *rows, const struct resmon_run *run)
{
    char text[RM_HUMAN_BYTES];
    double hours = 0.0;
    for (size_t i = 0; i < run->node_count; i++) {
        hours += fmax((double)run->nodes[i].duration_ns, 0.0) / 3.6e12;
    }
    if (hours >= 0.01) {
        rm_human_fixed(text, hours, hours < 10.0 ? 2 : 0);
        rm_rows_clause(rows, "%s node hours", text);
    }
}

/* The process that has the machine's figures ended before others of its node. */
static bool is_half_watched(const resmon_run_node *node)
{
    return node->host_duration_ns >= 0 &&
           (double)node->host_duration_ns < WATCHED_SHARE * (double)node->duration_ns;
}

static void add_half_watched(struct rm_rows *rows, const struct resmon_run *run)
{
    char watched[RM_HUMAN_BYTES], all[RM_HUMAN_BYTES];
    const resmon_run_node *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < run->node_count; i++) {
        if (is_half_watched(&run->nodes[i])) {
            first = first != NULL ? first : &run->nodes[i];
            count++;
        }
    }
    if (count > 0) {
        rm_human_seconds(watched, (double)first->host_duration_ns * 1e-9);
        rm_human_seconds(all, (double)first->duration_ns * 1e-9);
        rm_rows_clause(rows, "%.64s%s observed for %s of %s only, as its first process ended then",
                       first->name, count > 1 ? " and others were" : " was", watched, all);
    }
}

static void add_clocks(struct rm_rows *rows, const struct resmon_run *run)
{
    char text[RM_HUMAN_BYTES];
    double error_ns = 0.0;
    for (size_t i = 0; i < run->node_count; i++) {
        error_ns = fmax(error_ns, run->nodes[i].clock_error_ns);
    }
    if (run->node_count > 1 && error_ns > 0.0) {
        rm_human_seconds(text, error_ns * 1e-9);
        rm_rows_clause(rows, "node clocks may be wrong by up to %s", text);
    }
}

static void add_differences(struct rm_rows *rows, const struct resmon_run *run)
{
    char text[RM_DIFFERENCES_BYTES];
    rm_run_node_differences(run, text);
    if (text[0] != '\0') {
        rm_rows_clause(rows, "machines differ in: %s", text);
    }
}

static void write_nodes_row(struct rm_rows *rows, const struct resmon_run *run)
{
    static const struct {
        const char *state, *said;
    } states[] = {
        {"missing", "missing"}, {"interrupted", "interrupted"}, {"running", "still running"}};
    char text[RM_HUMAN_BYTES], names[RM_ROWS_CLAUSE_BYTES];
    rm_human_count(text, (double)run->node_count);
    rm_rows_begin(rows, "nodes", text);
    for (size_t i = 0; i < RM_ARRAY_LEN(states); i++) {
        size_t count = nodes_in(run, states[i].state);
        if (count > 0) {
            name_nodes(run, states[i].state, count, names);
            rm_rows_clause(rows, "%s: %s", states[i].said, names);
        }
    }
    add_node_hours(rows, run);
    add_half_watched(rows, run);
    add_differences(rows, run);
    add_clocks(rows, run);
    rm_rows_end(rows);
}

static size_t failed_ranks(const struct resmon_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->rank_count; i++) {
        count += run->ranks[i].reason > RESMON_END_FINISHED ? 1 : 0;
    }
    return count;
}

/* A rank that ended as the job did, which is the worst end of all. */
static size_t worst_rank(const struct resmon_run *run)
{
    size_t i = 0;
    while (i + 1 < run->rank_count && run->ranks[i].reason != run->end.reason) {
        i++;
    }
    return i;
}

/* ---- how evenly ----------------------------------------------------------------------------- */

static void add_imbalance(struct rm_rows *rows, const struct resmon_run *run)
{
    resmon_scope_spread worst;
    char name[NAME_BYTES], rank[RM_RANK_NAME_BYTES], longest[RM_HUMAN_BYTES], mean[RM_HUMAN_BYTES];
    char lost[RM_HUMAN_BYTES];
    int64_t scope = rm_run_most_uneven(run, UNEVEN, &worst);
    if (scope >= 0) {
        rm_columns_shorten(name, sizeof name, run->scopes[scope].name, NAME_COLUMNS);
        rm_rank_describe(run, (size_t)worst.max_rank, rank);
        rm_human_seconds(longest, worst.max_ns * 1e-9);
        rm_human_seconds(mean, worst.mean_ns * 1e-9);
        rm_human_seconds(lost, worst.lost_ns * 1e-9);
        rm_rows_clause(rows, "slowest in %s: %s, %s where the mean is %s", name, rank, longest,
                       mean);
        rm_rows_clause(rows, "%s lost by waiting for it, if all wait", lost);
    }
}

static void write_ranks_row(struct rm_rows *rows, const struct resmon_run *run)
{
    char text[RM_HUMAN_BYTES], expected[RM_HUMAN_BYTES], rank[RM_RANK_NAME_BYTES], end[64];
    double all = rm_run_fact_number(run, "job", "rank_count");
    size_t failed = failed_ranks(run);
    rm_human_count(text, (double)run->rank_count);
    rm_rows_begin(rows, "ranks", text);
    if (all > (double)run->rank_count) {
        rm_human_count(expected, all);
        rm_rows_clause(rows, "of %s", expected);
    }
    if (failed > 0 && run->rank_count > 0) {
        rm_rank_describe(run, worst_rank(run), rank);
        rm_end_describe(run, end);
        rm_rows_clause(rows, "%zu ended badly: %s %s", failed, rank, end);
    }
    add_imbalance(rows, run);
    rm_rows_end(rows);
}

void rm_report_job_rows(struct rm_rows *rows, const struct resmon_run *run)
{
    if (run->node_count > 0) {
        write_nodes_row(rows, run);
    }
    if (run->rank_count > 0) {
        write_ranks_row(rows, run);
    }
}

/* ---- tables --------------------------------------------------------------------------------- */

static void set(cell target, const char *text)
{
    (void)rm_text_set(target, RM_TABLE_CELL_BYTES, text);
}

static void set_figure(cell target, void (*print)(char text[RM_HUMAN_BYTES], double value),
                       double value)
{
    char text[RM_HUMAN_BYTES] = "-";
    if (!isnan(value)) {
        print(text, value);
    }
    set(target, text);
}

static double mean_of(const resmon_column *column)
{
    return column != NULL ? column->mean : RM_NAN;
}

static double highest_of(const resmon_column *column)
{
    return column != NULL ? column->max : RM_NAN;
}

static double total_of(const resmon_column *column)
{
    return column != NULL ? column->last : RM_NAN;
}

static void add_node(struct rm_table *table, const struct resmon_run *run, size_t index)
{
    const resmon_run_node *node = &run->nodes[index];
    cell *row = rm_table_row(table);
    if (row == NULL) {
        return;
    }
    bool is_there = node->duration_ns >= 0;
    double cpu_j = total_of(rm_run_node_statistics(run, RM_NODE_ENERGY_CPU, index));
    double ram_j = total_of(rm_run_node_statistics(run, RM_NODE_ENERGY_RAM, index));
    double gpu_j = total_of(rm_run_node_statistics(run, RM_NODE_ENERGY_GPU, index));
    set(row[0], node->name);
    set(row[1], node->state);
    set_figure(row[2], rm_human_count, (double)node->ranks);
    set_figure(row[3], rm_human_seconds, is_there ? (double)node->start_ns * 1e-9 : RM_NAN);
    set_figure(row[4], rm_human_seconds, is_there ? (double)node->duration_ns * 1e-9 : RM_NAN);
    set_figure(row[5], rm_human_percent,
               mean_of(rm_run_node_statistics(run, RM_NODE_CPU_PERCENT, index)));
    set_figure(row[6], rm_human_bytes,
               highest_of(rm_run_node_statistics(run, RM_NODE_MEM_USED, index)));
    set_figure(row[7], rm_human_percent, mean_of(rm_run_node_statistics(run, RM_GPU_UTIL, index)));
    set_figure(row[8], rm_human_joules,
               isnan(cpu_j) ? RM_NAN
                            : cpu_j + (isnan(ram_j) ? 0.0 : ram_j) + (isnan(gpu_j) ? 0.0 : gpu_j));
}

/* Those that did not end well are shown before all others, where not all fit. */
static void write_nodes(struct rm_buffer *buffer, const struct resmon_run *run, size_t width,
                        size_t most)
{
    static const char *const headings[] = {"node", "",       "ranks", "began", "wall",
                                           "CPU",  "memory", "GPU",   "energy"};
    struct rm_table table;
    size_t left = most;
    rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 2);
    table.width = width;
    for (int is_well = 0; is_well < 2; is_well++) {
        for (size_t i = 0; i < run->node_count && left > 0; i++) {
            bool is_shown = run->node_count <= most
                                ? is_well == 0
                                : (strcmp(run->nodes[i].state, "stopped") == 0) == (is_well == 1);
            if (is_shown) {
                add_node(&table, run, i);
                left--;
            }
        }
    }
    rm_table_end(&table, buffer);
    if (run->node_count > most) {
        rm_buffer_printf(buffer, "  and %zu more nodes\n", run->node_count - most);
    }
    rm_buffer_puts(buffer, "\n");
}

struct uneven {
    size_t scope;
    resmon_scope_spread spread;
};

static int by_loss(const void *left, const void *right)
{
    const struct uneven *a = left, *b = right;
    if (a->spread.lost_ns != b->spread.lost_ns) {
        return a->spread.lost_ns > b->spread.lost_ns ? -1 : 1;
    }
    return a->scope < b->scope ? -1 : 1;
}

/* Scopes that several ranks were in, those that lost most first; NULL: none, or no memory. */
static struct uneven *list_scopes(const struct resmon_run *run, size_t *ret_count)
{
    struct uneven *list = rm_alloc(run->scope_count, sizeof *list);
    *ret_count = 0;
    for (size_t i = 0; i < run->scope_count && list != NULL; i++) {
        const resmon_scope_spread spread = rm_run_spread(run, i);
        if (spread.ranks > 1) {
            list[(*ret_count)++] = (struct uneven){i, spread};
        }
    }
    if (*ret_count > 0) {
        qsort(list, *ret_count, sizeof *list, by_loss);
    }
    return list;
}

static void add_scope(struct rm_table *table, const struct resmon_run *run,
                      const struct uneven *one)
{
    cell *row = rm_table_row(table);
    const resmon_scope_spread *spread = &one->spread;
    char rank[RM_RANK_NAME_BYTES], name[NAME_BYTES];
    if (row == NULL) {
        return;
    }
    rm_columns_shorten(name, RM_TABLE_CELL_BYTES, run->scopes[one->scope].name, NAME_COLUMNS);
    rm_rank_describe(run, (size_t)spread->max_rank, rank);
    set(row[0], name);
    set_figure(row[1], rm_human_count, (double)spread->ranks);
    set_figure(row[2], rm_human_seconds, spread->min_ns * 1e-9);
    set_figure(row[3], rm_human_seconds, spread->mean_ns * 1e-9);
    set_figure(row[4], rm_human_seconds, spread->max_ns * 1e-9);
    set_figure(row[5], rm_human_seconds, spread->lost_ns * 1e-9);
    if (!isnan(spread->imbalance)) {
        rm_human_fixed(row[6], spread->imbalance, 2);
    }
    set(row[7], rank);
}

static void write_scopes(struct rm_buffer *buffer, const struct resmon_run *run, size_t width,
                         size_t most)
{
    static const char *const headings[] = {
        "phase over ranks", "ranks", "least", "mean", "most", "lost", "imbalance", "slowest"};
    struct rm_table table;
    size_t count;
    struct uneven *list = list_scopes(run, &count);
    if (count > 0) {
        rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 1);
        table.width = width;
        table.is_left[7] = true;
        for (size_t i = 0; i < count && i < most; i++) {
            add_scope(&table, run, &list[i]);
        }
        rm_table_end(&table, buffer);
        rm_buffer_puts(buffer, "  imbalance = max/mean - 1;  lost = sum of (slowest - own time), "
                               "if all ranks wait\n\n");
    }
    rm_free(list);
}

void rm_report_job(struct rm_buffer *buffer, const struct resmon_run *run, size_t width,
                   struct rm_report_job_limits limits)
{
    if (run->node_count > 0) {
        write_nodes(buffer, run, width, limits.nodes);
        write_scopes(buffer, run, width, limits.scopes);
    }
}
