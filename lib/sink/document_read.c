/* SPDX-License-Identifier: MIT */
/*
 * Run document -> run.  A document is outside input: what is missing or of another type is left
 * empty or NaN, and a number that its type cannot hold is 0.
 */
#define _DEFAULT_SOURCE /* timegm */
#include <math.h>
#include <string.h>
#include <time.h>

#include <resmon/metric.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "sink/document.h"
#include "sink/document_parts.h"
#include "sink/json.h"

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a run document");
}

/* ---- values ----------------------------------------------------------------------------- */

const char *rm_document_text(struct resmon_run *run, const struct rm_json *value,
                             resmon_status *status)
{
    const char *text = rm_json_text(value);
    const char *copy = rm_arena_text(&run->strings, text != NULL ? text : "", SIZE_MAX);
    if (copy == NULL) {
        *status = out_of_memory();
        return "";
    }
    return copy;
}

static const char *text_of(struct resmon_run *run, const struct rm_json *object, const char *key,
                           resmon_status *status)
{
    return rm_document_text(run, rm_json_get(object, key), status);
}

static double number_of(const struct rm_json *object, const char *key)
{
    return rm_json_number(rm_json_get(object, key));
}

/* What is no count at all is 0. */
static uint64_t count_of_number(double number)
{
    return number >= 0.0 && number < 0x1p63 ? (uint64_t)number : 0;
}

static uint64_t count_of(const struct rm_json *object, const char *key)
{
    return count_of_number(number_of(object, key));
}

static int64_t time_of(const struct rm_json *object, const char *key)
{
    double number = number_of(object, key);
    return number > -0x1p62 && number < 0x1p62 ? (int64_t)number : 0;
}

static int32_t index_of(const char *const *words, size_t count, const char *text)
{
    for (size_t i = 0; i < count && text != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            return (int32_t)i;
        }
    }
    return 0;
}

static int32_t provenance_of(const struct rm_json *object, const char *key)
{
    return index_of(rm_provenance_names, RM_ARRAY_LEN(rm_provenance_names),
                    rm_json_text(rm_json_get(object, key)));
}

/* The pinned codes are few: asking each for its name is the whole look-up. */
int32_t rm_document_status(const struct rm_json *object)
{
    const char *text = rm_json_text(rm_json_get(object, "status"));
    for (int32_t code = 0; text != NULL && code > -64; code--) {
        if (strcmp(resmon_status_name(code), text) == 0) {
            return code;
        }
    }
    return RESMON_EFORMAT;
}

