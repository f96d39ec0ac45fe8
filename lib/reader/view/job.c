/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "merge/job_use.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/scope_sums.h"

#define MOST_NODES    1024 /* rows, */
#define BRIEF_NODES   8    /* and in the brief report */
#define MOST_RANKS    1024
#define MOST_SCOPES   400
#define BRIEF_SCOPES  5
#define MOST_NAMES    4    /* of nodes, in a clause */
#define UNEVEN        0.05 /* imbalance that is reported */
#define WATCHED_SHARE 0.95
#define NAME_COLUMNS  32

/* ---- answers: nodes ------------------------------------------------------------------------- */

/* "n3, n7" or "12 of them": the nodes with a state; "" without any. */
static const char *nodes_text(struct rm_page *page, const struct resmon_run *run, const char *state)
{
    const char *names[MOST_NAMES] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < run->node_count; i++) {
        if (strcmp(run->nodes[i].state, state) == 0) {
            names[count < MOST_NAMES ? count : 0] = run->nodes[i].name;
            count++;
        }
    }
    return count <= MOST_NAMES ? rm_page_join(page, ", ", names, count)
                               : rm_page_print(page, "%zu of them", count);
}

static void add_node_hours(struct rm_page *page, struct rm_page_row *row,
                           const struct resmon_run *run)
{
    double hours = 0.0;
    for (size_t i = 0; i < run->node_count; i++) {
        hours += fmax((double)run->nodes[i].duration_ns, 0.0) / 3.6e12;
    }
    if (hours >= 0.01) {
        rm_page_clause(page, row, "%s node hours",
                       rm_page_fixed(page, hours, hours < 10.0 ? 2 : 0));
    }
}

/* The process that measured the node ended before other processes on it. */
static bool is_half_watched(const resmon_run_node *node)
{
    return node->host_duration_ns >= 0 &&
           (double)node->host_duration_ns < WATCHED_SHARE * (double)node->duration_ns;
}

static void add_half_watched(struct rm_page *page, struct rm_page_row *row,
                             const struct resmon_run *run)
{
    const resmon_run_node *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < run->node_count; i++) {
        if (is_half_watched(&run->nodes[i])) {
            first = first != NULL ? first : &run->nodes[i];
            count++;
        }
    }
    if (count > 0) {
        rm_page_clause(page, row,
                       "%.64s%s observed for %s of %s only, as its first process ended then",
                       first->name, count > 1 ? " and others were" : " was",
                       rm_page_value(page, (double)first->host_duration_ns * 1e-9, "s"),
                       rm_page_value(page, (double)first->duration_ns * 1e-9, "s"));
    }
}

static void add_clocks(struct rm_page *page, struct rm_page_row *row, const struct resmon_run *run)
{
    double error_ns = 0.0;
    for (size_t i = 0; i < run->node_count; i++) {
        error_ns = fmax(error_ns, run->nodes[i].clock_error_ns);
    }
    if (run->node_count > 1 && error_ns > 0.0) {
        rm_page_clause(page, row, "node clocks may be wrong by up to %s",
                       rm_page_value(page, error_ns * 1e-9, "s"));
    }
}

static void write_nodes_row(struct rm_page *page, struct rm_page_rows *rows,
                            const struct resmon_run *run)
{
    static const struct {
        const char *state, *label;
    } states[] = {
        {"missing", "missing"}, {"interrupted", "interrupted"}, {"running", "still running"}};
    char differences[RM_DIFFERENCES_BYTES];
    struct rm_page_row *row =
        rm_page_answer(page, rows, "nodes", rm_page_value(page, (double)run->node_count, ""));
    for (size_t i = 0; i < RM_ARRAY_LEN(states); i++) {
        const char *names = nodes_text(page, run, states[i].state);
        if (names[0] != '\0') {
            rm_page_clause(page, row, "%s: %s", states[i].label, names);
        }
    }
    add_node_hours(page, row, run);
    add_half_watched(page, row, run);
    rm_run_node_differences(run, differences);
    if (differences[0] != '\0') {
        rm_page_clause(page, row, "machines differ in: %s", differences);
    }
    add_clocks(page, row, run);
}

/* ---- answers: ranks ------------------------------------------------------------------------- */

static size_t failed_ranks(const struct resmon_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->rank_count; i++) {
        count += run->ranks[i].reason > RESMON_END_FINISHED ? 1 : 0;
    }
    return count;
}

/* The first rank with the end of the job, which is the worst end of its ranks. */
static size_t worst_rank(const struct resmon_run *run)
{
    size_t i = 0;
    while (i + 1 < run->rank_count && run->ranks[i].reason != run->end.reason) {
        i++;
    }
    return i;
}

