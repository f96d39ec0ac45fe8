/* SPDX-License-Identifier: MIT */
/*
 * Run document -> run. A document is untrusted input. A member that is missing or of another type
 * is left empty or NaN; a number that its type cannot represent becomes 0. Documents of other
 * programs may lack two parts, which are then computed: statistics, and all series of a column
 * except "last".
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "format/document.h"
#include "format/document_columns.h"
#include "format/json.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/scope_sums.h"

/* ---- records ---------------------------------------------------------------------------- */

resmon_status rm_document_read_records(struct resmon_run *run, const struct rm_json *array,
                                       enum rm_record_name name, size_t bytes, void *ret_list,
                                       size_t *ret_count)
{
    char *list = rm_arena_alloc(&run->strings, rm_json_count(array), bytes);
    resmon_status status = list != NULL ? RESMON_OK : rm_run_out_of_memory();
    size_t count = 0;
    memcpy(ret_list, &list, sizeof list);
    for (const struct rm_json *e = rm_json_first(array); e != NULL && status == RESMON_OK;
         e = rm_json_next(e)) {
        status = rm_record_read(e, name, list + count++ * bytes, run);
    }
    *ret_count = count;
    return status;
}

#define READ_RECORDS(run, array, name, list, count) \
    rm_document_read_records(run, array, name, sizeof *(run)->list, &(run)->list, &(run)->count)

/* ---- parts ------------------------------------------------------------------------------ */

/* Members of "run" that are fields of the run itself, not facts. */
static bool is_field(const char *group, const char *key)
{
    return strcmp(group, "run") == 0 && (strcmp(key, "end") == 0 || strcmp(key, "usage") == 0 ||
                                         rm_record_has_key(RM_RECORD_run, key));
}

static size_t count_members(const struct rm_json *object)
{
    size_t count = 0;
    for (const struct rm_json *m = rm_json_first_member(object); m != NULL; m = rm_json_next(m)) {
        count++;
    }
    return count;
}

static void read_fact(struct resmon_run *run, const char *group, const struct rm_json *member)
{
    char number[RM_FACT_NUMBER_BYTES];
    const char *value = rm_json_text(member);
    double numeric = rm_json_number(member);
    struct rm_fact *fact = &run->facts[run->fact_count];
    fact->kind = value != NULL ? RM_FACT_TEXT : RM_FACT_NUMBER;
    if (value == NULL) {
        if (!isfinite(numeric) || fabs(numeric) >= RM_FACT_NUMBER_LIMIT) {
            return; /* this library never writes such a number */
        }
        rm_facts_print_number(numeric, number);
        value = number;
    }
    fact->group = group;
    fact->key = rm_arena_keep(&run->strings, rm_json_key(member), SIZE_MAX);
    fact->value = rm_arena_keep(&run->strings, value, SIZE_MAX);
    run->fact_count++;
}

static resmon_status read_facts(struct resmon_run *run, const struct rm_json *document)
{
    static const char *const groups[] = {"run",      "machine", "job",
                                         "settings", "energy",  RM_FACT_LABELS};
    size_t count = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        count += count_members(rm_json_get(document, groups[i]));
    }
    run->facts = rm_arena_alloc(&run->strings, count, sizeof *run->facts);
    if (run->facts == NULL) {
        return rm_run_out_of_memory();
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        const struct rm_json *member = rm_json_first_member(rm_json_get(document, groups[i]));
        for (; member != NULL; member = rm_json_next(member)) {
            if (!is_field(groups[i], rm_json_key(member))) {
                read_fact(run, groups[i], member);
            }
        }
    }
    return RESMON_OK;
}

static resmon_status read_run(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *object = rm_json_get(document, "run");
    resmon_status status = rm_record_read(object, RM_RECORD_run, &run->info, run);
    if (status == RESMON_OK) {
        status = rm_record_read(rm_json_get(object, "end"), RM_RECORD_end, &run->end, run);
    }
    return status == RESMON_OK
               ? rm_record_read(rm_json_get(object, "usage"), RM_RECORD_usage, &run->usage, run)
               : status;
}

