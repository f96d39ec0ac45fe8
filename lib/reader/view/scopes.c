/* SPDX-License-Identifier: MIT */
#include "view/scopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "run/run.h"

#define MOST_SCOPES     400 /* in a table; */
#define MOST_BRIEFLY    40  /* in the brief report */
#define NAME_CHARACTERS 200
#define SIDE_BY_SIDE    6 /* runs; of more, the least, the middle and the most */

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns / 1e9;
}

/* ---- what is to be known of it ---------------------------------------------------------- */

/* What is the process's counts again in each scope that runs at the same time. */
static bool counts_others(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.0 || scope->threads > 1;
}

static bool is_counted_again(const resmon_run_scope *scope)
{
    return counts_others(scope) && (scope->pcpu_calls > 0 || scope->io_calls > 0);
}

static bool is_concurrent(const resmon_run_scope *scope)
{
    return scope->concurrent_ns > 0.0;
}

static bool is_open(const resmon_run_scope *scope)
{
    return scope->open + scope->ended_at_exit > 0;
}

static bool has_failed(const resmon_run_scope *scope)
{
    return scope->failed > 0;
}

static bool calls_itself(const resmon_run_scope *scope)
{
    return scope->folded > 0;
}

/* More than a tenth of it is in doubt. */
static bool is_energy_about(const resmon_run_scope *scope)
{
    return scope->energy_uncertainty_j > 0.1 * scope->energy_j;
}

static bool has_energy(const resmon_run_scope *scope)
{
    return !isnan(scope->energy_j);
}

static bool is_sampled(int32_t provenance)
{
    return provenance == RESMON_PROVENANCE_SAMPLED;
}

/* Taken at some of its calls only. */
static bool is_about(const resmon_run_scope *scope)
{
    bool is_pcpu_about =
        is_sampled(scope->pcpu_provenance) && scope->pcpu_calls < rm_scope_ended(scope);
    return is_pcpu_about || is_sampled(scope->cpu_provenance) || is_sampled(scope->io_provenance) ||
           is_sampled(scope->rss_provenance);
}

static bool has_unknown_children(const resmon_run_scope *scope)
{
    return is_sampled(scope->pcpu_provenance) && scope->pcpu_calls >= rm_scope_ended(scope);
}

static const struct {
    bool (*has)(const resmon_run_scope *scope);
    const char *text;
} notes[] = {
    {is_counted_again, "CPU, read and written with ||: values of the whole process; parallel "
                       "scopes each count all of it (scopes=wall+cpu measures each thread)"},
    {is_concurrent,
     "||: runs in parallel to the scope above (other threads or tasks), not part of its time"},
    {is_open, "*: open when the run ended"},
    {calls_itself, "calls (+N): N direct recursive calls, included in the time of these calls"},
    {has_failed, "!: some of its calls ended with an error"},
    {is_energy_about, "energy ~: an estimate, as more than a tenth of it lies between two samples"},
    {is_about, "~, >=: from a random subset of calls, as measuring all would cost too much.  -: "
               "unknown, the error may exceed the value"},
    {has_unknown_children,
     "CPU ~: children were alive when it began or ended; their CPU time is sampled"},
};

/* ---- cells ------------------------------------------------------------------------------ */

void rm_scopes_set_name(struct rm_page *page, struct rm_page_cell *cell,
                        const resmon_run_scope *scope)
{
    rm_page_set(cell, rm_page_shown_at_most(page, scope->name, NAME_CHARACTERS));
    cell->depth = (uint32_t)scope->depth;
    cell->marks = rm_page_print(page, "%s%s%s", is_concurrent(scope) ? " ||" : "",
                                is_open(scope) ? " *" : "", has_failed(scope) ? " !" : "");
}

static const char *calls_text(struct rm_page *page, const char *calls,
                              const resmon_run_scope *scope)
{
    const char *folded = "", *resumed = "";
    if (scope->folded > 0) {
        folded = rm_page_print(page, " (+%s)", rm_page_value(page, (double)scope->folded, ""));
    }
    if (scope->resumed > 0) {
        resumed =
            rm_page_print(page, " (%s resumed)", rm_page_value(page, (double)scope->resumed, ""));
    }
    return rm_page_print(page, "%s%s%s", calls, folded, resumed);
}