static void add_imbalance(struct rm_page *page, struct rm_page_row *row,
                          const struct resmon_run *run)
{
    resmon_scope_spread worst;
    char rank[RM_RANK_NAME_BYTES];
    int64_t scope = rm_run_most_uneven(run, UNEVEN, &worst);
    if (scope >= 0) {
        rm_rank_describe(run, (size_t)worst.max_rank, rank);
        rm_page_clause(page, row, "slowest in %s: %s, %s where the mean is %s",
                       rm_page_shortened(page, run->scopes[scope].name, NAME_COLUMNS), rank,
                       rm_page_value(page, worst.max_ns * 1e-9, "s"),
                       rm_page_value(page, worst.mean_ns * 1e-9, "s"));
        rm_page_clause(page, row, "%s lost by waiting for it, if all wait",
                       rm_page_value(page, worst.lost_ns * 1e-9, "s"));
    }
}

static void write_ranks_row(struct rm_page *page, struct rm_page_rows *rows,
                            const struct resmon_run *run)
{
    char rank[RM_RANK_NAME_BYTES], end[64];
    double all = rm_run_fact_number(run, "job", "rank_count");
    size_t failed = failed_ranks(run);
    struct rm_page_row *row =
        rm_page_answer(page, rows, "ranks", rm_page_value(page, (double)run->rank_count, ""));
    if (all > (double)run->rank_count) {
        rm_page_clause(page, row, "of %s", rm_page_value(page, all, ""));
    }
    if (failed > 0) {
        rm_rank_describe(run, worst_rank(run), rank);
        rm_subject_end(run, end);
        rm_page_clause(page, row, "%zu ended badly: %s %s", failed, rank, end);
    }
    add_imbalance(page, row, run);
}

