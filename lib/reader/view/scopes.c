/* SPDX-License-Identifier: MIT */
#include "view/builders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "run/run.h"
#include "store/tally.h"

#define MOST_SCOPES     400 /* in a table, */
#define MOST_BRIEFLY    40  /* in the brief report, */
#define MOST_COUNTED    100 /* in the table of counters */
#define NAME_CHARACTERS 200

static double wall_of(const resmon_run_scope *scope)
{
    return scope->wall_ns / 1e9;
}

/* ---- marks and their notes ---------------------------------------------------------------- */

/* Whether values of the process are counted by several parallel scopes. */
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

/* More than a tenth of the energy is uncertain. */
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

/* Measured at some of its calls only. */
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

/* Marks that only scopes have: values of the whole process, uncertain energy, recursive calls. */
static void add_marks(struct rm_page *page, struct rm_page_cell *cell,
                      const struct rm_view_column *column, const resmon_run_scope *scope)
{
    bool is_again = (column->traits & RM_OTHERS) != 0 && counts_others(scope);
    bool is_in_doubt = (column->traits & RM_DOUBT) != 0 && is_energy_about(scope);
    rm_page_mark(page, cell, is_again ? "||" : is_in_doubt ? "~" : "");
    if (strcmp(column->key, "calls") == 0 && scope->folded + scope->resumed > 0) {
        cell->text = calls_text(page, cell->text, scope);
    }
}

/* ---- choosing scopes ---------------------------------------------------------------------- */

/* A scope and its rank. */
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
 * Marks the `most` scopes with the longest wall time; false: there is no memory.  A parallel scope
 * may take longer than its parent, so the rank of a scope is the longest time of all scopes inside
 * it: no scope is chosen without its parent.
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

/* A table while it is built. */
struct tree {
    const struct rm_subject *subject;
    const resmon_run_scope *scopes;
    size_t count, most;
    bool *is_chosen;
    const char **paths;
    struct rm_view_columns columns;
    struct rm_page_table *table;
    double whole; /* length of a whole bar, s */
};

/* The brief report has one column of CPU time: of the process, or if parallel scopes count it more
 * than once, of threads. */
static void drop_second_cpu(struct tree *tree)
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

/* "train/epoch"; a '/' in a name is escaped by a '\\'. */
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
        drop_second_cpu(&tree);
    }
    rm_page_column(tree.table, "path", NULL)->is_left = true;
    rm_page_column(tree.table, "name", "scope")->is_left = true;
    rm_columns_add(tree.table, &tree.columns);
    rm_page_room(page, tree.table, count < most ? count : most);
    for (size_t i = 0; i < count; i++) {
        tree.whole = fmax(tree.whole, wall_of(&scopes[i])); /* ignores NaN */
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

struct rm_page_table *rm_scopes_table_by_name(const struct rm_subject *subject,
                                              enum rm_column_detail detail, size_t most)
{
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = run->name_count > 0
                                      ? table_of(subject, "scope_names", "Scopes by name",
                                                 records_of(run->names, run->name_count), detail,
                                                 most > 0 ? most : MOST_SCOPES)
                                      : NULL;
    if (table != NULL) {
        table->lead = "all paths of a name together; nested scopes of the same name count once, "
                      "except in self";
    }
    return table;
}

/* ---- counters ----------------------------------------------------------------------------- */

/* The confidence interval is wider than the value. */
static const char vague[] = "the error may exceed the value";
static const char not_counted[] = "not counted here";

/* Whether the run has values of a counter. */
static bool is_there(const resmon_run_counter *counter)
{
    return counter->status == RESMON_OK;
}

static const resmon_estimate *count_of(const struct resmon_run *run, const resmon_run_scope *scope,
                                       const char *name)
{
    for (size_t i = 0; i < run->counter_count && scope->counters != NULL; i++) {
        if (strcmp(run->counters[i].name, name) == 0) {
            return &scope->counters[i];
        }
    }
    return NULL;
}

/* Counted at too few calls. */
static bool is_vague(const resmon_estimate *count)
{
    return count != NULL && !isnan(count->value) && rm_estimate_is_vague(count);
}

static void set_count(const struct rm_subject *subject, struct rm_page_cell *cell,
                      const resmon_run_scope *scope, const resmon_run_counter *counter)
{
    struct rm_page *page = subject->page;
    const resmon_estimate *count = count_of(subject->run, scope, counter->name);
    double value = count != NULL ? count->value : RM_NAN;
    if (is_vague(count)) {
        rm_page_set_missing(page, cell, vague);
        return;
    }
    rm_page_set_value(page, cell, value, counter->unit, not_counted);
    rm_page_mark(page, cell, scope->counter_provenance == RESMON_PROVENANCE_SAMPLED ? "~" : "");
}

static void set_ipc(const struct rm_subject *subject, struct rm_page_cell *cell,
                    const resmon_run_scope *scope)
{
    const resmon_estimate *cycles = count_of(subject->run, scope, "cycles");
    const resmon_estimate *instructions = count_of(subject->run, scope, "instructions");
    bool is_known = cycles != NULL && instructions != NULL && cycles->value > 0.0 &&
                    isfinite(instructions->value);
    if (is_vague(cycles) || is_vague(instructions)) {
        rm_page_set_missing(subject->page, cell, vague);
    } else if (is_known) {
        rm_page_set(cell, rm_page_fixed(subject->page, instructions->value / cycles->value, 2));
    } else {
        rm_page_set_missing(subject->page, cell, not_counted);
    }
}

/* If no scope has values: the reasons by counter. */
static struct rm_page_table *reasons_table(const struct rm_subject *subject)
{
    static const char *const headers[] = {"counter", "counted in", "remark"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = rm_page_table_new(page, "scope_counters", "Counters of scopes",
                                                    RM_HEADERS(headers, 3, 2), run->counter_count);
    for (size_t i = 0; i < run->counter_count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_page_shown(page, run->counters[i].name));
        rm_page_set(&cells[1], is_there(&run->counters[i]) ? "no instance of a scope" : "no");
        rm_page_set(&cells[2], rm_page_shown(page, run->counters[i].reason));
    }
    if (table != NULL) {
        table->columns[2].is_wide = true;
    }
    return table;
}

/* The columns of the table. */
struct counted {
    const resmon_run_counter *there[RM_PAGE_COLUMNS];
    size_t count;
    bool has_ipc;
};

static struct counted counted_of(const struct resmon_run *run)
{
    struct counted counted = {.count = 0};
    int needed = 0;
    for (size_t i = 0; i < run->counter_count && counted.count < RM_PAGE_COLUMNS - 3; i++) {
        if (is_there(&run->counters[i])) {
            const char *name = run->counters[i].name;
            counted.there[counted.count++] = &run->counters[i];
            needed += strcmp(name, "cycles") == 0 || strcmp(name, "instructions") == 0 ? 1 : 0;
        }
    }
    counted.has_ipc = needed == 2;
    return counted;
}

static size_t set_headers(struct rm_page *page, const struct counted *counted,
                          const char *headers[RM_PAGE_COLUMNS])
{
    size_t used = 0;
    headers[used++] = "scope";
    for (size_t i = 0; i < counted->count; i++) {
        headers[used++] = rm_page_shown(page, counted->there[i]->name);
    }
    if (counted->has_ipc) {
        headers[used++] = "IPC";
    }
    headers[used++] = "counted";
    return used;
}

static void add_counts(const struct rm_subject *subject, struct rm_page_table *table,
                       const struct counted *counted, const resmon_run_scope *scope)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    double ended = fmax((double)rm_scope_ended(scope), 1.0);
    size_t used = 0;
    rm_scopes_set_name(page, &cells[used++], scope);
    for (size_t i = 0; i < counted->count; i++) {
        set_count(subject, &cells[used++], scope, counted->there[i]);
    }
    if (counted->has_ipc) {
        set_ipc(subject, &cells[used++], scope);
    }
    rm_page_set(&cells[used],
                rm_page_value(page, (double)scope->counter_calls / ended * 100.0, "%"));
}