/* "2026-11-21T08:33:18.123456789Z" */
static int64_t realtime_of(const struct rm_json *object, const char *key)
{
    static const char marks[] = "--T::.Z";
    const char *text = rm_json_text(rm_json_get(object, key));
    struct rm_text rest = rm_text_of(text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    uint64_t parts[7] = {0};
    for (size_t i = 0; i < RM_ARRAY_LEN(parts); i++) {
        const char mark[2] = {marks[i], '\0'};
        if (!rm_parse_u64(&rest, &parts[i]) || !rm_parse_literal(&rest, mark)) {
            return 0;
        }
    }
    if (parts[0] < 1970 || parts[0] > 2261 || parts[6] >= (uint64_t)RM_NS_PER_S) {
        return 0;
    }
    struct tm time = {
        .tm_year = (int)parts[0] - 1900,
        .tm_mon = (int)(parts[1] & 0xff) - 1,
        .tm_mday = (int)(parts[2] & 0xff),
        .tm_hour = (int)(parts[3] & 0xff),
        .tm_min = (int)(parts[4] & 0xff),
        .tm_sec = (int)(parts[5] & 0xff),
    };
    int64_t seconds = (int64_t)timegm(&time);
    bool is_possible = seconds >= 0 && seconds < INT64_MAX / RM_NS_PER_S;
    return is_possible ? seconds * RM_NS_PER_S + (int64_t)parts[6] : 0;
}

/* ---- parts ------------------------------------------------------------------------------ */

/* Members of "run" that are fields of the run itself, not facts. */
static bool is_field(const char *group, const char *key)
{
    static const char *const fields[] = {"state",   "label",  "start",   "duration_ns",
                                         "samples", "stride", "halvings"};
    for (size_t i = 0; i < RM_ARRAY_LEN(fields); i++) {
        if (strcmp(key, fields[i]) == 0) {
            return strcmp(group, "run") == 0;
        }
    }
    return false;
}

static size_t count_members(const struct rm_json *object)
{
    size_t count = 0;
    for (const struct rm_json *m = rm_json_first_member(object); m != NULL; m = rm_json_next(m)) {
        count++;
    }
    return count;
}

static resmon_status read_fact(struct resmon_run *run, const char *group,
                               const struct rm_json *member)
{
    char number[RM_FACT_NUMBER_BYTES];
    const char *value = rm_json_text(member);
    double numeric = rm_json_number(member);
    struct rm_fact *fact = &run->facts[run->fact_count];
    fact->kind = value != NULL ? RM_FACT_TEXT : RM_FACT_NUMBER;
    if (value == NULL) {
        if (!isfinite(numeric) || fabs(numeric) >= RM_FACT_NUMBER_LIMIT) {
            return RESMON_OK; /* nothing that this library writes */
        }
        rm_facts_print_number(numeric, number);
        value = number;
    }
    fact->group = group;
    fact->key = rm_arena_text(&run->strings, rm_json_key(member), SIZE_MAX);
    fact->value = rm_arena_text(&run->strings, value, SIZE_MAX);
    if (fact->key == NULL || fact->value == NULL) {
        return out_of_memory();
    }
    run->fact_count++;
    return RESMON_OK;
}

static resmon_status read_facts(struct resmon_run *run, const struct rm_json *document)
{
    static const char *const groups[] = {"run", "machine", "job", "settings", "energy"};
    size_t count = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        count += count_members(rm_json_get(document, groups[i]));
    }
    run->facts = rm_arena_alloc(&run->strings, count, sizeof *run->facts);
    if (run->facts == NULL) {
        return out_of_memory();
    }
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        const struct rm_json *member = rm_json_first_member(rm_json_get(document, groups[i]));
        for (; member != NULL && status == RESMON_OK; member = rm_json_next(member)) {
            if (!is_field(groups[i], rm_json_key(member))) {
                status = read_fact(run, groups[i], member);
            }
        }
    }
    return status;
}

static resmon_status read_run(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *object = rm_json_get(document, "run");
    resmon_status status = RESMON_OK;
    run->state = text_of(run, object, "state", &status);
    run->label = text_of(run, object, "label", &status);
    run->start_realtime_ns = realtime_of(object, "start");
    run->duration_ns = time_of(object, "duration_ns");
    run->samples = count_of(object, "samples");
    run->stride = count_of(object, "stride");
    run->halvings = count_of(object, "halvings");
    return status;
}

static resmon_status read_sources(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "sources");
    resmon_status status = RESMON_OK;
    run->sources = rm_arena_alloc(&run->strings, rm_json_count(array), sizeof *run->sources);
    if (run->sources == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        struct rm_run_source *source = &run->sources[run->source_count++];
        source->name = text_of(run, e, "name", &status);
        source->reason = text_of(run, e, "reason", &status);
        source->status = rm_document_status(e);
        source->provenance = provenance_of(e, "provenance");
        source->reads = count_of(e, "reads");
        source->failures = count_of(e, "failures");
        source->cost_ns = count_of(e, "cost_ns");
        source->cost_max_ns = count_of(e, "cost_max_ns");
        source->every = count_of(e, "every");
    }
    return status;
}