void rm_job_answers(const struct rm_subject *subject, struct rm_page_rows *rows)
{
    const struct resmon_run *run = subject->run;
    if (run->node_count > 0) {
        write_nodes_row(subject->page, rows, run);
    }
    if (run->rank_count > 0) {
        write_ranks_row(subject->page, rows, run);
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Values of the machine while the job ran, by metrics of the node. */
static const struct node_figure {
    const char *key, *title, *unit;
    uint32_t metric;
    enum { MEAN, HIGHEST, TOTAL, SUM } of;
    enum rm_column_detail detail;
} node_figures[] = {
    {"cpu_percent", "CPU", "%", RM_NODE_CPU_PERCENT, MEAN, RM_COLUMN_BRIEF},
    {"used_bytes", "memory used", "B", RM_NODE_MEM_USED, HIGHEST, RM_COLUMN_BRIEF},
    {"gpu_percent", "GPU", "%", RM_GPU_UTIL, MEAN, RM_COLUMN_BRIEF},
    {"energy_j", "energy", "J", RM_NODE_ENERGY_CPU, SUM, RM_COLUMN_BRIEF},
    {"cpu_j", "CPU energy", "J", RM_NODE_ENERGY_CPU, TOTAL, RM_COLUMN_FULL},
    {"gpu_j", "GPU energy", "J", RM_NODE_ENERGY_GPU, TOTAL, RM_COLUMN_FULL},
    {"write_bytes", "written", "B", RM_NODE_DISK_WRITE_BYTES, TOTAL, RM_COLUMN_FULL},
    {"recv_bytes", "received", "B", RM_NODE_NET_EXT_RECV, TOTAL, RM_COLUMN_FULL},
};

enum { NODE_FIGURES = RM_ARRAY_LEN(node_figures) };

static double total_of(const struct resmon_run *run, uint32_t metric, size_t node)
{
    const resmon_column *column = rm_run_node_statistics(run, metric, node);
    return column != NULL ? column->last : RM_NAN;
}

/* The sum of the processors and the other components that are known. */
static double energy_of(const struct resmon_run *run, size_t node)
{
    double ram_j = total_of(run, RM_NODE_ENERGY_RAM, node);
    double gpu_j = total_of(run, RM_NODE_ENERGY_GPU, node);
    return total_of(run, RM_NODE_ENERGY_CPU, node) + (isnan(ram_j) ? 0.0 : ram_j) +
           (isnan(gpu_j) ? 0.0 : gpu_j);
}

static double figure_of(const struct resmon_run *run, const struct node_figure *figure, size_t node)
{
    const resmon_column *column = rm_run_node_statistics(run, figure->metric, node);
    return column == NULL          ? RM_NAN
           : figure->of == SUM     ? energy_of(run, node)
           : figure->of == MEAN    ? column->mean
           : figure->of == HIGHEST ? column->max
                                   : column->last;
}

/* A table of nodes while it is built. */
struct nodes {
    const struct resmon_run *run;
    struct rm_page *page;
    struct rm_page_table *table;
    struct rm_view_columns columns;
    double most[NODE_FIGURES]; /* the length of a whole bar; NaN: there is no such column */
};

static void set_bar(struct rm_page *page, struct rm_page_cell *cell, double value, const char *unit,
                    double most, const char *reason)
{
    rm_page_set_value(page, cell, value, unit, reason);
    if (cell->reason == NULL && most > 0.0) {
        rm_page_set_share(cell, value / most, 0.0);
    }
}

/* A missing node has no times. */
static void set_missing(const struct nodes *nodes, struct rm_page_cell *cells)
{
    for (size_t i = 0; i < nodes->columns.count; i++) {
        const char *key = nodes->columns.items[i]->key;
        if (strcmp(key, "start_s") == 0 || strcmp(key, "wall_s") == 0) {
            rm_page_set_missing(nodes->page, &cells[i], "the node is missing");
        }
    }
}

static void add_node(const struct nodes *nodes, size_t index)
{
    const resmon_run_node *node = &nodes->run->nodes[index];
    struct rm_page_cell *cells = rm_page_row(nodes->page, nodes->table);
    bool is_there = node->duration_ns >= 0;
    const char *why = is_there ? "not measured on this node" : "the node is missing";
    size_t used = nodes->columns.count;
    rm_columns_set(nodes->page, cells, &nodes->columns, node, why);
    if (!is_there) {
        set_missing(nodes, cells);
    }
    for (size_t f = 0; f < NODE_FIGURES; f++) {
        if (!isnan(nodes->most[f])) {
            set_bar(nodes->page, &cells[used++], figure_of(nodes->run, &node_figures[f], index),
                    node_figures[f].unit, nodes->most[f], why);
        }
    }
}

static void add_figures(struct nodes *nodes, enum rm_column_detail detail)
{
    for (size_t f = 0; f < NODE_FIGURES; f++) {
        nodes->most[f] = RM_NAN;
        for (size_t i = 0; i < nodes->run->node_count && node_figures[f].detail <= detail; i++) {
            nodes->most[f] = fmax(nodes->most[f], figure_of(nodes->run, &node_figures[f], i));
        }
        if (!isnan(nodes->most[f])) {
            (void)rm_page_column(nodes->table, node_figures[f].key, node_figures[f].title);
        }
    }
}

/* The rows are in the order of the run; if not all fit, those that did not end well come first. */
static bool is_in_round(const struct rm_page_table *table, size_t count, bool is_well, int round)
{
    return count <= table->room ? round == 0 : is_well == (round == 1);
}

static void add_nodes(const struct nodes *nodes)
{
    const struct resmon_run *run = nodes->run;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < run->node_count && nodes->table->count < nodes->table->room; i++) {
            bool is_well = strcmp(run->nodes[i].state, "stopped") == 0;
            if (is_in_round(nodes->table, run->node_count, is_well, round)) {
                add_node(nodes, i);
            }
        }
    }
}

struct rm_page_table *rm_job_nodes(const struct rm_subject *subject, enum rm_column_detail detail,
                                   size_t most)
{
    const struct resmon_run *run = subject->run;
    const struct rm_records records = {run->nodes, run->node_count, sizeof *run->nodes};
    struct nodes nodes = {.run = run,
                          .page = subject->page,
                          .columns = rm_columns_choose(RM_TABLE_nodes, detail, records)};
    most = most > 0 ? most : detail == RM_COLUMN_BRIEF ? BRIEF_NODES : MOST_NODES;
    nodes.table = run->node_count > 0 ? rm_columns_begin(subject->page, RM_TABLE_nodes) : NULL;
    if (nodes.table == NULL) {
        return NULL;
    }
    rm_columns_add(nodes.table, &nodes.columns);
    add_figures(&nodes, detail);
    rm_page_room(subject->page, nodes.table, run->node_count < most ? run->node_count : most);
    add_nodes(&nodes);
    if (run->node_count > nodes.table->count) {
        rm_page_note(nodes.table, rm_page_print(subject->page, "and %zu more nodes",
                                                run->node_count - nodes.table->count));
    }
    char differences[RM_DIFFERENCES_BYTES];
    rm_run_node_differences(run, differences);
    if (differences[0] != '\0' && detail == RM_COLUMN_FULL) {
        rm_page_note(nodes.table,
                     rm_page_print(subject->page, "The machines differ in: %s.", differences));
    }
    return nodes.table;
}

/* ---- ranks ---------------------------------------------------------------------------------- */

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

