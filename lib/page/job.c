/* SPDX-License-Identifier: MIT */
#include "page/job.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "page/scopes.h"
#include "run/job_use.h"
#include "run/record.h"
#include "run/spread.h"

#define MOST_NODES  1024 /* rows */
#define MOST_RANKS  1024
#define MOST_SCOPES 400
#define MISSING     "the node is missing"
#define NOT_SAID    "not measured on this node"

static const char *count_text(struct rm_page *page, uint64_t count)
{
    return rm_page_grouped(page, count);
}

/* A figure, or why it is not known; `most`: what a whole bar stands for. */
static void set_bar(struct rm_page *page, struct rm_page_cell *cell, double value, const char *unit,
                    double most, const char *reason)
{
    if (isnan(value) || !(most > 0.0)) {
        rm_page_set_value(page, cell, value, unit, reason);
    } else {
        rm_page_set_share(cell, rm_page_value(page, value, unit), value / most, 0.0);
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static const struct node_figure {
    const char *unit;
    uint32_t metric;
    enum { MEAN, HIGHEST, TOTAL } of;
} node_figures[] = {
    {"%", RM_NODE_CPU_PERCENT, MEAN},   {"B", RM_NODE_MEM_USED, HIGHEST},
    {"%", RM_GPU_UTIL, MEAN},           {"J", RM_NODE_ENERGY_CPU, TOTAL},
    {"J", RM_NODE_ENERGY_GPU, TOTAL},   {"B", RM_NODE_DISK_WRITE_BYTES, TOTAL},
    {"B", RM_NODE_NET_EXT_RECV, TOTAL},
};

static const char *const node_headers[] = {
    "node",       "state",      "ranks",   "began",   "wall",        "clock off by",
    "CPUs",       "processors", "memory",  "CPU",     "memory used", "GPU",
    "CPU energy", "GPU energy", "written", "received"};

enum { NODE_COLUMNS = RM_ARRAY_LEN(node_headers), FIRST_FIGURE = 9 };

static double figure_of(const struct resmon_run *run, const struct node_figure *figure, size_t node)
{
    const resmon_column *column = rm_run_node_statistics(run, figure->metric, node);
    return column == NULL          ? RM_NAN
           : figure->of == MEAN    ? column->mean
           : figure->of == HIGHEST ? column->max
                                   : column->last;
}

/* What whole bars stand for. */
static void find_most(const struct resmon_run *run, double most[RM_ARRAY_LEN(node_figures)])
{
    for (size_t f = 0; f < RM_ARRAY_LEN(node_figures); f++) {
        most[f] = 0.0;
        for (size_t i = 0; i < run->node_count; i++) {
            most[f] = fmax(most[f], figure_of(run, &node_figures[f], i));
        }
    }
}

static void add_node(const struct rm_subject *subject, struct rm_page_table *table, size_t index,
                     const double most[RM_ARRAY_LEN(node_figures)])
{
    const resmon_run_node *node = &subject->run->nodes[index];
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    bool is_there = node->duration_ns >= 0;
    const char *why = is_there ? NOT_SAID : MISSING;
    rm_page_set(&cells[0], rm_page_shown(page, node->name));
    rm_page_set(&cells[1], rm_page_shown(page, node->state));
    rm_page_set(&cells[2], count_text(page, node->ranks));
    rm_page_set_value(page, &cells[3], is_there ? (double)node->start_ns / 1e9 : RM_NAN, "s", why);
    rm_page_set_value(page, &cells[4], is_there ? (double)node->duration_ns / 1e9 : RM_NAN, "s",
                      why);
    rm_page_set_value(page, &cells[5], node->clock_error_ns / 1e9, "s", why);
    rm_page_set_value(page, &cells[6], node->cpus, "", why);
    rm_page_set(&cells[7], rm_page_shown(page, node->cpu_model));
    rm_page_set_value(page, &cells[8], node->memory_bytes, "B", why);
    for (size_t i = 0; i < RM_ARRAY_LEN(node_figures); i++) {
        const struct node_figure *figure = &node_figures[i];
        set_bar(page, &cells[FIRST_FIGURE + i], figure_of(subject->run, figure, index),
                figure->unit, most[i], why);
    }
}

struct rm_page_table *rm_job_nodes(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    double most[RM_ARRAY_LEN(node_figures)];
    size_t count = run->node_count < MOST_NODES ? run->node_count : MOST_NODES;
    if (count == 0) {
        return NULL;
    }
    struct rm_page_table *table =
        rm_page_table_new(subject->page, "nodes", "Nodes", NODE_COLUMNS, 2, count);
    if (table == NULL) {
        return NULL;
    }
    rm_page_headers(table, node_headers);
    find_most(run, most);
    for (size_t i = 0; i < count; i++) {
        add_node(subject, table, i, most);
    }
    char differences[RM_DIFFERENCES_BYTES];
    rm_run_node_differences(run, differences);
    if (differences[0] != '\0') {
        rm_page_note(table,
                     rm_page_print(subject->page, "The machines differ in: %s.", differences));
    }
    return table;
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static const char *const rank_headers[] = {"rank",     "node", "program", "began",  "wall", "CPU",
                                           "peak RSS", "read", "written", "energy", "end"};

enum { RANK_COLUMNS = RM_ARRAY_LEN(rank_headers) };

static const char *end_of(struct rm_page *page, const resmon_run_rank *rank)
{
    const char *word = rm_word_of(RM_TYPE_END, rank->reason);
    const char *text = rm_page_shown_at_most(page, rank->text, 120);
    const char *number = "";
    if (rank->signal_number > 0) {
        number = rm_page_print(page, " by signal %d", rank->signal_number);
    } else if (rank->exit_status > 0) {
        number = rm_page_print(page, " with status %d", rank->exit_status);
    }
    return rm_page_print(page, "%s%s%s%s", word != NULL ? word : "", number,
                         text[0] != '\0' ? ": " : "", text);
}

static void add_rank(const struct rm_subject *subject, struct rm_page_table *table,
                     const resmon_run_rank *rank, const double most[3])
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *why = "not in the run of this rank";
    rm_page_set(&cells[0], rank->rank >= 0 ? rm_page_print(page, "%" PRId64, rank->rank) : "-");
    rm_page_set(&cells[1], rm_page_shown(page, subject->run->nodes[rank->node].name));
    rm_page_set(&cells[2], rm_page_shown_at_most(page, rank->name, 80));
    rm_page_set_value(page, &cells[3], (double)rank->start_ns / 1e9, "s", why);
    set_bar(page, &cells[4], (double)rank->duration_ns / 1e9, "s", most[0], why);
    set_bar(page, &cells[5], rank->cpu_s, "s", most[1], why);
    set_bar(page, &cells[6], rank->rss_peak_bytes, "B", most[2], why);
    rm_page_set_value(page, &cells[7], rank->read_bytes, "B", why);
    rm_page_set_value(page, &cells[8], rank->write_bytes, "B", why);
    rm_page_set_value(page, &cells[9], rank->energy_j, "J", why);
    rm_page_set(&cells[10], end_of(page, rank));
}

static bool ended_well(const resmon_run_rank *rank)
{
    return rank->reason == RESMON_END_FINISHED || rank->reason == RESMON_END_RUNNING;
}

struct rm_page_table *rm_job_ranks(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    double most[3] = {0.0};
    size_t count = run->rank_count < MOST_RANKS ? run->rank_count : MOST_RANKS;
    if (count == 0) {
        return NULL;
    }
    struct rm_page_table *table =
        rm_page_table_new(subject->page, "ranks", "Ranks", RANK_COLUMNS, 3, count);
    if (table == NULL) {
        return NULL;
    }
    rm_page_headers(table, rank_headers);
    table->wide = UINT64_C(1) << (RANK_COLUMNS - 1);
    for (size_t i = 0; i < run->rank_count; i++) {
        most[0] = fmax(most[0], (double)run->ranks[i].duration_ns / 1e9);
        most[1] = fmax(most[1], run->ranks[i].cpu_s);
        most[2] = fmax(most[2], run->ranks[i].rss_peak_bytes);
    }
    for (int is_well = 0; is_well < 2; is_well++) {
        for (size_t i = 0; i < run->rank_count && table->count < count; i++) {
            if (ended_well(&run->ranks[i]) == (is_well == 1)) {
                add_rank(subject, table, &run->ranks[i], most);
            }
        }
    }
    if (count < run->rank_count) {
        rm_page_note(table, rm_page_print(subject->page, "and %s more",
                                          count_text(subject->page, run->rank_count - count)));
    }
    return table;
}

/* ---- scopes --------------------------------------------------------------------------------- */

static const char *const scope_headers[] = {"phase", "slowest", "ranks",     "least",
                                            "mean",  "most",    "imbalance", "lost"};

enum { SCOPE_COLUMNS = RM_ARRAY_LEN(scope_headers) };

static void add_scope(const struct rm_subject *subject, struct rm_page_table *table, size_t scope,
                      const resmon_scope_spread *spread, double most_lost_ns)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    char rank[RM_RANK_NAME_BYTES];
    rm_rank_describe(subject->run, (size_t)spread->max_rank, rank);
    rm_page_set(&cells[0], rm_scopes_name(page, &subject->run->scopes[scope], false));
    rm_page_set(&cells[1], rm_page_shown(page, rank));
    rm_page_set(&cells[2], count_text(page, spread->ranks));
    rm_page_set_value(page, &cells[3], spread->min_ns / 1e9, "s", "");
    rm_page_set_value(page, &cells[4], spread->mean_ns / 1e9, "s", "");
    rm_page_set_value(page, &cells[5], spread->max_ns / 1e9, "s", "");
    rm_page_set(&cells[6], isnan(spread->imbalance) ? RM_PAGE_UNKNOWN
                                                    : rm_page_fixed(page, spread->imbalance, 2));
    set_bar(page, &cells[7], spread->lost_ns / 1e9, "s", most_lost_ns / 1e9, "");
}

struct rm_page_table *rm_job_scopes(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    size_t count = 0;
    double most_ns = 0.0;
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_scope_spread spread = rm_run_spread(run, i);
        count += spread.ranks > 1 ? 1 : 0;
        most_ns = fmax(most_ns, spread.ranks > 1 ? spread.lost_ns : 0.0);
    }
    count = count < MOST_SCOPES ? count : MOST_SCOPES;
    struct rm_page_table *table =
        count > 0 ? rm_page_table_new(subject->page, "over_ranks", "Phases over ranks",
                                      SCOPE_COLUMNS, 2, count)
                  : NULL;
    if (table == NULL) {
        return NULL;
    }
    rm_page_headers(table, scope_headers);
    for (size_t i = 0; i < run->scope_count && table->count < count; i++) {
        const resmon_scope_spread spread = rm_run_spread(run, i);
        if (spread.ranks > 1) {
            add_scope(subject, table, i, &spread, most_ns);
        }
    }
    rm_page_note(table, "imbalance = max/mean - 1; lost = sum over ranks of (slowest - own time), "
                        "if all ranks wait at the end of the phase.");
    return table;
}
