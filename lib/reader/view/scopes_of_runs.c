/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "run/run.h"

#define MOST_SCOPES     400
#define NAME_CHARACTERS 200
#define SIDE_BY_SIDE    6 /* runs; of more: minimum, median and maximum */
#define NO_NODE         UINT32_MAX

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns / 1e9;
}

/* ---- one tree of all scopes --------------------------------------------------------------- */

/* A scope of several runs. */
struct merged {
    const char *name;
    uint32_t depth;
    uint32_t first, last;            /* child nodes; 0: none */
    uint32_t next;                   /* sibling */
    const resmon_run_scope **scopes; /* by run; NULL: the run has no such scope */
};

struct merging {
    struct rm_page *page;
    struct rm_intern paths; /* keys: number of the parent node, name */
    struct merged *nodes;   /* [0]: the root */
    size_t runs, count;
};

static uint32_t number_of(struct merging *merging, uint32_t around, const char *name)
{
    size_t length = strlen(name) + 1;
    char *key = rm_page_alloc(merging->page, sizeof around + length, 1);
    if (key == NULL) {
        return NO_NODE;
    }
    memcpy(key, &around, sizeof around);
    memcpy(key + sizeof around, name, length);
    return rm_intern(&merging->paths, key, sizeof around + length);
}

static uint32_t node_of(struct merging *merging, uint32_t around, const resmon_run_scope *scope)
{
    uint32_t before = merging->paths.count;
    uint32_t number = number_of(merging, around, scope->name);
    if (number == NO_NODE || merging->paths.is_broken) {
        return NO_NODE;
    }
    struct merged *node = &merging->nodes[number + 1], *outer = &merging->nodes[around];
    if (number == before) {
        *node = (struct merged){
            .name = scope->name,
            .depth = outer->depth + 1,
            .scopes = rm_page_alloc(merging->page, merging->runs, sizeof(resmon_run_scope *))};
        if (outer->first == 0) {
            outer->first = number + 1;
        } else {
            merging->nodes[outer->last].next = number + 1;
        }
        outer->last = number + 1;
        merging->count++;
    }
    return node->scopes != NULL ? number + 1 : NO_NODE;
}

static void merge_run(struct merging *merging, const struct resmon_run *run, size_t number)
{
    uint32_t *nodes = rm_page_alloc(merging->page, run->scope_count, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        bool has_parent = scope->parent >= 0 && (size_t)scope->parent < i;
        nodes[i] = node_of(merging, has_parent ? nodes[scope->parent] : 0, scope);
        const resmon_run_scope **of_runs =
            nodes[i] != NO_NODE ? merging->nodes[nodes[i]].scopes : NULL;
        if (of_runs == NULL) {
            merging->page->is_broken = true;
            return;
        }
        of_runs[number] = scope;
    }
}

/* The next node in depth-first order; 0: none.  `around`: its ancestors, by depth. */
static uint32_t next_node(const struct merging *merging, uint32_t node, uint32_t *around)
{
    const struct merged *nodes = merging->nodes;
    if (nodes[node].first != 0) {
        around[nodes[nodes[node].first].depth] = node;
        return nodes[node].first;
    }
    while (node != 0 && nodes[node].next == 0) {
        node = around[nodes[node].depth];
    }
    return node != 0 ? nodes[node].next : 0;
}

/* ---- the table ---------------------------------------------------------------------------- */

/* The wall time of a run. */
struct ranked {
    double wall_s;
    size_t index;
};

static int compare_longest(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int by_time = (a->wall_s < b->wall_s) - (a->wall_s > b->wall_s);
    return by_time != 0 ? by_time : (a->index > b->index) - (a->index < b->index);
}

static void set_known(struct rm_page *page, struct rm_page_cell *cell, double value,
                      const char *unit)
{
    rm_page_set_value(page, cell, value, unit,
                      "this run has no such scope, or it was not measured");
}

/* The change from the first run to the second. */
static void set_change(struct rm_page *page, struct rm_page_cell *cell, double first, double second)
{
    if (isfinite(first) && isfinite(second) && first > 0.0) {
        double change = (second / first - 1.0) * 100.0;
        rm_page_set(cell, rm_page_print(page, "%s%s %%", signbit(change) ? "" : "+",
                                        rm_page_fixed(page, change, 1)));
    } else {
        rm_page_set_missing(page, cell, "one of them has no such scope");
    }
}

static void set_pair(struct rm_page *page, struct rm_page_cell *cells,
                     const resmon_run_scope *const *scopes)
{
    const double none = RM_NAN;
    set_change(page, &cells[0], scopes[0] != NULL ? wall_of(scopes[0]) : none,
               scopes[1] != NULL ? wall_of(scopes[1]) : none);
    for (size_t i = 0; i < 2; i++) {
        set_known(page, &cells[1 + i], scopes[i] != NULL ? scopes[i]->rss_peak_bytes : none, "B");
        set_known(page, &cells[3 + i], scopes[i] != NULL ? scopes[i]->energy_j : none, "J");
    }
}