static void add_counter_notes(const struct rm_subject *subject, struct rm_page_table *table,
                              bool has_sampled, size_t left_out)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    table->lead =
        "of all calls, on the scope's own threads, with the scopes inside; counted: share of "
        "the calls";
    rm_page_note(table, has_sampled
                            ? "~: from the calls that were counted, and the time in which "
                              "the counters ran.  -: unknown, the error may exceed the value"
                            : "");
    for (size_t i = 0; i < run->counter_count; i++) {
        const resmon_run_counter *counter = &run->counters[i];
        if (counter->reason[0] != '\0') {
            rm_page_note(table, rm_page_print(page, "%s%s: %s", rm_page_shown(page, counter->name),
                                              is_there(counter) ? "" : " is absent",
                                              rm_page_shown(page, counter->reason)));
        }
    }
    if (left_out > 0) {
        rm_page_note(
            table, rm_page_print(page, "%s scopes are left out.", rm_page_grouped(page, left_out)));
    }
}

struct rm_page_table *rm_counters_table(const struct rm_subject *subject,
                                        enum rm_column_detail detail, size_t most)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const struct counted counted = counted_of(run);
    const char *headers[RM_PAGE_COLUMNS];
    size_t scopes = 0;
    bool has_sampled = false;
    (void)detail;
    most = most > 0 ? most : MOST_COUNTED;
    for (size_t i = 0; i < run->scope_count; i++) {
        bool is_counted = run->scopes[i].counter_calls > 0;
        scopes += is_counted ? 1 : 0;
        has_sampled |= is_counted && run->scopes[i].counter_provenance == RESMON_PROVENANCE_SAMPLED;
    }
    if (run->counter_count == 0 || scopes == 0) {
        return run->counter_count > 0 ? reasons_table(subject) : NULL;
    }
    size_t columns = set_headers(page, &counted, headers);
    struct rm_page_table *table =
        rm_page_table_new(page, "scope_counters", "Counters of scopes",
                          RM_HEADERS(headers, columns, 1), scopes < most ? scopes : most);
    for (size_t i = 0; i < run->scope_count; i++) {
        if (run->scopes[i].counter_calls > 0 && table != NULL && table->count < table->room) {
            add_counts(subject, table, &counted, &run->scopes[i]);
        }
    }
    if (table == NULL) {
        return NULL;
    }
    add_counter_notes(subject, table, has_sampled, scopes > most ? scopes - most : 0);
    return table;
}
