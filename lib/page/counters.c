/* SPDX-License-Identifier: MIT */
#include "page/counters.h"

#include <math.h>
#include <string.h>

#include "metric/metric.h"
#include "page/scopes.h"
#include "store/tally.h"

#define MOST_SCOPES 100
#define MOST_ROWS   1000
#define METRICS     "perf." /* how those of counters begin */

/* Its interval is wider than the figure. */
static const char vague[] = "the error may exceed the value";
static const char not_counted[] = "not counted here";

/* What a source of counters has, for those that gave nothing. */
static const struct {
    const char *source, *what;
} sources[] = {
    {"perf_hardware", "cycles, instructions, cache, branches"},
    {"perf_software", "task-clock, switches, page faults"},
    {"perf_l2", "L2 bandwidth"},
    {"perf_l3", "L3 bandwidth"},
    {"perf_memory", "memory bandwidth"},
    {"perf_flops", "FLOP/s, vector ratio"},
    {"perf_events", "events that were named"},
};

/* ---- the process tree ------------------------------------------------------------------- */

static const char *what_of(const char *source)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(sources); i++) {
        if (strcmp(sources[i].source, source) == 0) {
            return sources[i].what;
        }
    }
    return NULL;
}

static bool is_of_counters(const resmon_column *column)
{
    return strncmp(column->metric, METRICS, strlen(METRICS)) == 0;
}

static const char *reason_of(const struct resmon_run *run, const char *source)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, source) == 0 && run->sources[i].reason[0] != '\0') {
            return run->sources[i].reason;
        }
    }
    return "there was no valid reading";
}

static void add_column(const struct rm_subject *subject, struct rm_page_table *table,
                       const resmon_column *column)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *reason = reason_of(subject->run, column->source);
    bool is_counter = column->kind == RESMON_COUNTER;
    const char *rate = is_counter ? rm_page_print(page, "%s/s", column->unit) : column->unit;
    const struct rm_metric *metric = rm_metric_by_name(column->metric);
    rm_page_set(&cells[0], rm_page_shown(page, rm_subject_column_name(page, column)));
    if (column->n == 0) {
        for (size_t i = 1; i <= 4; i++) {
            rm_page_set_missing(page, &cells[i], reason);
        }
        rm_page_set(&cells[5], rm_page_shown(page, reason));
        return;
    }
    rm_page_set_value(page, &cells[1], column->mean, rate, reason);
    rm_page_set_value(page, &cells[2], column->p95, rate, reason);
    rm_page_set_value(page, &cells[3], column->max, rate, reason);
    if (is_counter) {
        rm_page_set_value(page, &cells[4], column->last, column->unit, reason);
    }
    rm_page_set(&cells[5], metric != NULL ? rm_metric_help(metric) : "");
}

/* Whether any column of counters is the source's. */
static bool has_column(const struct resmon_run *run, const char *source)
{
    for (size_t i = 0; i < run->column_count; i++) {
        if (is_of_counters(&run->columns[i]) && strcmp(run->columns[i].source, source) == 0) {
            return true;
        }
    }
    return false;
}

static void add_source(const struct rm_subject *subject, struct rm_page_table *table,
                       const resmon_run_source *source)
{
    struct rm_page *page = subject->page;
    const char *reason = rm_page_shown(page, source->reason);
    if (has_column(subject->run, source->name)) {
        rm_page_note(table, rm_page_print(page, "%s: %s", source->name, reason));
    } else if (source->status != RESMON_OK) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], what_of(source->name));
        for (size_t i = 1; i <= 4; i++) {
            rm_page_set_missing(page, &cells[i], source->reason);
        }
        rm_page_set(&cells[5], rm_page_print(page, "not counted: %s", reason));
    }
}

struct rm_page_table *rm_counters_table(const struct rm_subject *subject)
{
    static const char *const headers[] = {"", "mean", "p95", "max", "total", "what it is"};
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table = rm_page_table_new(
        subject->page, "counters", "Performance counters", RM_ARRAY_LEN(headers), 1, MOST_ROWS);
    bool is_there = false;
    rm_page_headers(table, headers);
    for (size_t i = 0; i < run->column_count; i++) {
        if (is_of_counters(&run->columns[i])) {
            add_column(subject, table, &run->columns[i]);
            is_there = true;
        }
    }
    for (size_t i = 0; i < run->source_count; i++) {
        const resmon_run_source *source = &run->sources[i];
        if (source->reason[0] != '\0' && what_of(source->name) != NULL) {
            add_source(subject, table, source);
            is_there = true;
        }
    }
    if (table != NULL) {
        table->wide = 1U << 5;
    }
    return is_there ? table : NULL;
}