/* What only scopes have: who else counts a figure, and doubt of energy. */
static void add_marks(struct rm_page *page, struct rm_page_cell *cell,
                      const struct rm_view_column *column, const resmon_run_scope *scope)
{
    bool is_again = (column->traits & RM_OTHERS) != 0 && counts_others(scope);
    bool is_in_doubt = (column->traits & RM_DOUBT) != 0 && is_energy_about(scope);
    if (cell->reason == NULL && (is_again || is_in_doubt)) {
        cell->text = rm_page_print(page, "%s%s", is_again ? "||" : "~", cell->text);
    }
    if (strcmp(column->key, "calls") == 0 && scope->folded + scope->resumed > 0) {
        cell->text = calls_text(page, cell->text, scope);
    }
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
static bool choose(struct rm_page *page, const resmon_run_scope *scopes, size_t count, size_t most,
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
    for (size_t i = 0; i < count && i < most; i++) {
        is_chosen[ranked[i].index] = true;
    }
    return true;
}

/* ---- the tree --------------------------------------------------------------------------- */

/* A table that is being made. */
struct tree {
    const struct rm_subject *subject;
    const resmon_run_scope *scopes;
    size_t count, most;
    bool *is_chosen;
    const char **paths;
    struct rm_view_columns columns;
    struct rm_page_table *table;
    double whole; /* that bars are shares of, s */
};

/* Of CPU time there is one column where room is short: that of the process, or where it is counted
 * several times, that of threads. */
static void drop_doubled(struct tree *tree)
{
    bool has_threads = false, has_cpu = false, has_pcpu = false;
    size_t kept = 0;
    for (size_t i = 0; i < tree->count; i++) {
        has_threads |= counts_others(&tree->scopes[i]);
        has_cpu |= tree->scopes[i].cpu_calls > 0;
        has_pcpu |= tree->scopes[i].pcpu_calls > 0;
    }
    for (size_t i = 0; i < tree->columns.count; i++) {
        const char *key = tree->columns.items[i]->key;
        if (!has_cpu || !has_pcpu || strcmp(key, has_threads ? "pcpu_s" : "cpu_s") != 0) {
            tree->columns.items[kept++] = tree->columns.items[i];
        }
    }
    tree->columns.count = kept;
}

/* "train/epoch"; a '/' within a name has a '\\' in front. */
static const char *path_of(const struct tree *tree, size_t index)
{
    struct rm_page *page = tree->subject->page;
    const resmon_run_scope *scope = &tree->scopes[index];
    bool has_parent = scope->parent >= 0 && (size_t)scope->parent < index;
    size_t length = 0;
    char *name = rm_page_alloc(page, 2 * strlen(scope->name) + 1, 1);
    for (const char *at = scope->name; name != NULL && *at != '\0'; at++) {
        if (*at == '/' || *at == '\\') {
            name[length++] = '\\';
        }
        name[length++] = *at;
    }
    return rm_page_print(page, "%s%s%s", has_parent ? tree->paths[scope->parent] : "",
                         has_parent ? "/" : "", name != NULL ? rm_page_shown(page, name) : "");
}

static void add_scope(const struct tree *tree, size_t index)
{
    struct rm_page *page = tree->subject->page;
    const resmon_run_scope *scope = &tree->scopes[index];
    struct rm_page_cell *cells = rm_page_row(page, tree->table);
    rm_page_set(&cells[0], tree->paths[index]);
    rm_scopes_set_name(page, &cells[1], scope);
    for (size_t i = 0; i < tree->columns.count; i++) {
        const struct rm_view_column *column = tree->columns.items[i];
        rm_column_set(page, &cells[2 + i], column, scope, "not measured");
        add_marks(page, &cells[2 + i], column, scope);
        if (strcmp(column->key, "wall_s") == 0 && cells[2 + i].reason == NULL) {
            rm_page_set_share(&cells[2 + i], wall_of(scope) / tree->whole,
                              scope->self_ns / 1e9 / tree->whole);
        }
    }
}

static void add_notes(const struct tree *tree)
{
    struct rm_page *page = tree->subject->page;
    bool has_joules = false;
    for (size_t k = 0; k < RM_ARRAY_LEN(notes); k++) {
        bool is_there = false;
        for (size_t i = 0; i < tree->count && !is_there; i++) {
            is_there = tree->is_chosen[i] && notes[k].has(&tree->scopes[i]);
        }
        rm_page_note(tree->table, is_there ? notes[k].text : "");
    }
    for (size_t i = 0; i < tree->count && !has_joules; i++) {
        has_joules = has_energy(&tree->scopes[i]);
    }
    if (has_joules && tree->most > MOST_BRIEFLY) {
        rm_page_note(tree->table,
                     rm_page_print(page,
                                   "energy: the share of the program, of a machine "
                                   "that is %s",
                                   tree->subject->energy.provenance == RESMON_PROVENANCE_MODELLED
                                       ? "modelled"
                                       : "measured"));
    }
    if (tree->table != NULL && tree->count > tree->table->count) {
        rm_page_note(tree->table,
                     rm_page_print(page, "and %s more, which took less time",
                                   rm_page_grouped(page, tree->count - tree->table->count)));
    }
}

static struct rm_records records_of(const resmon_run_scope *scopes, size_t count)
{
    return (struct rm_records){scopes, count, sizeof *scopes};
}

static struct rm_page_table *table_of(const struct rm_subject *subject, const char *key,
                                      const char *title, struct rm_records records,
                                      enum rm_column_detail detail, size_t most)
{
    struct rm_page *page = subject->page;
    const resmon_run_scope *scopes = records.first;
    size_t count = records.count;
    struct tree tree = {.subject = subject,
                        .scopes = scopes,
                        .count = count,
                        .most = most,
                        .is_chosen = rm_page_alloc(page, count, sizeof *tree.is_chosen),
                        .paths = rm_page_alloc(page, count, sizeof *tree.paths),
                        .table = rm_page_table_begin(page, key, title),
                        .whole = fmax(rm_subject_seconds(subject->run), 1e-9)};
    if (tree.table == NULL || tree.is_chosen == NULL || tree.paths == NULL ||
        !choose(page, scopes, count, most, tree.is_chosen)) {
        return NULL;
    }
    tree.columns = rm_columns_choose(RM_TABLE_scopes, detail, records);
    if (detail == RM_COLUMN_BRIEF) {
        drop_doubled(&tree);
    }
    rm_page_column(tree.table, "path", NULL)->is_left = true;
    rm_page_column(tree.table, "name", "scope")->is_left = true;
    rm_columns_add(tree.table, &tree.columns);
    rm_page_room(page, tree.table, count < most ? count : most);
    for (size_t i = 0; i < count; i++) {
        tree.whole = fmax(tree.whole, wall_of(&scopes[i])); /* not of NaN */
        tree.paths[i] = path_of(&tree, i);
    }
    for (size_t i = 0; i < count; i++) {
        if (tree.is_chosen[i]) {
            add_scope(&tree, i);
        }
    }
    add_notes(&tree);
    return tree.table;
}

struct rm_page_table *rm_scopes_table(const struct rm_subject *subject,
                                      enum rm_column_detail detail, size_t most)
{
    const struct resmon_run *run = subject->run;
    most = most > 0 ? most : detail == RM_COLUMN_BRIEF ? MOST_BRIEFLY : MOST_SCOPES;
    struct rm_page_table *table =
        run->scope_count > 0 ? table_of(subject, "scopes", rm_table_title(RM_TABLE_scopes),
                                        records_of(run->scopes, run->scope_count), detail, most)
                             : NULL;
    if (table != NULL && detail == RM_COLUMN_FULL) {
        table->lead = "wall and thread CPU are summed over calls and threads; CPU includes "
                      "children; peak RSS and I/O are those of the process";
    }
    return table;
}

struct rm_page_table *rm_scopes_table_by_name(const struct rm_subject *subject, size_t most)
{
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = run->name_count > 0
                                      ? table_of(subject, "scope_names", "Scopes by name",
                                                 records_of(run->names, run->name_count),
                                                 RM_COLUMN_FULL, most > 0 ? most : MOST_SCOPES)
                                      : NULL;
    if (table != NULL) {
        table->lead = "all paths of a name together; nested scopes of the same name count once, "
                      "except in self";
    }
    return table;
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
