/* SPDX-License-Identifier: MIT */
#include "page/scopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/text.h"
#include "report/phases.h"

#define MOST_SCOPES     400 /* in a table */
#define NAME_CHARACTERS 200
#define SIDE_BY_SIDE    6   /* runs; of more, the least, the middle and the most */
#define MOST_DEPTH      256 /* that names are indented by */
#define EM_SPACE        "\xe2\x80\x83"

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns / 1e9;
}

/* ---- names ------------------------------------------------------------------------------ */

/* What is to be known of it: it failed; it is beside the scope above it, and no part of its time;
 * it was open at the end. */
static const char *marks_of(struct rm_page *page, const resmon_run_scope *scope)
{
    uint64_t calls = scope->calls;
    const char *failed = "";
    if (scope->failed > 0) {
        failed = calls > 1
                     ? rm_page_print(page, " (%llu of %llu failed)",
                                     (unsigned long long)scope->failed, (unsigned long long)calls)
                     : " (failed)";
    }
    return rm_page_print(page, "%s%s%s", failed, scope->concurrent_ns > 0.0 ? " ||" : "",
                         scope->open + scope->ended_at_exit > 0 ? " (open)" : "");
}

static const char *indented(struct rm_page *page, const char *name, uint64_t depth,
                            const char *marks)
{
    char spaces[MOST_DEPTH * sizeof EM_SPACE] = "";
    size_t length = 0;
    for (uint64_t i = 0; i < depth && i < MOST_DEPTH; i++) {
        length += rm_text_set(spaces + length, sizeof spaces - length, EM_SPACE);
    }
    return rm_page_print(page, "%s%s%s", spaces, rm_page_shown_at_most(page, name, NAME_CHARACTERS),
                         marks);
}

const char *rm_scopes_name(struct rm_page *page, const resmon_run_scope *scope, bool has_marks)
{
    return indented(page, scope->name, scope->depth, has_marks ? marks_of(page, scope) : "");
}

/* ---- which of them ---------------------------------------------------------------------- */

/* A scope with what it is ranked by. */
struct ranked {
    double longest;
    size_t index;
};

static int compare_longest(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int by_time = (a->longest < b->longest) - (a->longest > b->longest);
    return by_time != 0 ? by_time : (a->index > b->index) - (a->index < b->index);
}

/*
 * Marks those that are shown; false: there is no memory.  A scope takes no longer than the one that
 * it is in, but for what runs beside that: by the longest of all that is inside, so that those that
 * are left hang together.
 */
static bool choose(struct rm_page *page, const resmon_run_scope *scopes, size_t count,
                   bool *is_chosen)
{
    struct ranked *ranked = rm_page_alloc(page, count, sizeof *ranked);
    if (ranked == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        double wall = wall_of(&scopes[i]);
        ranked[i] = (struct ranked){isfinite(wall) ? wall : 0.0, i};
    }
    for (size_t i = count; i-- > 0;) {
        int64_t parent = scopes[i].parent;
        if (parent >= 0 && (size_t)parent < i && ranked[i].longest > ranked[parent].longest) {
            ranked[parent].longest = ranked[i].longest;
        }
    }
    qsort(ranked, count, sizeof *ranked, compare_longest);
    for (size_t i = 0; i < count && i < MOST_SCOPES; i++) {
        is_chosen[ranked[i].index] = true;
    }
    return true;
}

/* ---- columns ---------------------------------------------------------------------------- */

/* The columns of one table. */
struct columns {
    const struct rm_phase_column *items[RM_PAGE_COLUMNS];
    size_t count;
};

static bool is_known(const char *text)
{
    return strcmp(text, RM_PAGE_UNKNOWN) != 0;
}

static bool has_figure(const struct rm_phase_column *column, const struct rm_subject *subject,
                       const resmon_run_scope *scopes, size_t count)
{
    char text[RM_TABLE_CELL_BYTES];
    for (size_t i = 0; i < count; i++) {
        column->set(text, &scopes[i], &subject->energy);
        if (is_known(text)) {
            return true;
        }
    }
    return false;
}

/* CPU time of the thread only where that of the process is of none. */
static struct columns choose_columns(const struct rm_subject *subject,
                                     const resmon_run_scope *scopes, size_t count)
{
    struct columns columns = {.count = 0};
    bool has_cpu = false;
    for (size_t i = 0; i < count && !has_cpu; i++) {
        has_cpu = !isnan(scopes[i].pcpu_ns.value);
    }
    const struct rm_phase_column *column;
    for (size_t i = 0; (column = rm_phase_column(i)) != NULL; i++) {
        bool is_doubled = strcmp(column->heading, has_cpu ? "thread CPU" : "CPU") == 0;
        if (!is_doubled && has_figure(column, subject, scopes, count)) {
            columns.items[columns.count++] = column;
        }
    }
    return columns;
}

/* ---- the tree --------------------------------------------------------------------------- */

/* What the cells of a table are about, as their marks say. */
struct seen {
    bool about, at_least, beside;
};

static void add_scope(const struct rm_subject *subject, struct rm_page_table *table,
                      const struct columns *columns, const resmon_run_scope *scope, double whole,
                      struct seen *seen)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], rm_scopes_name(page, scope, true));
    for (size_t i = 0; i < columns->count; i++) {
        const struct rm_phase_column *column = columns->items[i];
        char text[RM_TABLE_CELL_BYTES];
        column->set(text, scope, &subject->energy);
        if (strcmp(column->heading, "wall") == 0) {
            rm_page_set_share(&cells[i + 1], rm_page_print(page, "%s", text),
                              wall_of(scope) / whole, scope->self_ns / 1e9 / whole);
        } else if (is_known(text)) {
            rm_page_set(&cells[i + 1], rm_page_print(page, "%s", text));
        } else {
            rm_page_set_missing(page, &cells[i + 1], "not measured");
        }
        seen->about |= text[0] == '~';
        seen->at_least |= text[0] == '>';
    }
}

