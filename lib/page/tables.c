/* SPDX-License-Identifier: MIT */
#include "page/tables.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "metric/view.h"
#include "report/cost.h"
#include "run/energy.h"
#include "run/node_summary.h"
#include "run/record.h"
#include "setup/options.h"

#define MOST_ROWS      1000 /* of what a run has tens of */
#define MOST_TAGS      500
#define TAG_CHARACTERS 300
#define MOST_REASONS   4 /* of nodes, in one cell */
#define MOST_COLUMNS   4 /* nodes side by side */

static size_t at_most(size_t rows)
{
    return rows < MOST_ROWS ? rows : MOST_ROWS;
}

static const char *seconds_text(struct rm_page *page, double ns)
{
    return rm_page_value(page, ns / 1e9, "s");
}

/* ---- energy ----------------------------------------------------------------------------- */

static void add_part(const struct rm_subject *subject, struct rm_page_table *table, size_t index)
{
    struct rm_page *page = subject->page;
    const resmon_energy_part part = rm_run_energy_part(subject->run, index);
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *why = part.method[0] != '\0' ? part.method : "not known";
    rm_page_set(&cells[0], rm_page_shown(page, part.name));
    rm_page_set(&cells[1], rm_word_of(RM_TYPE_PROVENANCE, part.provenance));
    rm_page_set_value(page, &cells[2], part.node_j, "J", why);
    rm_page_set_value(page, &cells[3], part.tree_j, "J", why);
    rm_page_set(&cells[4], rm_page_shown(page, part.method));
}

/* A row of what the parts come to. */
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

struct rm_page_table *rm_table_of_energy(const struct rm_subject *subject)
{
    static const char *const headers[] = {"", "how known", "machine", "program's share", "method"};
    struct rm_page *page = subject->page;
    const resmon_energy *energy = &subject->energy;
    const char *reason = energy->remark != NULL && energy->remark[0] != '\0'
                             ? energy->remark
                             : "no component is known";
    if (!subject->has_energy) {
        return NULL;
    }
    const struct rm_run_cost node = rm_run_cost_of(energy, energy->node_j);
    const struct rm_run_cost tree = rm_run_cost_of(energy, energy->tree_j);
    const struct sum sums[] = {
        {"all", rm_word_of(RM_TYPE_PROVENANCE, energy->provenance), "J", energy->node_j,
         energy->tree_j, method_of_all(subject)},
        {"electricity", "", "Wh", node.facility_kwh * 1000.0, tree.facility_kwh * 1000.0,
         isfinite(energy->pue) ? rm_page_print(page, "PUE %s", rm_page_fixed(page, energy->pue, 2))
                               : ""},
        {"CO2eq", rm_subject_basis(subject), "g", energy->node_gco2eq, energy->tree_gco2eq,
         method_of_carbon(subject)},
    };
    struct rm_page_table *table = rm_page_table_new(page, "energy", "Energy", RM_ARRAY_LEN(headers),
                                                    2, RM_ENERGY_PARTS + RM_ARRAY_LEN(sums));
    rm_page_headers(table, headers);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        add_part(subject, table, i);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(sums); i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], sums[i].label);
        rm_page_set(&cells[1], sums[i].known);
        rm_page_set_value(page, &cells[2], sums[i].node, sums[i].unit, reason);
        rm_page_set_value(page, &cells[3], sums[i].tree, sums[i].unit, reason);
        rm_page_set(&cells[4], sums[i].method);
    }
    if (table != NULL) {
        table->wide = 1U << 4;
    }
    if (energy->source[0] != '\0') {
        rm_page_note(table, rm_page_print(page, "Source of the intensity: %s",
                                          rm_page_shown(page, energy->source)));
    }
    rm_page_note(table, rm_page_shown(page, energy->remark));
    return table;
}

/* ---- marks, and what is missing --------------------------------------------------------- */

struct rm_page_table *rm_table_of_tags(const struct rm_subject *subject)
{
    static const char *const headers[] = {"label", "at"};
    struct rm_page *page = subject->page;
    size_t count = subject->run->tag_count < MOST_TAGS ? subject->run->tag_count : MOST_TAGS;
    if (count == 0) {
        return NULL;
    }
    struct rm_page_table *table = rm_page_table_new(page, "tags", "Tags", 2, 1, count);
    rm_page_headers(table, headers);
    for (size_t i = 0; i < count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0],
                    rm_page_shown_at_most(page, subject->run->tags[i].label, TAG_CHARACTERS));
        rm_page_set(&cells[1], seconds_text(page, (double)subject->run->tags[i].t_ns));
    }
    if (subject->run->tag_count > count) {
        rm_page_note(
            table, rm_page_print(page, "%zu more are left out.", subject->run->tag_count - count));
    }
    return table;
}