static resmon_status read_processes(struct resmon_run *run, const struct rm_json *document)
{
    return READ_RECORDS(run, rm_json_get(document, "processes"), RM_RECORD_process, processes,
                        process_count);
}

static resmon_status check_ranks(const struct resmon_run *run)
{
    for (size_t i = 0; i < run->rank_count; i++) {
        int64_t node = run->ranks[i].node;
        if (node < 0 || (size_t)node >= run->node_count) {
            return rm_error(RESMON_EFORMAT, "ranks[%zu].node is not an index of nodes", i);
        }
    }
    return RESMON_OK;
}

static resmon_status read_nodes(struct resmon_run *run, const struct rm_json *document)
{
    resmon_status status =
        READ_RECORDS(run, rm_json_get(document, "nodes"), RM_RECORD_node, nodes, node_count);
    if (status == RESMON_OK) {
        status =
            READ_RECORDS(run, rm_json_get(document, "ranks"), RM_RECORD_rank, ranks, rank_count);
    }
    return status == RESMON_OK ? check_ranks(run) : status;
}

static resmon_status read_sources(struct resmon_run *run, const struct rm_json *document)
{
    return READ_RECORDS(run, rm_json_get(document, "sources"), RM_RECORD_source, sources,
                        source_count);
}

static resmon_status read_columns(struct resmon_run *run, const struct rm_json *document)
{
    resmon_status status = READ_RECORDS(run, rm_json_get(document, "columns"), RM_RECORD_column,
                                        columns, column_count);
    for (size_t i = 0; status == RESMON_OK && i < run->column_count; i++) {
        resmon_column *column = &run->columns[i];
        column->metric = rm_metric_own_text(column->metric);
        bool says_kind = column->kind != 0; /* false for an entry that is not a column */
        column->kind = says_kind ? column->kind : RESMON_GAUGE;
    }
    rm_run_index_columns(run);
    return status == RESMON_OK ? rm_run_check_memory(run) : status;
}

static resmon_status read_summary(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(rm_json_get(document, "summary"), "columns");
    const struct rm_json *element = rm_json_first(array);
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < run->column_count && status == RESMON_OK; i++) {
        status = rm_record_read(element, RM_RECORD_statistics, &run->columns[i], run);
        element = element != NULL ? rm_json_next(element) : NULL;
    }
    return status;
}

static resmon_status read_tags(struct resmon_run *run, const struct rm_json *document)
{
    return READ_RECORDS(run, rm_json_get(document, "tags"), RM_RECORD_tag, tags, tag_count);
}

static resmon_status read_lines(struct resmon_run *run, const struct rm_json *document)
{
    return READ_RECORDS(run, rm_json_get(document, "lines"), RM_RECORD_line, lines, line_count);
}

static resmon_status read_accounts(struct resmon_run *run, const struct rm_json *document)
{
    resmon_status status =
        rm_record_read(rm_json_get(document, "overhead"), RM_RECORD_overhead, &run->info, run);
    if (status == RESMON_OK) {
        status =
            rm_record_read(rm_json_get(document, "dropped"), RM_RECORD_dropped, &run->info, run);
    }
    rm_run_sum_costs(&run->info);
    return status;
}

/* A number that is not a valid count becomes 0. */
static uint64_t count_of_number(double number)
{
    return number >= 0.0 && number < 0x1p63 ? (uint64_t)number : 0;
}

/* ---- series ----------------------------------------------------------------------------- */

static void read_numbers(double *target, size_t count, const struct rm_json *array)
{
    size_t known;
    const double *numbers = rm_json_numbers(array, &known);
    for (size_t i = 0; i < count; i++) {
        target[i] = i < known ? numbers[i] : RM_NAN;
    }
}