static void add_notes(struct rm_page *page, struct rm_page_table *table, const char *note,
                      const struct seen *seen, size_t left_out)
{
    rm_page_note(table, rm_page_print(page,
                                      "Time is summed over calls and threads. Bar: share of the "
                                      "run; the dark part is self time.%s%s",
                                      note[0] != '\0' ? " " : "", note));
    const char *marks[] = {
        seen->about ? "~ estimate: not all calls were measured, or it lies between two samples."
                    : "",
        seen->at_least ? ">= at least." : ""};
    rm_page_note(table, rm_page_join(page, " ", marks, RM_ARRAY_LEN(marks)));
    if (seen->beside) {
        rm_page_note(table, "|| runs in parallel to the scope above (other threads or tasks), not "
                            "part of its time.");
    }
    if (left_out > 0) {
        rm_page_note(table, rm_page_print(page, "%s scopes that took less time are left out.",
                                          rm_page_grouped(page, left_out)));
    }
}

static struct rm_page_table *table_of(const struct rm_subject *subject, const char *key,
                                      const char *title, const char *note,
                                      const resmon_run_scope *scopes, size_t count)
{
    struct rm_page *page = subject->page;
    const char *headers[RM_PAGE_COLUMNS] = {"scope"};
    const struct columns columns = choose_columns(subject, scopes, count);
    struct rm_page_table *table = rm_page_table_new(page, key, title, columns.count + 1, 1,
                                                    count < MOST_SCOPES ? count : MOST_SCOPES);
    bool *is_chosen = rm_page_alloc(page, count, sizeof *is_chosen);
    double whole = rm_subject_seconds(subject->run);
    struct seen seen = {0};
    if (table == NULL || is_chosen == NULL || !choose(page, scopes, count, is_chosen)) {
        return NULL;
    }
    for (size_t i = 0; i < columns.count; i++) {
        headers[i + 1] = columns.items[i]->heading;
    }
    rm_page_headers(table, headers);
    for (size_t i = 0; i < count; i++) {
        whole = wall_of(&scopes[i]) > whole ? wall_of(&scopes[i]) : whole;
        seen.beside |= scopes[i].concurrent_ns > 0.0;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_chosen[i]) {
            add_scope(subject, table, &columns, &scopes[i], whole > 1e-9 ? whole : 1e-9, &seen);
        }
    }
    add_notes(page, table, note, &seen, count - table->count);
    return table;
}

struct rm_page_table *rm_scopes_table(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    return run->scope_count > 0
               ? table_of(subject, "scopes", "Scopes", "", run->scopes, run->scope_count)
               : NULL;
}

struct rm_page_table *rm_scopes_table_by_name(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    return run->name_count > 0 && run->name_count < run->scope_count
               ? table_of(subject, "scope_names", "Scopes by name",
                          "Nested scopes of the same name count once, except in self.", run->names,
                          run->name_count)
               : NULL;
}

/* ---- several runs ----------------------------------------------------------------------- */

#define NO_NODE UINT32_MAX

/* A scope of several runs. */
struct merged {
    const char *name;
    uint32_t depth;
    uint32_t first, last, next;      /* inside of it, in the order in which they were met */
    const resmon_run_scope **scopes; /* by run; NULL: it has none */
};

struct merging {
    struct rm_page *page;
    struct rm_intern paths; /* of the number of the node around, and a name */
    struct merged *nodes;   /* [0]: around all */
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

/* The next one in the order of the tree; 0: none.  `around` are the nodes that one is in. */
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

static void set_known(struct rm_page *page, struct rm_page_cell *cell, double value,
                      const char *unit)
{
    rm_page_set_value(page, cell, value, unit,
                      "this run has no such scope, or it was not measured");
}

/* The second against the first. */
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

/* Least, median and most, and of which run. */
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
        set_known(page, &cells[0], ranked[known - 1].longest, "s");
        set_known(page, &cells[1], ranked[(known - 1) / 2].longest, "s");
        set_known(page, &cells[2], ranked[0].longest, "s");
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

/* Columns of which nothing is known go. */
static void drop_empty_columns(struct rm_page_table *table)
{
    size_t kept = 0, columns = table->columns;
    bool is_there[RM_PAGE_COLUMNS] = {true};
    for (size_t i = 0; i < table->count * columns; i++) {
        is_there[i % columns] |= table->cells[i].reason == NULL;
    }
    for (size_t i = 0; i < table->count * columns; i++) {
        if (is_there[i % columns]) {
            table->cells[kept++] = table->cells[i];
        }
    }
    table->columns = 0;
    for (size_t i = 0; i < columns; i++) {
        if (is_there[i]) {
            table->headers[table->columns++] = table->headers[i];
        }
    }
}

static void add_merged(struct rm_page_table *table, const struct merged *node,
                       const struct rm_subject *subjects, size_t count)
{
    struct rm_page *page = subjects[0].page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    rm_page_set(&cells[0], indented(page, node->name, node->depth - 1, ""));
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
    struct rm_page_table *table =
        rm_page_table_new(page, "scopes_of_all", "Scopes of all", columns, 1, MOST_SCOPES);
    uint32_t *around = rm_page_alloc(page, merging->count + 2, sizeof *around);
    if (table == NULL || around == NULL) {
        return NULL;
    }
    rm_page_headers(table, headers);
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
