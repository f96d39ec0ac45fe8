/* SPDX-License-Identifier: MIT */
#include "view/counters.h"

#include <math.h>
#include <string.h>

#include "store/tally.h"
#include "view/scopes.h"

#define MOST_SCOPES 100

/* Its interval is wider than the figure. */
static const char vague[] = "the error may exceed the value";
static const char not_counted[] = "not counted here";

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

static void add_notes(const struct rm_subject *subject, struct rm_page_table *table,
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

struct rm_page_table *rm_counters_table(const struct rm_subject *subject)
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
    struct rm_page_table *table = rm_page_table_new(page, "scope_counters", "Counters of scopes",
                                                    RM_HEADERS(headers, columns, 1), MOST_SCOPES);
    for (size_t i = 0; i < run->scope_count; i++) {
        if (run->scopes[i].counter_calls > 0 && table != NULL && table->count < MOST_SCOPES) {
            add_scope(subject, table, &counted, &run->scopes[i]);
        }
    }
    if (table == NULL) {
        return NULL;
    }
    add_notes(subject, table, has_sampled, scopes > MOST_SCOPES ? scopes - MOST_SCOPES : 0);
    return table;
}