static resmon_status read_columns(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "columns");
    resmon_status status = RESMON_OK;
    run->columns = rm_arena_alloc(&run->strings, rm_json_count(array), sizeof *run->columns);
    if (run->columns == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        struct rm_run_column *column = &run->columns[run->column_count++];
        const char *kind = rm_json_text(rm_json_get(e, "kind"));
        column->metric = text_of(run, e, "metric", &status);
        column->instance = text_of(run, e, "instance", &status);
        column->unit = text_of(run, e, "unit", &status);
        column->source = text_of(run, e, "source", &status);
        column->kind = kind != NULL && strcmp(kind, "counter") == 0 ? RESMON_COUNTER : RESMON_GAUGE;
        column->level = index_of(rm_level_names, RM_ARRAY_LEN(rm_level_names),
                                 rm_json_text(rm_json_get(e, "level")));
        column->stats = rm_run_statistics_none();
    }
    return status;
}

static void read_statistics(struct rm_run_statistics *stats, const struct rm_json *object)
{
    stats->n = count_of(object, "n");
    if (stats->n == 0) {
        return;
    }
    stats->resets = count_of(object, "resets");
    stats->first = number_of(object, "first");
    stats->last = number_of(object, "last");
    stats->min = number_of(object, "min");
    stats->max = number_of(object, "max");
    stats->mean = number_of(object, "mean");
    stats->integral = number_of(object, "integral");
    stats->p50 = number_of(object, "p50");
    stats->p95 = number_of(object, "p95");
    stats->duration_s = number_of(object, "duration_s");
    const struct rm_json *over = rm_json_first(rm_json_get(object, "over_s"));
    for (size_t i = 0; i < RM_OVER_COUNT && over != NULL; i++, over = rm_json_next(over)) {
        stats->over_s[i] = rm_json_number(over);
    }
}

static resmon_status read_summary(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(rm_json_get(document, "summary"), "columns");
    size_t i = 0;
    for (const struct rm_json *e = rm_json_first(array); e != NULL && i < run->column_count;
         e = rm_json_next(e)) {
        read_statistics(&run->columns[i++].stats, e);
    }
    return RESMON_OK;
}

static void read_numbers(double *target, size_t count, const struct rm_json *array)
{
    const struct rm_json *element = rm_json_first(array);
    for (size_t i = 0; i < count; i++) {
        target[i] = element != NULL ? rm_json_number(element) : RM_NAN;
        element = element != NULL ? rm_json_next(element) : NULL;
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
        return out_of_memory();
    }
    run->row_count = rows;
    read_numbers(numbers, rows, rm_json_get(series, "t_first_ns"));
    for (size_t i = 0; i < rows; i++) {
        run->t_first[i] = (int64_t)count_of_number(numbers[i]);
    }
    read_numbers(numbers, rows, rm_json_get(series, "t_last_ns"));
    for (size_t i = 0; i < rows; i++) {
        run->t_last[i] = (int64_t)count_of_number(numbers[i]);
    }
    read_numbers(numbers, rows, rm_json_get(series, "samples"));
    for (size_t i = 0; i < rows; i++) {
        run->row_samples[i] = count_of_number(numbers[i]);
    }
    return RESMON_OK;
}

/* Every series must have all its numbers: a document that only claims many columns and rows must
 * not cost more memory than its text. */
static resmon_status check_series(const struct resmon_run *run, const struct rm_json *columns)
{
    if (run->row_count > 0 && rm_json_count(columns) != run->column_count) {
        return rm_error(RESMON_EFORMAT, "series.columns has %zu entries; columns has %zu",
                        rm_json_count(columns), run->column_count);
    }
    size_t c = 0;
    for (const struct rm_json *e = rm_json_first(columns); e != NULL && run->row_count > 0;
         e = rm_json_next(e), c++) {
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
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
        return out_of_memory();
    }
    size_t c = 0;
    for (const struct rm_json *e = rm_json_first(columns); e != NULL; e = rm_json_next(e), c++) {
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            read_numbers(rm_run_series(run, c, kind), run->row_count,
                         rm_json_get(e, rm_series_names[kind]));
        }
    }
    return RESMON_OK;
}

static resmon_status read_tags(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "tags");
    resmon_status status = RESMON_OK;
    run->tags = rm_arena_alloc(&run->strings, rm_json_count(array), sizeof *run->tags);
    if (run->tags == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array); e != NULL; e = rm_json_next(e)) {
        struct rm_run_tag *tag = &run->tags[run->tag_count++];
        tag->t_ns = time_of(e, "t_ns");
        tag->label = text_of(run, e, "label", &status);
    }
    return status;
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