/* Not how a figure comes about, which stands beside the figure; nor that hardware is not there. */
static bool is_remark(const resmon_run_source *source)
{
    return source->reason[0] != '\0' && source->status != RESMON_ENODEV &&
           source->provenance != RESMON_PROVENANCE_MODELLED &&
           source->provenance != RESMON_PROVENANCE_SHARED;
}

struct rm_page_table *rm_table_of_missing(const struct rm_subject *subject)
{
    static const char *const headers[] = {"source", "measured", "reason"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = rm_page_table_new(
        page, "missing", "What was not measured, and why", 3, 3, at_most(run->source_count));
    rm_page_headers(table, headers);
    for (size_t i = 0; table != NULL && i < run->source_count; i++) {
        const resmon_run_source *source = &run->sources[i];
        if (is_remark(source)) {
            struct rm_page_cell *cells = rm_page_row(page, table);
            rm_page_set(&cells[0], rm_page_shown(page, source->name));
            rm_page_set(&cells[1], source->status == RESMON_OK ? "in part" : "no");
            rm_page_set(&cells[2], rm_page_shown(page, source->reason));
        }
    }
    if (table != NULL) {
        table->wide = 1U << 2;
    }
    return table != NULL && table->count > 0 ? table : NULL;
}

/* ---- what observing cost ---------------------------------------------------------------- */

/* "sampling 1.2 ms, delivery 300 us". */
static const char *costs_text(struct rm_page *page, const resmon_run_info *info)
{
    struct rm_cost costs[RM_COST_THREADS];
    rm_cost_threads(info, costs);
    const char *parts[RM_ARRAY_LEN(costs)] = {""};
    for (size_t i = 0; i < RM_ARRAY_LEN(costs); i++) {
        parts[i] = costs[i].amount > 0 ? rm_page_print(page, "%s %s", costs[i].what,
                                                       seconds_text(page, (double)costs[i].amount))
                                       : "";
    }
    return rm_page_join(page, ", ", parts, RM_ARRAY_LEN(parts));
}

static const char *dropped_text(struct rm_page *page, const resmon_run_info *info)
{
    struct rm_cost losses[RM_COST_DROPPED];
    rm_cost_dropped(info, losses);
    const char *parts[RM_ARRAY_LEN(losses)] = {""};
    for (size_t i = 0; i < RM_ARRAY_LEN(losses); i++) {
        parts[i] = losses[i].amount > 0
                       ? rm_page_print(page, "%s %s", rm_page_grouped(page, losses[i].amount),
                                       losses[i].what)
                       : "";
    }
    const char *text = rm_page_join(page, "; ", parts, RM_ARRAY_LEN(parts));
    return text[0] != '\0' ? text : "nothing";
}

static const char *samples_text(struct rm_page *page, const resmon_run_info *info)
{
    const char *late =
        info->late_samples > 0
            ? rm_page_print(page, ", %s late", rm_page_grouped(page, info->late_samples))
            : ", none late";
    const char *skipped = info->skipped_samples > 0
                              ? rm_page_print(page, ", %s left out to stay below max_overhead",
                                              rm_page_grouped(page, info->skipped_samples))
                              : "";
    double each = info->samples > 0 ? (double)info->sampler_cpu_ns / (double)info->samples : RM_NAN;
    return rm_page_print(page, "%s of CPU time on average; %s samples%s%s",
                         seconds_text(page, each), rm_page_grouped(page, info->samples), late,
                         skipped);
}

/* How much of the process's memory, and of its peaks, is the library's. */
static const char *memory_text(struct rm_page *page, const resmon_run_info *info)
{
    const char *own = "", *more = "";
    if (isfinite(info->rss_bytes)) {
        own = rm_page_print(page, "; %s of the process's RSS",
                            rm_page_value(page, info->rss_bytes, "B"));
        more = info->work_rss_bytes > 0.0
                   ? rm_page_print(page, ", and at most %s more in peaks",
                                   rm_page_value(page, info->work_rss_bytes, "B"))
                   : "";
    }
    return rm_page_print(page, "%s, fixed at start%s%s",
                         rm_page_value(page, (double)info->memory_bytes, "B"), own, more);
}

static void add_pair(struct rm_page *page, struct rm_page_table *table, const char *label,
                     const char *text)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], label);
    rm_page_set(&cells[1], text);
}