static resmon_status read_times(struct resmon_run *run, const struct rm_json *series)
{
    size_t rows = rm_json_count(rm_json_get(series, "t_last_ns"));
    double *numbers = rm_arena_alloc(&run->strings, rows, sizeof *numbers);
    run->t_first = rm_arena_alloc(&run->strings, rows, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, rows, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, rows, sizeof *run->row_samples);
    if (numbers == NULL || run->t_first == NULL || run->t_last == NULL ||
        run->row_samples == NULL) {
        return rm_run_out_of_memory();
    }
    run->row_count = rows;
    const struct rm_json *first = rm_json_get(series, "t_first_ns");
    const struct rm_json *samples = rm_json_get(series, "samples");
    read_numbers(numbers, rows, rm_json_get(series, "t_last_ns"));
    for (size_t i = 0; i < rows; i++) {
        run->t_last[i] = (int64_t)count_of_number(numbers[i]);
    }
    read_numbers(numbers, rows, first);
    for (size_t i = 0; i < rows; i++) {
        run->t_first[i] = first != NULL ? (int64_t)count_of_number(numbers[i]) : run->t_last[i];
    }
    read_numbers(numbers, rows, samples);
    for (size_t i = 0; i < rows; i++) {
        run->row_samples[i] = samples != NULL ? count_of_number(numbers[i]) : 1;
    }
    return RESMON_OK;
}

/* Whether a column has only the series "last": one reading in each row. */
static bool has_last_alone(const struct rm_json *column)
{
    return rm_json_get(column, "min") == NULL && rm_json_get(column, "max") == NULL &&
           rm_json_get(column, "mean") == NULL;
}

static int series_of(const struct rm_json *column)
{
    return has_last_alone(column) ? RESMON_SERIES_LAST + 1 : RM_SERIES_KINDS;
}

/* Each series must have all its numbers. Otherwise a short document could claim many columns and
 * rows, and cost more memory than its text. */
static resmon_status check_series(const struct resmon_run *run, const struct rm_json *columns)
{
    if (run->row_count > 0 && rm_json_count(columns) != run->column_count) {
        return rm_error(RESMON_EFORMAT, "series.columns has %zu entries; columns has %zu",
                        rm_json_count(columns), run->column_count);
    }
    size_t c = 0;
    for (const struct rm_json *e = rm_json_first(columns); e != NULL && run->row_count > 0;
         e = rm_json_next(e), c++) {
        for (int kind = 0; kind < series_of(e); kind++) {
            size_t count = rm_json_count(rm_json_get(e, rm_series_names[kind]));
            if (count != run->row_count) {
                return rm_error(RESMON_EFORMAT, "series.columns[%zu].%s has %zu numbers, not %zu",
                                c, rm_series_names[kind], count, run->row_count);
            }
        }
    }
    return RESMON_OK;
}

static resmon_status read_series(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *series = rm_json_get(document, "series");
    resmon_status status = read_times(run, series);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_json *columns = rm_json_get(series, "columns");
    status = check_series(run, columns);
    if (status != RESMON_OK || run->row_count == 0) {
        return status;
    }
    run->values = rm_arena_alloc(&run->strings, run->row_count * RM_SERIES_KINDS,
                                 run->column_count * sizeof *run->values);
    if (run->values == NULL) {
        return rm_run_out_of_memory();
    }
    size_t c = 0;
    for (const struct rm_json *e = rm_json_first(columns); e != NULL; e = rm_json_next(e), c++) {
        for (int kind = 0; kind < series_of(e); kind++) {
            read_numbers(rm_run_series(run, c, kind), run->row_count,
                         rm_json_get(e, rm_series_names[kind]));
        }
    }
    return RESMON_OK;
}

/* ---- what is computed from the rows ----------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Nearest rank: the smallest sorted number such that at least the fraction `share` of all numbers
 * do not exceed it. */
static double quantile(const double *sorted, size_t count, double share)
{
    size_t rank = (size_t)ceil(share * (double)count);
    return count > 0 ? sorted[rank > 0 ? rank - 1 : 0] : RM_NAN;
}

/* A counter that is 0 at its first reading counts from this reading on. Any other counter has
 * counted since the start of the run. */