static void read_meters(struct rm_run_scope *scope, const struct rm_json *object)
{
    scope->cpu_calls = count_of(object, "cpu_calls");
    scope->cpu_ns = number_of(object, "cpu_ns");
    scope->cpu_provenance = provenance_of(object, "cpu_provenance");
    scope->io_calls = count_of(object, "io_calls");
    for (size_t i = 0; i < RM_IO_FIELDS; i++) {
        scope->io[i] = number_of(object, rm_io_names[i]);
    }
    scope->io_provenance = provenance_of(object, "io_provenance");
    scope->rss_calls = count_of(object, "rss_peak_calls");
    scope->rss_peak_bytes = number_of(object, "rss_peak_bytes");
    scope->rss_provenance = provenance_of(object, "rss_peak_provenance");
    scope->energy_j = number_of(object, "energy_joules");
    scope->energy_doubt_j = number_of(object, "energy_uncertainty_joules");
}

/* Of as many counters as the document lists. */
static void read_counts(const struct resmon_run *run, struct rm_run_scope *scope,
                        const struct rm_json *object)
{
    const struct rm_json *element = rm_json_first(rm_json_get(object, "counters"));
    for (size_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        bool is_there = element != NULL && i < run->counter_count;
        scope->counts[i] = is_there ? rm_json_number(element) : RM_NAN;
        element = element != NULL ? rm_json_next(element) : NULL;
    }
    scope->counter_calls = count_of(object, "counters_calls");
    scope->counter_running = number_of(object, "counters_running");
    scope->counter_provenance = provenance_of(object, "counters_provenance");
}

static resmon_status read_counters(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "counters");
    resmon_status status = RESMON_OK;
    run->counters = rm_arena_alloc(&run->strings, RM_SCOPE_COUNTERS, sizeof *run->counters);
    if (run->counters == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(array);
         e != NULL && run->counter_count < RM_SCOPE_COUNTERS; e = rm_json_next(e)) {
        struct rm_run_counter *counter = &run->counters[run->counter_count++];
        counter->name = text_of(run, e, "name", &status);
        counter->unit = text_of(run, e, "unit", &status);
        counter->reason = text_of(run, e, "reason", &status);
        counter->status = rm_document_status(e);
    }
    return status;
}

static resmon_status read_scope(struct resmon_run *run, struct rm_run_scope *scope,
                                const struct rm_json *object)
{
    resmon_status status = RESMON_OK;
    scope->name = text_of(run, object, "name", &status);
    scope->file = text_of(run, object, "file", &status);
    scope->function = text_of(run, object, "function", &status);
    scope->line = (uint32_t)count_of(object, "line");
    scope->calls = count_of(object, "calls");
    scope->folded = count_of(object, "recursive_calls");
    scope->threads = (uint32_t)count_of(object, "threads");
    scope->total_ns = number_of(object, "wall_ns");
    scope->self_ns = number_of(object, "self_ns");
    scope->min_ns = number_of(object, "wall_min_ns");
    scope->max_ns = number_of(object, "wall_max_ns");
    scope->stddev_ns = number_of(object, "wall_stddev_ns");
    scope->open = count_of(object, "open");
    scope->open_ns = number_of(object, "open_ns");
    read_meters(scope, object);
    read_counts(run, scope, object);
    return status;
}

static resmon_status read_scope_list(struct resmon_run *run, const struct rm_json *array,
                                     int64_t parent, uint32_t depth)
{
    resmon_status status = RESMON_OK;
    for (const struct rm_json *e = rm_json_first(array);
         e != NULL && depth <= RM_MAX_DEPTH && status == RESMON_OK; e = rm_json_next(e)) {
        int64_t own = (int64_t)run->scope_count++;
        struct rm_run_scope *scope = &run->scopes[own];
        scope->parent = parent;
        scope->depth = depth;
        status = read_scope(run, scope, e);
        if (status == RESMON_OK) {
            status = read_scope_list(run, rm_json_get(e, "children"), own, depth + 1);
        }
    }
    return status;
}