static struct rm_page_table *pairs_new(struct rm_page *page, const char *key, const char *title,
                                       size_t rows)
{
    struct rm_page_table *table = rm_page_table_new(page, key, title, 2, 2, rows);
    if (table != NULL) {
        table->wide = 1U << 1;
    }
    return table;
}

struct rm_page_table *rm_table_of_cost(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const resmon_run_info *info = &subject->run->info;
    double seconds = rm_subject_seconds(subject->run);
    struct rm_page_table *table = pairs_new(page, "cost", "Cost of observing", 5);
    if (info->memory_bytes == 0 && info->sampler_wall_ns == 0) {
        add_pair(page, table, "not known", "the file does not have it");
        return table;
    }
    const char *costs = costs_text(page, info);
    const char *per_cpu =
        seconds > 0.0
            ? rm_page_print(page, " (%s %% of one CPU)",
                            rm_page_fixed(page, (double)info->library_cpu_ns / 1e7 / seconds, 2))
            : "";
    add_pair(page, table, "threads",
             rm_page_print(page, "%s of CPU time%s%s%s",
                           seconds_text(page, (double)info->library_cpu_ns), per_cpu,
                           costs[0] != '\0' ? ": " : "", costs));
    add_pair(page, table, "one sample", samples_text(page, info));
    add_pair(page, table, "scopes",
             rm_page_print(page, "about %s in all threads together",
                           seconds_text(page, info->scopes_ns)));
    add_pair(page, table, "memory", memory_text(page, info));
    add_pair(page, table, "dropped", dropped_text(page, info));
    return table;
}

/* ---- facts ------------------------------------------------------------------------------ */

/* "host_name" as "host name". */
static const char *in_words(struct rm_page *page, const char *key, size_t length)
{
    char *text = rm_page_alloc(page, length + 1, 1);
    for (size_t i = 0; text != NULL && i < length; i++) {
        text[i] = key[i] == '_' ? ' ' : key[i];
    }
    return text != NULL ? rm_page_shown(page, text) : "";
}

static const char *plain_number(struct rm_page *page, double value)
{
    char text[32];
    (void)snprintf(text, sizeof text, value == floor(value) && fabs(value) < 1e15 ? "%.0f" : "%g",
                   value);
    rm_text_point(text);
    return rm_page_print(page, "%s", text);
}

/* "scope_bytes 1048576" as "scope", "1.00 MiB". */
static void add_number(const struct rm_subject *subject, struct rm_page_table *table,
                       const char *key, double value)
{
    static const struct {
        const char *ending, *unit;
        double factor;
    } units[] = {{"_bytes", "B", 1.0}, {"_ms", "s", 1e-3}};
    struct rm_page *page = subject->page;
    size_t length = strlen(key);
    for (size_t i = 0; i < RM_ARRAY_LEN(units); i++) {
        size_t ending = strlen(units[i].ending);
        if (length > ending && strcmp(key + length - ending, units[i].ending) == 0) {
            add_pair(page, table, in_words(page, key, length - ending),
                     rm_page_value(page, value * units[i].factor, units[i].unit));
            return;
        }
    }
    add_pair(page, table, in_words(page, key, length), plain_number(page, value));
}

/* "all", or "process, tree, energy". */
static const char *domains_text(struct rm_page *page, uint64_t domains)
{
    const struct rm_option *option = rm_option_find(&rm_monitor_options, "domains");
    const char *text = "";
    for (size_t i = 0; i < option->name_count; i++) {
        uint64_t bits = option->names[i].bits;
        bool is_one = (bits & (bits - 1)) == 0;
        if (bits == domains) {
            return option->names[i].name;
        }
        if (is_one && (bits & domains) != 0) {
            const char *both[] = {text, option->names[i].name};
            text = rm_page_join(page, ", ", both, RM_ARRAY_LEN(both));
        }
    }
    return text;
}

/* What says nothing: no flags, and the number of a process that is gone. */
static bool is_idle(const struct rm_fact *fact)
{
    return fact->value[0] == '\0' ||
           (fact->kind == RM_FACT_NUMBER && rm_fact_number(fact) == 0.0 &&
            (strcmp(fact->key, "flags") == 0 || strcmp(fact->key, "pid") == 0));
}

