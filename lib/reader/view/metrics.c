/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/carbon.h>

#include "base/compiler.h"
#include "base/human.h"
#include "metric/metric.h"
#include "metric/view.h"
#include "run/energy.h"
#include "run/headline.h"
#include "run/record.h"

#define MOST_REASONS 4 /* of nodes, in one cell */
#define MOST_COLUMNS 4 /* runs side by side */
#define NEAR_PERCENT 90.0
#define GROUP_ROWS   8
#define NO_READING   "there was no valid reading"

/* ---- all metrics ---------------------------------------------------------------------------- */

struct rm_page_table *rm_metrics_catalogue(const struct rm_subject *subject,
                                           enum rm_column_detail detail, size_t most)
{
    (void)detail;
    (void)most;
    struct rm_page *page = subject->page;
    static const char *const headers[] = {"metric", "unit", "kind", "of", "origin", "description"};
    static const char *const keys[] = {"name", "unit", "kind", "level", "origin", "help"};
    size_t count = resmon_metric_count();
    struct rm_page_table *table = rm_page_table_new(
        page, "catalogue", "Metrics", RM_HEADERS(headers, RM_ARRAY_LEN(headers), 6), count);
    for (size_t i = 0; table != NULL && i < RM_ARRAY_LEN(keys); i++) {
        table->columns[i].key = keys[i];
        table->columns[i].is_wide = i + 1 == RM_ARRAY_LEN(keys);
        table->columns[i].title = i == 4 ? NULL : headers[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct rm_metric *metric = rm_metric_row(i);
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_metric_name(metric));
        rm_page_set(&cells[1], rm_metric_unit(metric));
        rm_page_set(&cells[2], rm_word_of(RM_TYPE_KIND, metric->kind & RM_KIND_MASK));
        rm_page_set(&cells[3], rm_word_of(RM_TYPE_LEVEL, metric->level));
        rm_page_set(&cells[4], rm_metric_origin(metric));
        rm_page_set(&cells[5], rm_metric_help(metric));
    }
    return table;
}

struct rm_page_table *rm_metrics_all(const struct rm_subject *subject, enum rm_column_detail detail,
                                     size_t most)
{
    (void)most;
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    resmon_column *known = rm_page_alloc(page, run->column_count, sizeof *known);
    size_t count = 0;
    for (size_t i = 0; known != NULL && i < run->column_count; i++) {
        if (run->columns[i].n > 0) {
            known[count++] = run->columns[i];
        }
    }
    return rm_columns_table(page, RM_TABLE_metrics, detail,
                            (struct rm_records){known, count, sizeof *known}, NO_READING);
}

/* ---- the most important metrics ----------------------------------------------------------- */

enum { MEAN = 1, P95, MAX, TOTAL, FIGURES };

/* A gauge of an interval without a unit is a ratio. */
static void set_figure(struct rm_page *page, struct rm_page_cell *cell,
                       const struct rm_metric *metric, double value, bool is_rate)
{
    bool is_gauge = (metric->kind & RM_KIND_MASK) == RESMON_GAUGE;
    char text[RM_HUMAN_BYTES];
    if (is_gauge && (metric->kind & RM_INTERVAL) != 0 && strcmp(rm_metric_unit(metric), "1") == 0) {
        rm_human_fixed(text, value, 2);
    } else {
        rm_human_value(text, value, rm_metric_unit(metric), is_rate);
    }
    if (isfinite(value)) {
        rm_page_set(cell, rm_page_print(page, "%s", text));
        cell->value = value;
        cell->is_figure = true;
    } else {
        rm_page_set_missing(page, cell, NO_READING);
    }
}

static struct rm_page_cell *add_metric(struct rm_page *page, struct rm_page_table *table,
                                       const resmon_column *column, const char *label,
                                       const struct rm_metric *metric)
{
    bool is_counter = column->kind == RESMON_COUNTER;
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], rm_page_shown(page, label));
    set_figure(page, &cells[MEAN], metric, column->mean, is_counter);
    set_figure(page, &cells[P95], metric, column->p95, is_counter);
    set_figure(page, &cells[MAX], metric, column->max, is_counter);
    if (is_counter) {
        set_figure(page, &cells[TOTAL], metric, column->last, false);
    }
    return cells;
}