static bool counts_since_start(const struct resmon_run *run, const double *last)
{
    size_t row = 0;
    while (row < run->row_count && !isfinite(last[row])) {
        row++;
    }
    return row < run->row_count && last[row] > 0.0;
}

/* Computes statistics from rows. A reading counts for the time since the previous reading; the
 * first reading, for the time since the start. */
static struct rm_stats stats_of_rows(struct resmon_run *run, size_t c, bool is_last_alone,
                                     double *ret_quantities, size_t *ret_count)
{
    const bool is_counter = run->columns[c].kind == RESMON_COUNTER;
    double *series[RM_SERIES_KINDS];
    for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
        series[kind] = rm_run_series(run, c, kind);
    }
    const double *readings =
        series[is_counter || is_last_alone ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN];
    const struct rm_counting counting = {
        .is_counter = is_counter, .is_interval = !is_counter || counts_since_start(run, readings)};
    struct rm_cell rows = rm_cell_empty(); /* has the extremes of samples, not of the rows' means */
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counting, RM_NAN, 0);
    for (size_t row = 0; row < run->row_count; row++) {
        struct rm_reading reading =
            rm_stats_take(&stats, counting, readings[row], run->t_last[row]);
        if (is_last_alone) {
            series[RESMON_SERIES_LAST][row] = reading.cell.last;
            series[RESMON_SERIES_MIN][row] = reading.cell.min;
            series[RESMON_SERIES_MAX][row] = reading.cell.max;
            series[RESMON_SERIES_MEAN][row] = rm_cell_mean(&reading.cell, is_counter);
        }
        const struct rm_cell one = {series[RESMON_SERIES_LAST][row], series[RESMON_SERIES_MIN][row],
                                    series[RESMON_SERIES_MAX][row], 0.0, 0.0};
        rows = rm_cell_merge(&rows, &one);
        if (!isnan(reading.quantity)) {
            ret_quantities[(*ret_count)++] = reading.quantity;
        }
    }
    stats.all.last = rows.last;
    stats.all.min = rows.min;
    stats.all.max = rows.max;
    return stats;
}

/* Documents of this library have both parts, so this check is their only cost. */
static bool lacks_nothing(const struct rm_json *columns, bool has_summary)
{
    const struct rm_json *e = rm_json_first(columns);
    while (has_summary && e != NULL && !has_last_alone(e)) {
        e = rm_json_next(e);
    }
    return e == NULL;
}

static resmon_status compute_from_rows(struct resmon_run *run, const struct rm_json *document)
{
    const bool has_summary = rm_json_get(rm_json_get(document, "summary"), "columns") != NULL;
    const struct rm_json *columns = rm_json_get(rm_json_get(document, "series"), "columns");
    if (run->row_count == 0 || lacks_nothing(columns, has_summary)) {
        return RESMON_OK;
    }
    double *quantities = rm_alloc(run->row_count, sizeof *quantities);
    if (quantities == NULL) {
        return rm_run_out_of_memory();
    }
    size_t c = 0;
    for (const struct rm_json *e = rm_json_first(columns); e != NULL; e = rm_json_next(e), c++) {
        if (has_summary && !has_last_alone(e)) {
            continue;
        }
        size_t count = 0;
        const struct rm_stats stats = stats_of_rows(run, c, has_last_alone(e), quantities, &count);
        if (!has_summary) {
            qsort(quantities, count, sizeof *quantities, compare_numbers);
            rm_run_set_statistics(&run->columns[c], &stats);
            run->columns[c].p50 = quantile(quantities, count, 0.50);
            run->columns[c].p95 = quantile(quantities, count, 0.95);
        }
    }
    rm_free(quantities);
    return RESMON_OK;
}

/* ---- scopes ----------------------------------------------------------------------------- */

static size_t count_scopes(const struct rm_json *array, uint32_t depth)
{
    size_t count = 0;
    for (const struct rm_json *e = rm_json_first(array); e != NULL && depth <= RM_MAX_DEPTH;
         e = rm_json_next(e)) {
        count += 1 + count_scopes(rm_json_get(e, "children"), depth + 1);
    }
    return count;
}

