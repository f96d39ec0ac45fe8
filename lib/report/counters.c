/* SPDX-License-Identifier: MIT */
#include "report/counters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/text.h"
#include "report/table.h"

typedef char cell[RM_TABLE_CELL_BYTES];

static void set_count(cell target, const resmon_run_counter *counter, const resmon_estimate *count,
                      int32_t provenance)
{
    char text[RM_HUMAN_BYTES];
    if (strcmp(counter->unit, "s") == 0) {
        rm_human_seconds(text, count->value);
    } else {
        rm_human_count(text, count->value);
    }
    rm_table_set_estimate(target, text, count, provenance == RESMON_PROVENANCE_SAMPLED);
}

/* What may be off by more than itself is no figure. */
static double figure_of(const resmon_estimate *count)
{
    return rm_estimate_is_vague(count) ? RM_NAN : count->value;
}

/* Instructions and cycles are counted at the same time. */
static double ipc_of(const struct resmon_run *run, const resmon_run_scope *scope)
{
    double instructions = RM_NAN;
    double cycles = RM_NAN;
    for (size_t i = 0; i < run->counter_count; i++) {
        if (strcmp(run->counters[i].name, "instructions") == 0) {
            instructions = figure_of(&scope->counters[i]);
        } else if (strcmp(run->counters[i].name, "cycles") == 0) {
            cycles = figure_of(&scope->counters[i]);
        }
    }
    return cycles > 0.0 ? instructions / cycles : RM_NAN;
}

static size_t put_headings(const struct resmon_run *run, const char *headings[RM_TABLE_COLUMNS],
                           size_t of_counter[RM_SCOPE_COUNTERS], bool *ret_has_ipc)
{
    size_t columns = 0;
    size_t rated = 0;
    headings[columns++] = "scope";
    for (size_t i = 0; i < run->counter_count; i++) {
        const char *name = run->counters[i].name;
        bool is_rated = strcmp(name, "instructions") == 0 || strcmp(name, "cycles") == 0;
        if (run->counters[i].status == RESMON_OK) {
            rated += is_rated ? 1 : 0;
            of_counter[columns - 1] = i;
            headings[columns++] = name;
        }
    }
    *ret_has_ipc = rated == 2;
    if (rated == 2) {
        headings[columns++] = "IPC";
    }
    headings[columns++] = "counted";
    return columns;
}

static void write_scopes(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    const char *headings[RM_TABLE_COLUMNS];
    size_t of_counter[RM_SCOPE_COUNTERS] = {0};
    bool has_ipc;
    struct rm_table table;
    size_t columns = put_headings(run, headings, of_counter, &has_ipc);
    size_t counters = columns - 2 - (has_ipc ? 1 : 0);
    rm_table_begin(&table, headings, columns, 1);
    table.width = width;
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        cell *cells = scope->counter_calls > 0 ? rm_table_row(&table) : NULL;
        if (cells == NULL) {
            continue;
        }
        (void)snprintf(cells[0], sizeof cells[0], "%*s%.60s",
                       (int)(scope->depth < 8 ? 2 * scope->depth : 16), "", scope->name);
        for (size_t c = 0; c < counters; c++) {
            set_count(cells[c + 1], &run->counters[of_counter[c]], &scope->counters[of_counter[c]],
                      scope->counter_provenance);
        }
        if (has_ipc) {
            rm_human_fixed(cells[columns - 2], ipc_of(run, scope), 2);
        }
        rm_human_percent(cells[columns - 1], 100.0 * (double)scope->counter_calls /
                                                 fmax((double)rm_scope_ended(scope), 1.0));
    }
    rm_table_end(&table, buffer);
}

void rm_report_counters(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    bool has_counts = false, is_about = false;
    for (size_t i = 0; i < run->scope_count; i++) {
        has_counts |= run->scopes[i].counter_calls > 0;
        is_about |= run->scopes[i].counter_provenance == RESMON_PROVENANCE_SAMPLED;
    }
    if (run->counter_count == 0) {
        return;
    }
    rm_buffer_puts(buffer, "\nCounters of scopes\n");
    if (has_counts) {
        write_scopes(buffer, run, width);
    }
    if (is_about) {
        rm_buffer_puts(buffer, "  ~: from the calls that were counted, and the time in which the "
                               "counters ran\n  -: unknown, the error may exceed the value\n");
    }
    for (size_t i = 0; i < run->counter_count; i++) {
        const resmon_run_counter *counter = &run->counters[i];
        if (counter->reason[0] != '\0') {
            rm_buffer_printf(buffer, "  %s: %s\n", counter->name, counter->reason);
        }
    }
}