typedef const char *(*label_fn)(struct rm_page *page, const resmon_column *column,
                                const struct rm_view_row *row);

static const char *label_gpu(struct rm_page *page, const resmon_column *column,
                             const struct rm_view_row *row)
{
    return column->instance[0] != '\0'
               ? rm_page_print(page, "GPU %.40s, %s", column->instance, row->label)
               : rm_page_print(page, "GPUs, %s", row->label); /* of a merged run */
}

/* Events that the options name.  The kernel's clocks count nanoseconds. */
static const char *label_event(struct rm_page *page, const resmon_column *column,
                               const struct rm_view_row *row)
{
    bool is_clock = strncmp(column->instance, "task-clock", 10) == 0 ||
                    strncmp(column->instance, "cpu-clock", 9) == 0;
    return rm_page_print(page, "%s %.50s%s", row->label, column->instance, is_clock ? " (ns)" : "");
}

/* All instances of the metrics of a group, in the order of the run's columns. */
static void add_instances(struct rm_page *page, struct rm_page_table *table,
                          const struct resmon_run *run, const char *group, label_fn label)
{
    struct rm_view_row rows[GROUP_ROWS];
    size_t count = 0;
    for (size_t at = 0;
         count < GROUP_ROWS && rm_view_next(RM_VIEW_SUMMARY, group, &at, &rows[count]);) {
        count++;
    }
    for (size_t i = 0; i < run->column_count; i++) {
        const resmon_column *column = &run->columns[i];
        for (size_t k = 0; k < count && column->n > 0 && rm_run_is_of_all(run, column); k++) {
            if (strcmp(column->metric, rm_metric_name(rows[k].metric)) == 0) {
                (void)add_metric(page, table, column, label(page, column, &rows[k]),
                                 rows[k].metric);
            }
        }
    }
}

/* Metrics without a label in views.def, by the titles of their columns. */
static void add_others(struct rm_page *page, struct rm_page_table *table,
                       const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < run->column_count; i++) {
            const resmon_column *column = &run->columns[i];
            if (strcmp(column->metric, rm_metric_name(row.metric)) == 0 && column->n > 0 &&
                rm_run_is_of_all(run, column)) {
                (void)add_metric(page, table, column, rm_subject_column_name(page, column),
                                 row.metric);
            }
        }
    }
}

/* Samples miss peaks between them.  The kernel's high-water mark is exact if it rose during the
 * run; otherwise the sampled peak is a lower bound. */
static void correct_rss_max(struct rm_page *page, struct rm_page_cell *cell,
                            const struct resmon_run *run)
{
    const resmon_headline headline = rm_run_headline(run);
    bool is_exact = headline.rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    rm_page_set_value(page, cell, headline.rss_peak_bytes, "B", NO_READING);
    rm_page_mark(page, cell, is_exact ? "" : ">= ");
}

static void add_named(struct rm_page *page, struct rm_page_table *table,
                      const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "run", &at, &row);) {
        int64_t column = rm_run_column_of(run, row.metric->id, NULL);
        if (column >= 0 && run->columns[column].n > 0) {
            struct rm_page_cell *cells =
                add_metric(page, table, &run->columns[column], row.label, row.metric);
            if (row.metric->id == RM_PROC_MEM_RSS && run->node_count == 0) {
                correct_rss_max(page, &cells[MAX], run);
            }
        }
    }
}

/* Metrics of the whole life of the process: the maximum only. */
static void add_life(struct rm_page *page, struct rm_page_table *table,
                     const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "life", &at, &row);) {
        const resmon_column *stats = rm_run_statistics_of(run, row.metric->id, NULL);
        if (stats != NULL) {
            struct rm_page_cell *cells = rm_page_row(page, table);
            rm_page_set(&cells[0], row.label);
            set_figure(page, &cells[MAX], row.metric, stats->max, false);
        }
    }
}