static resmon_status read_counters(struct resmon_run *run, const struct rm_json *document)
{
    resmon_status status = READ_RECORDS(run, rm_json_get(document, "counters"), RM_RECORD_counter,
                                        counters, counter_count);
    run->counter_count =
        run->counter_count < RM_SCOPE_COUNTERS ? run->counter_count : RM_SCOPE_COUNTERS;
    return status;
}

static resmon_status read_scope(struct resmon_run *run, resmon_run_scope *scope,
                                const struct rm_json *object)
{
    resmon_status status = rm_record_read(object, RM_RECORD_scope, scope, run);
    if (isnan(scope->concurrent_ns)) {
        scope->concurrent_ns = 0.0; /* older documents have this member only if it is not 0 */
    }
    if (scope->counters == NULL) {
        scope->counter_calls = 0; /* calls without counters are not valid */
    }
    return status;
}

static const struct rm_json *walls_of(const struct rm_json *scope)
{
    return rm_json_get(rm_json_get(scope, "over_ranks"), "wall_ns");
}

/* Like check_series(): each scope must have a number for each rank. */
static bool has_walls(const struct resmon_run *run, const struct rm_json *array, uint32_t depth)
{
    bool is_whole = true;
    for (const struct rm_json *e = rm_json_first(array);
         e != NULL && depth <= RM_MAX_DEPTH && is_whole; e = rm_json_next(e)) {
        is_whole = rm_json_count(walls_of(e)) == run->rank_count &&
                   has_walls(run, rm_json_get(e, "children"), depth + 1);
    }
    return is_whole;
}

static resmon_status make_walls(struct resmon_run *run, const struct rm_json *array, size_t scopes)
{
    if (run->rank_count == 0) {
        return RESMON_OK;
    }
    if (!has_walls(run, array, 0)) {
        return rm_error(RESMON_EFORMAT, "over_ranks.wall_ns of a scope does not have %zu numbers",
                        run->rank_count);
    }
    run->rank_walls =
        rm_arena_alloc(&run->strings, scopes * run->rank_count, sizeof *run->rank_walls);
    return run->rank_walls != NULL ? RESMON_OK : rm_run_out_of_memory();
}

static resmon_status read_scope_list(struct resmon_run *run, const struct rm_json *array,
                                     int64_t parent, uint32_t depth)
{
    resmon_status status = RESMON_OK;
    for (const struct rm_json *e = rm_json_first(array);
         e != NULL && depth <= RM_MAX_DEPTH && status == RESMON_OK; e = rm_json_next(e)) {
        int64_t own = (int64_t)run->scope_count++;
        resmon_run_scope *scope = &run->scopes[own];
        status = read_scope(run, scope, e);
        if (run->rank_walls != NULL) {
            read_numbers(rm_run_rank_walls(run, (size_t)own), run->rank_count, walls_of(e));
        }
        scope->parent = parent;
        scope->depth = depth;
        if (status == RESMON_OK) {
            status = read_scope_list(run, rm_json_get(e, "children"), own, depth + 1);
        }
    }
    return status;
}

static resmon_status read_scopes(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "scopes");
    size_t count = count_scopes(array, 0);
    run->scopes = rm_arena_alloc(&run->strings, count, sizeof *run->scopes);
    if (run->scopes == NULL) {
        return rm_run_out_of_memory();
    }
    resmon_status status = make_walls(run, array, count);
    return status == RESMON_OK ? read_scope_list(run, array, -1, 0) : status;
}

/* ---- events ----------------------------------------------------------------------------- */

static resmon_status read_event_texts(struct resmon_run *run, const struct rm_json *events)
{
    const struct rm_json *names = rm_json_get(events, "names");
    resmon_status status =
        READ_RECORDS(run, rm_json_get(events, "threads"), RM_RECORD_thread, threads, thread_count);
    run->event_names =
        rm_arena_alloc(&run->strings, rm_json_count(names), sizeof *run->event_names);
    if (status != RESMON_OK || run->event_names == NULL) {
        return status != RESMON_OK ? status : rm_run_out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(names); e != NULL; e = rm_json_next(e)) {
        const char *name = rm_json_text(e);
        run->event_names[run->event_name_count++] =
            rm_arena_keep(&run->strings, name != NULL ? name : "", SIZE_MAX);
    }
    return status;
}