/* Minimum, median and maximum, and the run with the maximum. */
static void set_spread(struct rm_page *page, struct rm_page_cell *cells,
                       const resmon_run_scope *const *scopes, const struct rm_subject *subjects,
                       size_t count)
{
    struct ranked *ranked = rm_page_alloc(page, count, sizeof *ranked);
    size_t known = 0;
    for (size_t i = 0; ranked != NULL && i < count; i++) {
        if (scopes[i] != NULL && isfinite(wall_of(scopes[i]))) {
            ranked[known++] = (struct ranked){wall_of(scopes[i]), i};
        }
    }
    for (size_t i = 0; known == 0 && i < 4; i++) {
        rm_page_set_missing(page, &cells[i], "unknown for all of them");
    }
    if (known > 0) {
        qsort(ranked, known, sizeof *ranked, compare_longest);
        set_known(page, &cells[0], ranked[known - 1].wall_s, "s");
        set_known(page, &cells[1], ranked[(known - 1) / 2].wall_s, "s");
        set_known(page, &cells[2], ranked[0].wall_s, "s");
        rm_page_set(&cells[3], subjects[ranked[0].index].label);
    }
}

static size_t set_headers(struct rm_page *page, const char **headers,
                          const struct rm_subject *subjects, size_t count)
{
    static const char *const spread[] = {"least wall", "median", "most", "of"};
    size_t used = 0;
    headers[used++] = "scope";
    for (size_t i = 0; count > SIDE_BY_SIDE && i < RM_ARRAY_LEN(spread); i++) {
        headers[used++] = spread[i];
    }
    for (size_t i = 0; count <= SIDE_BY_SIDE && i < count; i++) {
        headers[used++] = rm_page_print(page, "wall, %s", subjects[i].label);
    }
    if (count == 2) {
        headers[used++] = "change";
        for (size_t i = 0; i < 4; i++) {
            headers[used++] =
                rm_page_print(page, "%s, %s", i < 2 ? "peak RSS" : "energy", subjects[i % 2].label);
        }
    }
    return used;
}

/* Removes columns without values. */
static void drop_empty_columns(struct rm_page_table *table)
{
    size_t kept = 0, columns = table->column_count;
    bool is_there[RM_PAGE_COLUMNS] = {true};
    for (size_t i = 0; i < table->count * columns; i++) {
        is_there[i % columns] |= table->cells[i].reason == NULL;
    }
    for (size_t i = 0; i < table->count * columns; i++) {
        if (is_there[i % columns]) {
            table->cells[kept++] = table->cells[i];
        }
    }
    table->column_count = 0;
    for (size_t i = 0; i < columns; i++) {
        if (is_there[i]) {
            table->columns[table->column_count++] = table->columns[i];
        }
    }
}

static void add_merged(struct rm_page_table *table, const struct merged *node,
                       const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], rm_page_shown_at_most(page, node->name, NAME_CHARACTERS));
    cells[0].depth = node->depth - 1;
    if (count > SIDE_BY_SIDE) {
        set_spread(page, &cells[1], node->scopes, subjects, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        set_known(page, &cells[1 + i], node->scopes[i] != NULL ? wall_of(node->scopes[i]) : RM_NAN,
                  "s");
    }
    if (count == 2) {
        set_pair(page, &cells[3], node->scopes);
    }
}

static struct rm_page_table *merged_table(struct merging *merging,
                                          const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = merging->page;
    const char *headers[RM_PAGE_COLUMNS];
    size_t columns = set_headers(page, headers, subjects, count);
    struct rm_page_table *table = rm_page_table_new(page, "scopes_of_all", "Scopes of all",
                                                    RM_HEADERS(headers, columns, 1), MOST_SCOPES);
    uint32_t *around = rm_page_alloc(page, merging->count + 2, sizeof *around);
    if (table == NULL || around == NULL) {
        return NULL;
    }
    for (uint32_t node = 0; (node = next_node(merging, node, around)) != 0;) {
        if (table->count < MOST_SCOPES) {
            add_merged(table, &merging->nodes[node], subjects, count);
        }
    }
    drop_empty_columns(table);
    if (count == 2) {
        rm_page_note(table,
                     "Change: of the second against the first; one run of each is no proof.");
    }
    if (merging->count > table->count) {
        rm_page_note(table, rm_page_print(page, "%s more scopes are left out.",
                                          rm_page_grouped(page, merging->count - table->count)));
    }
    return table;
}

struct rm_page_table *rm_scopes_table_of_all(const struct rm_subject *subjects, size_t count)
{
    struct merging merging = {.page = subjects[0].page, .runs = count};
    struct rm_page_table *table = NULL;
    size_t scopes = 0, having = 0;
    for (size_t i = 0; i < count; i++) {
        scopes += subjects[i].run->scope_count;
        having += subjects[i].run->scope_count > 0 ? 1 : 0;
    }
    if (having < 2) {
        return NULL;
    }
    merging.nodes = rm_page_alloc(merging.page, scopes + 1, sizeof *merging.nodes);
    for (size_t i = 0; merging.nodes != NULL && i < count && !merging.page->is_broken; i++) {
        merge_run(&merging, subjects[i].run, i);
    }
    if (merging.nodes != NULL && !merging.page->is_broken) {
        table = merged_table(&merging, subjects, count);
    }
    rm_intern_free(&merging.paths);
    return table;
}