struct rm_page_table *rm_metrics_table(const struct rm_subject *subject)
{
    static const char *const headers[FIGURES] = {"metric", "mean", "p95", "max", "total"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table =
        run->column_count > 0
            ? rm_page_table_new(page, "summary", "Metrics", RM_HEADERS(headers, FIGURES, 1),
                                run->column_count + FIGURES)
            : NULL;
    if (table == NULL) {
        return NULL;
    }
    add_named(page, table, run);
    add_instances(page, table, run, "event", label_event);
    add_instances(page, table, run, "gpu", label_gpu);
    add_life(page, table, run);
    add_others(page, table, run);
    return table->count > 0 ? table : NULL;
}

/* ---- the memory limit ---------------------------------------------------------------------- */

bool rm_metrics_are_of_limit(const struct resmon_run *run, const resmon_run_source *source)
{
    return strcmp(source->name, "cgroup_mem") == 0 && source->status == RESMON_OK &&
           source->failures == 0 && rm_run_statistics_of(run, RM_CG_MEM_LIMIT, NULL) != NULL;
}

/* "times out of memory (oom): 2; " */
static const char *events_text(struct rm_page *page, const struct resmon_run *run)
{
    struct rm_view_row row;
    const char *text = "";
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "limit", &at, &row);) {
        const resmon_column *stats = rm_run_statistics_of(run, row.metric->id, NULL);
        if (stats != NULL && stats->last > 0.0) {
            text = rm_page_print(page, "%s%s: %s; ", text, row.label,
                                 rm_page_value(page, stats->last, ""));
        }
    }
    return text;
}

const char *rm_memory_limit_text(struct rm_page *page, const struct resmon_run *run)
{
    const resmon_column *limit = rm_run_statistics_of(run, RM_CG_MEM_LIMIT, NULL);
    const resmon_column *percent = rm_run_statistics_of(run, RM_CG_MEM_PERCENT, NULL);
    if (limit == NULL || percent == NULL) {
        return NULL;
    }
    bool is_killed =
        strcmp(run->info.state, "stopped") != 0 && strcmp(run->info.state, "running") != 0;
    const char *events = events_text(page, run);
    if (!is_killed && events[0] == '\0' && !(percent->max >= NEAR_PERCENT)) {
        return NULL;
    }
    return rm_page_print(
        page, "%s; %sat most %s used, %s %s", rm_page_value(page, limit->last, "B"), events,
        rm_page_value(page, percent->max, "%"), rm_page_value(page, percent->last, "%"),
        is_killed ? "at the last sample" : "at the end");
}

/* ---- nodes ------------------------------------------------------------------------------ */

/* Sets a node value with a unit prefix. */
static void set_node_value(const struct rm_subject *subject, struct rm_page_cell *cell,
                           size_t index)
{
    static const struct {
        const char *unit, *peoples;
        double factor;
    } units[] = {{"h", "s", 3600.0}, {"MiB", "B", 1048576.0}};
    const struct rm_view_row row = rm_node_summary_row(index);
    double value = rm_node_summary_value(subject->run, index);
    const char *unit = row.unit, *metrics[8];
    size_t count = 0;
    struct rm_view_row one;
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        if (strcmp(row.unit, units[i].unit) == 0) {
            unit = units[i].peoples;
            value *= units[i].factor;
        }
    }
    for (size_t i = 0; !isfinite(value) && count < RM_ARRAY_LEN(metrics) &&
                       rm_view_next(RM_VIEW_NODE, NULL, &i, &one);) {
        if (strcmp(one.label, row.label) == 0) {
            metrics[count++] = rm_metric_name(one.metric);
        }
    }
    rm_page_set_value(subject->page, cell, value, unit,
                      isfinite(value) ? "" : rm_subject_why(subject, metrics, count));
}