static void add_fact(const struct rm_subject *subject, struct rm_page_table *table,
                     const struct rm_fact *fact)
{
    struct rm_page *page = subject->page;
    double value = fact->kind == RM_FACT_NUMBER ? rm_fact_number(fact) : RM_NAN;
    if (isnan(value)) {
        add_pair(page, table, in_words(page, fact->key, strlen(fact->key)),
                 rm_page_shown(page, fact->value));
    } else if (strcmp(fact->key, "domains") == 0) {
        add_pair(page, table, fact->key, domains_text(page, value > 0.0 ? (uint64_t)value : 0));
    } else {
        add_number(subject, table, fact->key, value);
    }
}

size_t rm_tables_of_facts(const struct rm_subject *subject,
                          struct rm_page_table *tables[RM_FACT_TABLES])
{
    static const struct {
        const char *group, *title;
    } groups[RM_FACT_TABLES] = {
        {"run", "Run"}, {"job", "Job"}, {"machine", "Machine"}, {"settings", "Settings"}};
    const struct resmon_run *run = subject->run;
    size_t count = 0;
    for (size_t g = 0; g < RM_FACT_TABLES; g++) {
        struct rm_page_table *table =
            pairs_new(subject->page, groups[g].group, groups[g].title, at_most(run->fact_count));
        for (size_t i = 0; table != NULL && i < run->fact_count; i++) {
            if (strcmp(run->facts[i].group, groups[g].group) == 0 && !is_idle(&run->facts[i])) {
                add_fact(subject, table, &run->facts[i]);
            }
        }
        if (table != NULL && table->count > 0) {
            tables[count++] = table;
        }
    }
    return count;
}

/* ---- nodes ------------------------------------------------------------------------------ */

/* A figure in its unit for people. */
static void set_figure(const struct rm_subject *subject, struct rm_page_cell *cell, size_t index)
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

static int compare_texts(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

/* Where no figure of any node is known: one row, with the reasons. */
static struct rm_page_table *nothing_table(const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    const char **reasons = rm_page_alloc(page, count * RM_NODE_SUMMARY_KEYS, sizeof *reasons);
    size_t found = 0, kept = 0;
    for (size_t i = 0; reasons != NULL && i < count * RM_NODE_SUMMARY_KEYS; i++) {
        struct rm_page_cell cell;
        set_figure(&subjects[i / RM_NODE_SUMMARY_KEYS], &cell, i % RM_NODE_SUMMARY_KEYS);
        if (cell.reason == NULL) {
            return NULL;
        }
        reasons[found++] = cell.reason;
    }
    if (reasons == NULL) {
        return NULL;
    }
    qsort(reasons, found, sizeof *reasons, compare_texts);
    for (size_t i = 0; i < found; i++) {
        if (kept == 0 || strcmp(reasons[i], reasons[kept - 1]) != 0) {
            reasons[kept++] = reasons[i];
        }
    }
    struct rm_page_table *table = pairs_new(page, "node", "Node values", 1);
    add_pair(page, table, "none is known",
             rm_page_join(page, "; ", reasons, kept < MOST_REASONS ? kept : MOST_REASONS));
    return table;
}

static struct rm_page_table *columns_table(const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    const char *headers[RM_PAGE_COLUMNS] = {"figure", "name"};
    struct rm_page_table *table =
        rm_page_table_new(page, "node", "Node values", 2 + count, 2, RM_NODE_SUMMARY_KEYS);
    for (size_t i = 0; i < count; i++) {
        headers[2 + i] = count == 1 ? "value" : subjects[i].label;
    }
    rm_page_headers(table, headers);
    for (size_t k = 0; k < RM_NODE_SUMMARY_KEYS; k++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_node_summary_row(k).group);
        rm_page_set(&cells[1], rm_node_summary_key(k));
        for (size_t i = 0; i < count; i++) {
            set_figure(&subjects[i], &cells[2 + i], k);
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
    struct rm_page_table *table = rm_page_table_new(
        page, is_cpu ? "node_cpu" : "node_rest",
        is_cpu ? "Node values: CPU" : "Node values: memory, disks, network", 1 + used, 1, count);
    rm_page_headers(table, headers);
    for (size_t i = 0; i < count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], subjects[i].label);
        for (size_t k = 0; k < used; k++) {
            set_figure(&subjects[i], &cells[1 + k], keys[k]);
        }
    }
    return table;
}

size_t rm_tables_of_nodes(const struct rm_subject *subjects, size_t count,
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