static resmon_status read_scopes(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *array = rm_json_get(document, "scopes");
    run->scopes = rm_arena_alloc(&run->strings, count_scopes(array, 0), sizeof *run->scopes);
    return run->scopes != NULL ? read_scope_list(run, array, -1, 0) : out_of_memory();
}

/* ---- events ----------------------------------------------------------------------------- */

static resmon_status read_event_texts(struct resmon_run *run, const struct rm_json *events)
{
    const struct rm_json *threads = rm_json_get(events, "threads");
    const struct rm_json *names = rm_json_get(events, "names");
    resmon_status status = RESMON_OK;
    run->threads = rm_arena_alloc(&run->strings, rm_json_count(threads), sizeof *run->threads);
    run->event_names =
        rm_arena_alloc(&run->strings, rm_json_count(names), sizeof *run->event_names);
    if (run->threads == NULL || run->event_names == NULL) {
        return out_of_memory();
    }
    for (const struct rm_json *e = rm_json_first(threads); e != NULL; e = rm_json_next(e)) {
        struct rm_run_thread *thread = &run->threads[run->thread_count++];
        thread->id = count_of(e, "id");
        thread->name = text_of(run, e, "name", &status);
    }
    for (const struct rm_json *e = rm_json_first(names); e != NULL; e = rm_json_next(e)) {
        const char *name = rm_json_text(e);
        const char *copy = rm_arena_text(&run->strings, name != NULL ? name : "", SIZE_MAX);
        if (copy == NULL) {
            return out_of_memory();
        }
        run->event_names[run->event_name_count++] = copy;
    }
    return status;
}

/* Whole numbers below a bound; anything else is damage: an index must be right. */
bool rm_document_whole(const struct rm_json *element, double bound, uint64_t *ret_number)
{
    double number = rm_json_number(element);
    bool is_whole = number >= 0.0 && number < bound && number == floor(number);
    *ret_number = is_whole ? (uint64_t)number : 0;
    return is_whole;
}

enum event_column {
    EVENT_NAME,
    EVENT_THREAD,
    EVENT_START,
    EVENT_DURATION,
    EVENT_DEPTH,
    EVENT_OPEN
};

static const char *const event_keys[] = {"name",        "thread", "start_ns",
                                         "duration_ns", "depth",  "open"};

#define EVENT_COLUMNS RM_ARRAY_LEN(event_keys)

static resmon_status read_event_columns(struct resmon_run *run,
                                        const struct rm_json *columns[EVENT_COLUMNS])
{
    const double bounds[EVENT_COLUMNS] = {
        [EVENT_NAME] = (double)run->event_name_count,
        [EVENT_THREAD] = (double)run->thread_count,
        [EVENT_START] = 0x1p54,
        [EVENT_DURATION] = 0x1p54,
        [EVENT_DEPTH] = RM_MAX_DEPTH,
        [EVENT_OPEN] = 2,
    };
    const struct rm_json *elements[EVENT_COLUMNS];
    for (size_t c = 0; c < EVENT_COLUMNS; c++) {
        elements[c] = rm_json_first(columns[c]);
    }
    for (; elements[0] != NULL; run->event_count++) {
        uint64_t numbers[EVENT_COLUMNS];
        for (size_t c = 0; c < EVENT_COLUMNS; c++) {
            if (!rm_document_whole(elements[c], bounds[c], &numbers[c])) {
                return rm_error(RESMON_EFORMAT, "events.%s[%zu] is out of range", event_keys[c],
                                run->event_count);
            }
            elements[c] = rm_json_next(elements[c]);
        }
        run->events[run->event_count] = (struct rm_run_event){
            .name = (uint32_t)numbers[EVENT_NAME],
            .thread = (uint32_t)numbers[EVENT_THREAD],
            .start_ns = (int64_t)numbers[EVENT_START],
            .duration_ns = (int64_t)numbers[EVENT_DURATION],
            .depth = (uint16_t)numbers[EVENT_DEPTH],
            .is_open = (uint16_t)numbers[EVENT_OPEN],
        };
    }
    return RESMON_OK;
}