/* If no value of any run is known: a table of one row with the reasons.  Else NULL. */
static struct rm_page_table *nothing_table(const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    const char **reasons = rm_page_alloc(page, count * RM_NODE_SUMMARY_KEYS, sizeof *reasons);
    size_t found = 0;
    for (size_t i = 0; reasons != NULL && i < count * RM_NODE_SUMMARY_KEYS; i++) {
        struct rm_page_cell cell;
        set_node_value(&subjects[i / RM_NODE_SUMMARY_KEYS], &cell, i % RM_NODE_SUMMARY_KEYS);
        if (cell.reason == NULL) {
            return NULL;
        }
        reasons[found++] = cell.reason;
    }
    if (reasons == NULL) {
        return NULL;
    }
    size_t kept = rm_distinct_texts(reasons, found);
    static const char *const headers[] = {"figure", "value"};
    struct rm_page_table *table =
        rm_page_table_new(page, "node", "Node values", RM_HEADERS(headers, 2, 2), 1);
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], "none is known");
    rm_page_set(&cells[1],
                rm_page_join(page, "; ", reasons, kept < MOST_REASONS ? kept : MOST_REASONS));
    return table;
}

static struct rm_page_table *columns_table(const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    const char *headers[RM_PAGE_COLUMNS] = {"figure", "name"};
    for (size_t i = 0; i < count; i++) {
        headers[2 + i] = count == 1 ? "value" : subjects[i].label;
    }
    struct rm_page_table *table = rm_page_table_new(
        page, "node", "Node values", RM_HEADERS(headers, 2 + count, 2), RM_NODE_SUMMARY_KEYS);
    for (size_t k = 0; k < RM_NODE_SUMMARY_KEYS; k++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_node_summary_row(k).group);
        rm_page_set(&cells[1], rm_node_summary_key(k));
        for (size_t i = 0; i < count; i++) {
            set_node_value(&subjects[i], &cells[2 + i], k);
        }
    }
    return table;
}

static struct rm_page_table *rows_table(const struct rm_subject *subjects, size_t count,
                                        bool is_cpu)
{
    struct rm_page *page = subjects[0].page;
    const char *headers[RM_PAGE_COLUMNS] = {"node"};
    size_t keys[RM_NODE_SUMMARY_KEYS], used = 0;
    for (size_t k = 0; k < RM_NODE_SUMMARY_KEYS; k++) {
        if ((strstr(rm_node_summary_key(k), "cpu") != NULL) == is_cpu) {
            headers[1 + used] = rm_node_summary_row(k).group;
            keys[used++] = k;
        }
    }
    struct rm_page_table *table =
        rm_page_table_new(page, is_cpu ? "node_cpu" : "node_rest",
                          is_cpu ? "Node values: CPU" : "Node values: memory, disks, network",
                          RM_HEADERS(headers, 1 + used, 1), count);
    for (size_t i = 0; i < count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], subjects[i].label);
        for (size_t k = 0; k < used; k++) {
            set_node_value(&subjects[i], &cells[1 + k], keys[k]);
        }
    }
    return table;
}

size_t rm_metrics_of_nodes(const struct rm_subject *subjects, size_t count,
                           struct rm_page_table *tables[RM_NODE_TABLES])
{
    struct rm_page_table *nothing = nothing_table(subjects, count);
    if (nothing != NULL || count <= MOST_COLUMNS) {
        tables[0] = nothing != NULL ? nothing : columns_table(subjects, count);
        return tables[0] != NULL ? 1 : 0;
    }
    tables[0] = rows_table(subjects, count, true);
    tables[1] = rows_table(subjects, count, false);
    return tables[0] != NULL && tables[1] != NULL ? 2 : 0;
}

/* ---- energy --------------------------------------------------------------------------------- */

/* A row below the components. */
struct sum {
    const char *label, *known, *unit;
    double node, tree;
    const char *method;
};

static const char *method_of_all(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *parts[2] = {"", ""};
    if (energy->modelled_share > 0.0) {
        parts[0] = rm_page_print(page, "%s %% of it by a model",
                                 rm_page_fixed(page, energy->modelled_share * 100.0, 0));
    }
    if (isfinite(energy->rest_j)) {
        parts[1] = rm_page_print(page, "%s of other programs and idle",
                                 rm_page_value(page, energy->rest_j, "J"));
    }
    return rm_page_join(page, "; ", parts, RM_ARRAY_LEN(parts));
}