/* Bars, relative to the highest value of the column. */
static void add_bars(struct rm_page_table *table)
{
    static const char *const keys[] = {"wall_s", "cpu_s", "rss_peak_bytes"};
    for (size_t c = 0; c < table->column_count; c++) {
        double most = 0.0;
        bool has_bars = false;
        for (size_t k = 0; k < RM_ARRAY_LEN(keys); k++) {
            has_bars |= strcmp(table->columns[c].key, keys[k]) == 0;
        }
        for (size_t i = 0; i < table->count; i++) {
            most = fmax(most, rm_page_cells(table, i)[c].value); /* ignores NaN */
        }
        for (size_t i = 0; i < table->count && has_bars && most > 0.0; i++) {
            struct rm_page_cell *cell = &rm_page_cells(table, i)[c];
            if (cell->reason == NULL) {
                rm_page_set_share(cell, cell->value / most, 0.0);
            }
        }
    }
}

static bool ended_well(const resmon_run_rank *rank)
{
    return rank->reason == RESMON_END_FINISHED || rank->reason == RESMON_END_RUNNING;
}

struct rm_page_table *rm_job_ranks(const struct rm_subject *subject, enum rm_column_detail detail,
                                   size_t most)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    const struct rm_view_columns columns =
        rm_columns_choose(RM_TABLE_ranks, detail,
                          (struct rm_records){run->ranks, run->rank_count, sizeof *run->ranks});
    struct rm_page_table *table =
        run->rank_count > 0 ? rm_columns_begin(page, RM_TABLE_ranks) : NULL;
    if (table == NULL) {
        return NULL;
    }
    most = most > 0 ? most : MOST_RANKS;
    rm_page_column(table, "node", "node")->is_left = true;
    rm_columns_add(table, &columns);
    rm_page_column(table, "ended", "end")->is_wide = true;
    rm_page_room(page, table, run->rank_count < most ? run->rank_count : most);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < run->rank_count && table->count < table->room; i++) {
            const resmon_run_rank *rank = &run->ranks[i];
            if (is_in_round(table, run->rank_count, ended_well(rank), round)) {
                struct rm_page_cell *cells = rm_page_row(page, table);
                rm_page_set(&cells[0], rm_page_shown(page, run->nodes[rank->node].name));
                rm_columns_set(page, &cells[1], &columns, rank, "not in the run of this rank");
                rm_page_set(&cells[1 + columns.count], end_of(page, rank));
            }
        }
    }
    add_bars(table);
    if (table->count < run->rank_count) {
        rm_page_note(table, rm_page_print(page, "and %s more",
                                          rm_page_grouped(page, run->rank_count - table->count)));
    }
    return table;
}

/* ---- scopes --------------------------------------------------------------------------------- */

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

/* Scopes that several ranks entered, sorted by lost time; NULL: there is no memory. */
static struct uneven *list_scopes(struct rm_page *page, const struct resmon_run *run,
                                  size_t *ret_count)
{
    struct uneven *list = rm_page_alloc(page, run->scope_count, sizeof *list);
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

struct rm_page_table *rm_job_scopes(const struct rm_subject *subject, enum rm_column_detail detail,
                                    size_t most)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    size_t count;
    struct uneven *list = list_scopes(page, run, &count);
    most = most > 0 ? most : detail == RM_COLUMN_BRIEF ? BRIEF_SCOPES : MOST_SCOPES;
    if (count == 0) {
        return NULL;
    }
    const struct rm_view_columns columns = rm_columns_choose(
        RM_TABLE_over_ranks, detail, (struct rm_records){&list[0].spread, count, sizeof *list});
    struct rm_page_table *table = rm_columns_begin(page, RM_TABLE_over_ranks);
    if (table == NULL) {
        return NULL;
    }
    rm_page_column(table, "name", "scope over ranks")->is_left = true;
    rm_columns_add(table, &columns);
    rm_page_column(table, "slowest", "slowest")->is_left = true;
    rm_page_room(page, table, count < most ? count : most);
    for (size_t i = 0; i < count && i < most; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        char rank[RM_RANK_NAME_BYTES];
        rm_rank_describe(run, (size_t)list[i].spread.max_rank, rank);
        rm_page_set(&cells[0], rm_page_shown_at_most(page, run->scopes[list[i].scope].name, 200));
        rm_columns_set(page, &cells[1], &columns, &list[i].spread, "not known");
        rm_page_set(&cells[1 + columns.count], rm_page_shown(page, rank));
    }
    rm_page_note(table, "imbalance = max/mean - 1; lost = sum over ranks of (slowest - own time), "
                        "if all ranks wait at the end of the scope");
    return table;
}