static resmon_status read_events(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *events = rm_json_get(document, "events");
    const struct rm_json *columns[EVENT_COLUMNS];
    if (events == NULL || rm_json_get(events, event_keys[0]) == NULL) {
        return RESMON_OK;
    }
    size_t count = rm_json_count(rm_json_get(events, event_keys[0]));
    for (size_t c = 0; c < EVENT_COLUMNS; c++) {
        columns[c] = rm_json_get(events, event_keys[c]);
        if (rm_json_count(columns[c]) != count) {
            return rm_error(RESMON_EFORMAT, "events.%s has %zu entries; events.name has %zu",
                            event_keys[c], rm_json_count(columns[c]), count);
        }
    }
    run->keeps_events = 1;
    resmon_status status = read_event_texts(run, events);
    run->events = rm_arena_alloc(&run->strings, count, sizeof *run->events);
    if (status != RESMON_OK || run->events == NULL) {
        return status != RESMON_OK ? status : out_of_memory();
    }
    status = read_event_columns(run, columns);
    rm_run_sort_events(run);
    return status;
}

static resmon_status read_accounts(struct resmon_run *run, const struct rm_json *document)
{
    const struct rm_json *overhead = rm_json_get(document, "overhead");
    const struct rm_json *dropped = rm_json_get(document, "dropped");
    run->overhead = (struct rm_run_overhead){
        .sampler = {.late = count_of(overhead, "late_samples"),
                    .cpu_ns = count_of(overhead, "sampler_cpu_ns"),
                    .wall_ns = count_of(overhead, "sampler_wall_ns"),
                    .wall_max_ns = count_of(overhead, "sampler_wall_max_ns"),
                    .undelivered = count_of(dropped, "rows")},
        .scopes_ns = number_of(overhead, "scopes_ns"),
        .memory_bytes = count_of(overhead, "memory_bytes"),
    };
    run->dropped = (struct rm_run_dropped){
        .tags = count_of(dropped, "tags"),
        .threads = count_of(dropped, "threads"),
        .scopes = count_of(dropped, "scopes"),
        .paths = count_of(dropped, "paths"),
        .stale_ends = count_of(dropped, "stale_ends"),
        .misordered_ends = count_of(dropped, "misordered_ends"),
        .events = count_of(dropped, "events"),
        .lines = count_of(dropped, "lines"),
    };
    return RESMON_OK;
}

/* In this order: statistics and series go into the columns, counts are of counters. */
static resmon_status (*const parts[])(struct resmon_run *run, const struct rm_json *document) = {
    read_run,
    read_facts,
    read_sources,
    read_columns,
    read_summary,
    read_series,
    read_tags,
    read_counters,
    read_scopes,
    read_accounts,
    read_events,
    rm_document_read_lines,
    rm_document_read_profile,
};

static resmon_status check_format(const struct rm_json *document)
{
    const char *format = rm_json_text(rm_json_get(document, "format"));
    double version = number_of(document, "version");
    if (format == NULL || strcmp(format, RM_DOCUMENT_FORMAT) != 0) {
        return rm_error(RESMON_EFORMAT, "the JSON is not a run document: \"format\" is not \"%s\"",
                        RM_DOCUMENT_FORMAT);
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
        return out_of_memory();
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && status == RESMON_OK; i++) {
        status = parts[i](run, document);
    }
    if (status != RESMON_OK) {
        rm_run_free(run);
        return status;
    }
    *ret_run = run;
    return RESMON_OK;
}

resmon_status rm_document_parse(const char *text, size_t length, struct resmon_run **ret_run)
{
    struct rm_json *document = NULL;
    resmon_status status = rm_json_parse(text, length, &document);
    if (status == RESMON_OK) {
        status = read_document(document, ret_run);
    }
    rm_json_free(document);
    return status;
}