static const char *method_of_carbon(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *basis = rm_subject_basis(subject);
    const char *place = energy->place[0] != '\0'      ? rm_page_shown(page, energy->place)
                        : strcmp(basis, "world") == 0 ? "the world average"
                                                      : basis;
    if (!isfinite(energy->g_per_kwh)) {
        return "";
    }
    const char *year = energy->year != 0 ? rm_page_print(page, ", %d", energy->year) : "";
    return rm_page_print(page, "%s g/kWh: %s%s", rm_page_fixed(page, energy->g_per_kwh, 0), place,
                         year);
}

#define FUELS 3
#define SUMS  (3 + FUELS) /* rows below the components */

static void add_sums(const struct rm_subject *subject, struct rm_page_table *table)
{
    static const char alone[] = "CO2, if all of it came from this fuel";
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *reason = energy->remark != NULL && energy->remark[0] != '\0'
                             ? energy->remark
                             : "no component is known";
    const struct rm_run_cost node = rm_run_cost_of(energy, energy->node_j);
    const struct rm_run_cost tree = rm_run_cost_of(energy, energy->tree_j);
    const struct sum sums[SUMS] = {
        {"all", rm_word_of(RM_TYPE_PROVENANCE, energy->provenance), "J", energy->node_j,
         energy->tree_j, method_of_all(subject)},
        {"electricity", "", "Wh", node.facility_kwh * 1000.0, tree.facility_kwh * 1000.0,
         isfinite(energy->pue) ? rm_page_print(page, "PUE %s", rm_page_fixed(page, energy->pue, 2))
                               : ""},
        {"CO2eq", rm_subject_basis(subject), "g", energy->node_gco2eq, energy->tree_gco2eq,
         method_of_carbon(subject)},
        {"coal", "", "g", node.coal_kg * 1e3, tree.coal_kg * 1e3, alone},
        {"natural gas", "", "g", node.natural_gas_kg * 1e3, tree.natural_gas_kg * 1e3, alone},
        {"petroleum", "", "g", node.petroleum_kg * 1e3, tree.petroleum_kg * 1e3, alone},
    };
    size_t count = isfinite(node.coal_kg) || isfinite(tree.coal_kg) ? SUMS : SUMS - FUELS;
    for (size_t i = 0; i < count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], sums[i].label);
        rm_page_set(&cells[1], sums[i].known);
        rm_page_set_value(page, &cells[2], sums[i].node, sums[i].unit, reason);
        rm_page_set_value(page, &cells[3], sums[i].tree, sums[i].unit, reason);
        rm_page_set(&cells[4], sums[i].method);
    }
}

static struct rm_page_table *parts_table(struct rm_page *page, const struct resmon_run *run,
                                         enum rm_column_detail detail, size_t more)
{
    const struct rm_view_columns columns =
        rm_columns_choose(RM_TABLE_energy, detail, (struct rm_records){NULL, 0, 0});
    struct rm_page_table *table = rm_columns_begin(page, RM_TABLE_energy);
    if (table == NULL) {
        return NULL;
    }
    rm_columns_add(table, &columns);
    rm_page_room(page, table, RM_ENERGY_PARTS + more);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        const resmon_energy_part part = rm_run_energy_part(run, i);
        rm_columns_set(page, rm_page_row(page, table), &columns, &part,
                       part.method[0] != '\0' ? part.method : "not known");
    }
    return table;
}

struct rm_page_table *rm_energy_table(const struct rm_subject *subject,
                                      enum rm_column_detail detail, size_t most)
{
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    struct rm_page_table *table =
        subject->has_energy ? parts_table(page, subject->run, detail, SUMS) : NULL;
    if (table == NULL || most > 0) {
        return table;
    }
    add_sums(subject, table);
    if (isnan(energy->node_j) && !isnan(energy->tree_j)) {
        rm_page_note(table, "The machine's energy is in the run of another process of this host.");
    }
    if (energy->source[0] != '\0') {
        rm_page_note(table, rm_page_print(page, "Source of the intensity: %s",
                                          rm_page_shown(page, energy->source)));
    }
    rm_page_note(table, rm_page_shown(page, energy->remark));
    if (energy->basis == RESMON_CARBON_BASIS_WORLD) {
        rm_page_note(table, "The location of this machine is not known: set RESMON_COUNTRY=FR, or "
                            "use /etc/resmon/site.conf.");
    }
    return table;
}