/* ---- scopes ----------------------------------------------------------------------------- */

/* A counter of a run that was counted. */
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

/* Counted, but at too few of the calls. */
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
    if (cell->reason == NULL && scope->counter_provenance == RESMON_PROVENANCE_SAMPLED) {
        cell->text = rm_page_print(page, "~%s", cell->text);
    }
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

/* Of which nothing was counted: why. */
static struct rm_page_table *reasons_table(const struct rm_subject *subject)
{
    static const char *const headers[] = {"counter", "counted in", "remark"};
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    struct rm_page_table *table =
        rm_page_table_new(page, "scope_counters", "Counters of scopes", 3, 2, run->counter_count);
    rm_page_headers(table, headers);
    for (size_t i = 0; i < run->counter_count; i++) {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], rm_page_shown(page, run->counters[i].name));
        rm_page_set(&cells[1], is_there(&run->counters[i]) ? "no instance of a scope" : "no");
        rm_page_set(&cells[2], rm_page_shown(page, run->counters[i].reason));
    }
    if (table != NULL) {
        table->wide = 1U << 2;
    }
    return table;
}

/* Which columns a table has. */
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

static void add_scope(const struct rm_subject *subject, struct rm_page_table *table,
                      const struct counted *counted, const resmon_run_scope *scope)
{
    struct rm_page *page = subject->page;
    struct rm_page_cell *cells = rm_page_row(page, table);
    double ended = fmax((double)rm_scope_ended(scope), 1.0);
    size_t used = 0;
    rm_page_set(&cells[used++], rm_scopes_name(page, scope, false));
    for (size_t i = 0; i < counted->count; i++) {
        set_count(subject, &cells[used++], scope, counted->there[i]);
    }
    if (counted->has_ipc) {
        set_ipc(subject, &cells[used++], scope);
    }
    rm_page_set(&cells[used],
                rm_page_value(page, (double)scope->counter_calls / ended * 100.0, "%"));
}

static void add_notes(const struct rm_subject *subject, struct rm_page_table *table,
                      bool has_sampled, size_t left_out)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    rm_page_note(table, has_sampled
                            ? "Of all calls, on the scope's own threads, with the scopes inside; "
                              "counted: share of the calls. ~ about: not every call was counted, "
                              "or counters took turns."
                            : "Of all calls, on the scope's own threads, with the scopes inside; "
                              "counted: share of the calls.");
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

struct rm_page_table *rm_counters_table_of_scopes(const struct rm_subject *subject)
{
    struct rm_page *page = subject->page;
    const struct resmon_run *run = subject->run;
    const struct counted counted = counted_of(run);
    const char *headers[RM_PAGE_COLUMNS] = {"scope"};
    size_t scopes = 0, columns = 1;
    bool has_sampled = false;
    for (size_t i = 0; i < run->scope_count; i++) {
        bool is_counted = run->scopes[i].counter_calls > 0;
        scopes += is_counted ? 1 : 0;
        has_sampled |= is_counted && run->scopes[i].counter_provenance == RESMON_PROVENANCE_SAMPLED;
    }
    if (run->counter_count == 0 || scopes == 0) {
        return run->counter_count > 0 ? reasons_table(subject) : NULL;
    }
    for (size_t i = 0; i < counted.count; i++) {
        headers[columns++] = rm_page_shown(page, counted.there[i]->name);
    }
    if (counted.has_ipc) {
        headers[columns++] = "IPC";
    }
    headers[columns++] = "counted";
    struct rm_page_table *table =
        rm_page_table_new(page, "scope_counters", "Counters of scopes", columns, 1, MOST_SCOPES);
    rm_page_headers(table, headers);
    for (size_t i = 0; i < run->scope_count; i++) {
        if (run->scopes[i].counter_calls > 0 && table != NULL && table->count < MOST_SCOPES) {
            add_scope(subject, table, &counted, &run->scopes[i]);
        }
    }
    add_notes(subject, table, has_sampled, scopes > MOST_SCOPES ? scopes - MOST_SCOPES : 0);
    return table;
}