static resmon_status read_events(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *events = rm_json_get(document, "events");
    struct rm_column_of columns[RM_EVENT_COLUMNS];
    if (events == NULL || rm_json_get(events, "name") == NULL) {
        return RESMON_OK;
    }
    run->keeps_events = 1;
    resmon_status status = read_event_texts(run, events);
    size_t count = rm_json_count(rm_json_get(events, "name"));
    run->events = rm_arena_alloc(&run->strings, count, sizeof *run->events);
    if (status != RESMON_OK || run->events == NULL) {
        return status != RESMON_OK ? status : rm_run_out_of_memory();
    }
    rm_document_event_columns(run, columns);
    for (size_t i = 0; i < RM_EVENT_COLUMNS && status == RESMON_OK; i++) {
        status = rm_column_read(events, "events.", &columns[i],
                                (struct rm_rows_of){run->events, count, sizeof *run->events});
    }
    run->event_count = status == RESMON_OK ? count : 0;
    rm_run_sort_events(run);
    return status;
}

/* The order matters: statistics and series are stored in columns, counts in counters. */
static resmon_status (*const parts[])(struct resmon_run *run, const struct rm_json *document) = {
    read_run,          read_facts,   read_processes, read_nodes,
    read_sources,      read_columns, read_summary,   read_series,
    compute_from_rows, read_tags,    read_counters,  read_scopes,
    read_accounts,     read_events,  read_lines,     rm_document_read_profile,
};

static resmon_status check_format(const struct rm_json *document)
{
    const char *format = rm_json_text(rm_json_get(document, "format"));
    double version = rm_json_number(rm_json_get(document, "version"));
    if (format == NULL || strcmp(format, RM_DOCUMENT_FORMAT) != 0) {
        bool is_bench = rm_json_get(document, "results") != NULL;
        return rm_error(RESMON_EFORMAT, "the JSON is not a run document%s",
                        is_bench ? ", but a benchmark, for resmon diff and resmon trend"
                                 : ": \"format\" is not \"" RM_DOCUMENT_FORMAT "\"");
    }
    if (!(version == RM_DOCUMENT_VERSION)) {
        return rm_error(RESMON_EVERSION,
                        "a run document of version %g; this libresmon reads version %d", version,
                        RM_DOCUMENT_VERSION);
    }
    return RESMON_OK;
}

static resmon_status read_document(const struct rm_json *document, struct resmon_run **ret_run)
{
    resmon_status status = check_format(document);
    if (status != RESMON_OK) {
        return status;
    }
    struct resmon_run *run = rm_run_new();
    if (run == NULL) {
        return rm_run_out_of_memory();
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && status == RESMON_OK; i++) {
        status = parts[i](run, document);
        status = status == RESMON_OK ? rm_run_check_memory(run) : status;
    }
    if (status == RESMON_OK) {
        status = rm_scope_names_sum(run);
    }
    if (status != RESMON_OK) {
        rm_run_free(run);
        return status;
    }
    *ret_run = run;
    return RESMON_OK;
}

static resmon_status parse(const char *text, size_t length, char *own, struct resmon_run **ret_run)
{
    struct rm_json *document = NULL;
    resmon_status status = rm_json_parse(text, length, &document);
    rm_free(own);
    if (status == RESMON_OK) {
        status = read_document(document, ret_run);
    }
    rm_json_free(document);
    return status;
}

resmon_status rm_document_parse(const char *text, size_t length, struct resmon_run **ret_run)
{
    return parse(text, length, NULL, ret_run);
}

resmon_status rm_document_take(char *text, size_t length, struct resmon_run **ret_run)
{
    return parse(text, length, text, ret_run);
}
