/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <resmon/metric.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/output.h"
#include "base/status.h"
#include "carbon/convert.h"
#include "sink/document.h"
#include "sink/document_parts.h"
#include "sink/json.h"
#include "store/node_summary.h"
#include "store/run_energy.h"
#include "sys/outfile.h"

const char *const rm_provenance_names[5] = {"none", "measured", "sampled", "modelled", "shared"};
const char *const rm_level_names[6] = {"", "process", "tree", "cgroup", "node", "device"};
const char *const rm_io_names[RM_IO_FIELDS] = {
    "io_read_chars",  "io_write_chars", "io_read_count",
    "io_write_count", "io_read_bytes",  "io_write_bytes",
};

static const char *word(const char *const *words, size_t count, int32_t index)
{
    return index >= 0 && (size_t)index < count ? words[index] : words[0];
}

/* ---- one part of the document each ------------------------------------------------------ */

static void put_facts(struct rm_json *object, const struct resmon_run *run, const char *group,
                      bool *is_whole)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, group) != 0) {
            continue;
        }
        if (fact->kind == RM_FACT_NUMBER) {
            rm_json_put_number(object, fact->key, rm_fact_number(fact), is_whole);
        } else {
            rm_json_put_text(object, fact->key, fact->value, is_whole);
        }
    }
}

/* RFC 3339 with nanoseconds, so that the start loads back exactly. */
static void put_time(struct rm_json *object, const char *key, int64_t realtime_ns, bool *is_whole)
{
    char text[64];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / RM_NS_PER_S);
    size_t length = gmtime_r(&seconds, &parts) != NULL
                        ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)
                        : 0;
    (void)snprintf(text + length, sizeof text - length, ".%09lldZ",
                   (long long)(realtime_ns % RM_NS_PER_S));
    rm_json_put_text(object, key, text, is_whole);
}

static struct rm_json *write_run(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_text(object, "state", run->state, is_whole);
    rm_json_put_text(object, "label", run->label, is_whole);
    put_time(object, "start", run->start_realtime_ns, is_whole);
    rm_json_put_number(object, "duration_ns", (double)run->duration_ns, is_whole);
    rm_json_put_number(object, "samples", (double)run->samples, is_whole);
    rm_json_put_number(object, "stride", (double)run->stride, is_whole);
    rm_json_put_number(object, "halvings", (double)run->halvings, is_whole);
    put_facts(object, run, "run", is_whole);
    return object;
}

static struct rm_json *write_machine(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    put_facts(object, run, "machine", is_whole);
    return object;
}

/* null: the program was in no job. */
static struct rm_json *write_job(const struct resmon_run *run, bool *is_whole)
{
    if (rm_run_fact(run, "job", "system") == NULL) {
        return rm_json_null(is_whole);
    }
    struct rm_json *object = rm_json_object(is_whole);
    put_facts(object, run, "job", is_whole);
    return object;
}

static struct rm_json *write_settings(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    put_facts(object, run, "settings", is_whole);
    return object;
}

static struct rm_json *write_sources(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < run->source_count && *is_whole; i++) {
        const struct rm_run_source *source = &run->sources[i];
        struct rm_json *object = rm_json_object(is_whole);
        rm_json_put_text(object, "name", source->name, is_whole);
        rm_json_put_text(object, "status", resmon_status_name(source->status), is_whole);
        rm_json_put_text(
            object, "provenance",
            word(rm_provenance_names, RM_ARRAY_LEN(rm_provenance_names), source->provenance),
            is_whole);
        rm_json_put_text(object, "reason", source->reason, is_whole);
        rm_json_put_number(object, "reads", (double)source->reads, is_whole);
        rm_json_put_number(object, "failures", (double)source->failures, is_whole);
        rm_json_put_number(object, "cost_ns", (double)source->cost_ns, is_whole);
        rm_json_put_number(object, "cost_max_ns", (double)source->cost_max_ns, is_whole);
        rm_json_put_number(object, "every", (double)source->every, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

static struct rm_json *write_columns(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < run->column_count && *is_whole; i++) {
        const struct rm_run_column *column = &run->columns[i];
        struct rm_json *object = rm_json_object(is_whole);
        rm_json_put_text(object, "metric", column->metric, is_whole);
        rm_json_put_text(object, "instance", column->instance, is_whole);
        rm_json_put_text(object, "unit", column->unit, is_whole);
        rm_json_put_text(object, "kind", column->kind == RESMON_COUNTER ? "counter" : "gauge",
                         is_whole);
        rm_json_put_text(object, "level",
                         word(rm_level_names, RM_ARRAY_LEN(rm_level_names), column->level),
                         is_whole);
        rm_json_put_text(object, "source", column->source, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

/* What the counters of scopes are, in the order of their counts. */
static struct rm_json *write_counters(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < run->counter_count && *is_whole; i++) {
        const struct rm_run_counter *counter = &run->counters[i];
        struct rm_json *object = rm_json_object(is_whole);
        rm_json_put_text(object, "name", counter->name, is_whole);
        rm_json_put_text(object, "unit", counter->unit, is_whole);
        rm_json_put_text(object, "status", resmon_status_name(counter->status), is_whole);
        rm_json_put_text(object, "reason", counter->reason, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

static struct rm_json *write_tags(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < run->tag_count && *is_whole; i++) {
        struct rm_json *object = rm_json_object(is_whole);
        rm_json_put_number(object, "t_ns", (double)run->tags[i].t_ns, is_whole);
        rm_json_put_text(object, "label", run->tags[i].label, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

static void put_meters(struct rm_json *object, const struct rm_run_scope *scope, bool *is_whole)
{
    const size_t words = RM_ARRAY_LEN(rm_provenance_names);
    if (scope->cpu_calls > 0) {
        rm_json_put_number(object, "cpu_ns", scope->cpu_ns, is_whole);
        rm_json_put_number(object, "cpu_calls", (double)scope->cpu_calls, is_whole);
        rm_json_put_text(object, "cpu_provenance",
                         word(rm_provenance_names, words, scope->cpu_provenance), is_whole);
    }
    if (scope->rss_calls > 0) {
        rm_json_put_number(object, "rss_peak_bytes", scope->rss_peak_bytes, is_whole);
        rm_json_put_number(object, "rss_peak_calls", (double)scope->rss_calls, is_whole);
        rm_json_put_text(object, "rss_peak_provenance",
                         word(rm_provenance_names, words, scope->rss_provenance), is_whole);
    }
    if (scope->io_calls > 0) {
        for (size_t i = 0; i < RM_IO_FIELDS; i++) {
            rm_json_put_number(object, rm_io_names[i], scope->io[i], is_whole);
        }
        rm_json_put_number(object, "io_calls", (double)scope->io_calls, is_whole);
        rm_json_put_text(object, "io_provenance",
                         word(rm_provenance_names, words, scope->io_provenance), is_whole);
    }
}

static void put_counts(struct rm_json *object, const struct resmon_run *run,
                       const struct rm_run_scope *scope, bool *is_whole)
{
    if (scope->counter_calls == 0) {
        return;
    }
    rm_json_put(object, "counters", rm_json_doubles(scope->counts, run->counter_count, is_whole),
                is_whole);
    rm_json_put_number(object, "counters_calls", (double)scope->counter_calls, is_whole);
    rm_json_put_number(object, "counters_running", scope->counter_running, is_whole);
    rm_json_put_text(
        object, "counters_provenance",
        word(rm_provenance_names, RM_ARRAY_LEN(rm_provenance_names), scope->counter_provenance),
        is_whole);
}

static void put_scope_energy(struct rm_json *object, const struct rm_run_scope *scope,
                             const resmon_energy *energy, bool *is_whole)
{
    if (isnan(scope->energy_j)) {
        return;
    }
    const resmon_carbon_cost cost =
        rm_carbon_cost(scope->energy_j, energy->pue, energy->wue, energy->g_per_kwh);
    rm_json_put_number(object, "energy_joules", scope->energy_j, is_whole);
    rm_json_put_number(object, "energy_uncertainty_joules", scope->energy_doubt_j, is_whole);
    rm_json_put_number(object, "energy_it_kwh", cost.it_kwh, is_whole);
    rm_json_put_number(object, "energy_gco2eq", cost.gco2eq, is_whole);
    rm_json_put_text(object, "energy_provenance",
                     word(rm_provenance_names, RM_ARRAY_LEN(rm_provenance_names),
                          rm_energy_scope_provenance(energy, scope->energy_j)),
                     is_whole);
}

static struct rm_json *write_scope(const struct resmon_run *run, const struct rm_run_scope *scope,
                                   const resmon_energy *energy, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_text(object, "name", scope->name, is_whole);
    rm_json_put_text(object, "file", scope->file, is_whole);
    rm_json_put_text(object, "function", scope->function, is_whole);
    rm_json_put_number(object, "line", scope->line, is_whole);
    rm_json_put_number(object, "calls", (double)scope->calls, is_whole);
    rm_json_put_number(object, "recursive_calls", (double)scope->folded, is_whole);
    rm_json_put_number(object, "threads", scope->threads, is_whole);
    rm_json_put_number(object, "wall_ns", scope->total_ns, is_whole);
    rm_json_put_number(object, "self_ns", scope->self_ns, is_whole);
    rm_json_put_number(object, "wall_min_ns", scope->min_ns, is_whole);
    rm_json_put_number(object, "wall_max_ns", scope->max_ns, is_whole);
    rm_json_put_number(object, "wall_stddev_ns", scope->stddev_ns, is_whole);
    rm_json_put_number(object, "open", (double)scope->open, is_whole);
    rm_json_put_number(object, "open_ns", scope->open_ns, is_whole);
    put_meters(object, scope, is_whole);
    put_counts(object, run, scope, is_whole);
    put_scope_energy(object, scope, energy, is_whole);
    return object;
}

/* Preorder makes children follow their parents: each finds its parent's object already there. */
static struct rm_json *write_scopes(const struct resmon_run *run, bool *is_whole)
{
    const resmon_energy energy = rm_run_energy(run);
    struct rm_json *top = rm_json_array(is_whole);
    struct rm_json *children[RM_MAX_DEPTH + 2]; /* of the open scope at each depth */
    children[0] = top;
    for (size_t i = 0; i < run->scope_count && *is_whole; i++) {
        uint32_t depth = run->scopes[i].depth;
        if (depth > RM_MAX_DEPTH) {
            continue;
        }
        struct rm_json *object = write_scope(run, &run->scopes[i], &energy, is_whole);
        struct rm_json *own = rm_json_array(is_whole);
        rm_json_put(object, "children", own, is_whole);
        rm_json_append(children[depth], object, is_whole);
        children[depth + 1] = own;
    }
    return top;
}

static struct rm_json *write_statistics(const struct rm_run_statistics *stats, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_number(object, "n", (double)stats->n, is_whole);
    if (stats->n == 0) {
        return object;
    }
    rm_json_put_number(object, "first", stats->first, is_whole);
    rm_json_put_number(object, "last", stats->last, is_whole);
    rm_json_put_number(object, "min", stats->min, is_whole);
    rm_json_put_number(object, "max", stats->max, is_whole);
    rm_json_put_number(object, "mean", stats->mean, is_whole);
    rm_json_put_number(object, "integral", stats->integral, is_whole);
    rm_json_put_number(object, "p50", stats->p50, is_whole);
    rm_json_put_number(object, "p95", stats->p95, is_whole);
    rm_json_put_number(object, "duration_s", stats->duration_s, is_whole);
    rm_json_put_number(object, "resets", (double)stats->resets, is_whole);
    rm_json_put(object, "over_s", rm_json_doubles(stats->over_s, RM_OVER_COUNT, is_whole),
                is_whole);
    return object;
}

static struct rm_json *write_summary(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *columns = rm_json_array(is_whole);
    struct rm_json *node = rm_json_object(is_whole);
    for (size_t i = 0; i < run->column_count && *is_whole; i++) {
        rm_json_append(columns, write_statistics(&run->columns[i].stats, is_whole), is_whole);
    }
    for (size_t i = 0; i < RM_NODE_SUMMARY_KEYS; i++) {
        rm_json_put_number(node, rm_node_summary_key(i), rm_node_summary_value(run, i), is_whole);
    }
    rm_json_put(object, "columns", columns, is_whole);
    rm_json_put(object, "node", node, is_whole);
    return object;
}

static struct rm_json *write_overhead(const struct resmon_run *run, bool *is_whole)
{
    const struct rm_run_overhead *overhead = &run->overhead;
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_number(object, "sampler_cpu_ns", (double)overhead->sampler.cpu_ns, is_whole);
    rm_json_put_number(object, "sampler_wall_ns", (double)overhead->sampler.wall_ns, is_whole);
    rm_json_put_number(object, "sampler_wall_max_ns", (double)overhead->sampler.wall_max_ns,
                       is_whole);
    rm_json_put_number(object, "late_samples", (double)overhead->sampler.late, is_whole);
    rm_json_put_number(object, "scopes_ns", overhead->scopes_ns, is_whole);
    rm_json_put_number(object, "memory_bytes", (double)overhead->memory_bytes, is_whole);
    return object;
}

static struct rm_json *write_dropped(const struct resmon_run *run, bool *is_whole)
{
    const struct rm_run_dropped *dropped = &run->dropped;
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_number(object, "rows", (double)run->overhead.sampler.undelivered, is_whole);
    rm_json_put_number(object, "tags", (double)dropped->tags, is_whole);
    rm_json_put_number(object, "threads", (double)dropped->threads, is_whole);
    rm_json_put_number(object, "scopes", (double)dropped->scopes, is_whole);
    rm_json_put_number(object, "paths", (double)dropped->paths, is_whole);
    rm_json_put_number(object, "stale_ends", (double)dropped->stale_ends, is_whole);
    rm_json_put_number(object, "misordered_ends", (double)dropped->misordered_ends, is_whole);
    rm_json_put_number(object, "events", (double)dropped->events, is_whole);
    rm_json_put_number(object, "lines", (double)dropped->lines, is_whole);
    return object;
}

/* What the site would have burnt, had it had one fuel alone: never to be added up. */
static struct rm_json *write_single_fuels(const resmon_carbon_cost *cost, bool *is_whole)
{
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_number(object, "coal", cost->coal_kg, is_whole);
    rm_json_put_number(object, "natural_gas", cost->natural_gas_kg, is_whole);
    rm_json_put_number(object, "petroleum", cost->petroleum_kg, is_whole);
    return object;
}

static struct rm_json *write_energy_of(double joules, const resmon_energy *energy, bool *is_whole)
{
    const resmon_carbon_cost cost =
        rm_carbon_cost(joules, energy->pue, energy->wue, energy->g_per_kwh);
    struct rm_json *object = rm_json_object(is_whole);
    rm_json_put_number(object, "joules", joules, is_whole);
    rm_json_put_number(object, "it_kwh", cost.it_kwh, is_whole);
    rm_json_put_number(object, "facility_kwh", cost.facility_kwh, is_whole);
    rm_json_put_number(object, "gco2eq", cost.gco2eq, is_whole);
    rm_json_put_number(object, "water_litres", cost.water_l, is_whole);
    rm_json_put(object, "single_fuel_kgco2", write_single_fuels(&cost, is_whole), is_whole);
    return object;
}

static struct rm_json *write_energy_parts(const struct resmon_run *run, bool *is_whole)
{
    struct rm_json *array = rm_json_array(is_whole);
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        resmon_energy_part part = rm_run_energy_part(run, i);
        struct rm_json *object = rm_json_object(is_whole);
        rm_json_put_text(object, "name", part.name, is_whole);
        rm_json_put_text(
            object, "provenance",
            word(rm_provenance_names, RM_ARRAY_LEN(rm_provenance_names), part.provenance),
            is_whole);
        rm_json_put_text(object, "method", part.method, is_whole);
        rm_json_put_number(object, "node_joules", part.node_j, is_whole);
        rm_json_put_number(object, "tree_joules", part.tree_j, is_whole);
        rm_json_append(array, object, is_whole);
    }
    return array;
}

/* null: it was not asked for.  The facts are what it was reckoned with. */
static struct rm_json *write_energy(const struct resmon_run *run, bool *is_whole)
{
    if (!rm_run_has_energy(run)) {
        return rm_json_null(is_whole);
    }
    resmon_energy energy = rm_run_energy(run);
    struct rm_json *object = rm_json_object(is_whole);
    struct rm_json *node = write_energy_of(energy.node_j, &energy, is_whole);
    struct rm_json *tree = write_energy_of(energy.tree_j, &energy, is_whole);
    put_facts(object, run, "energy", is_whole);
    rm_json_put(object, "parts", write_energy_parts(run, is_whole), is_whole);
    rm_json_put(object, "node", node, is_whole);
    rm_json_put(object, "tree", tree, is_whole);
    return object;
}

static const struct {
    const char *key;
    struct rm_json *(*write)(const struct resmon_run *run, bool *is_whole);
} parts[] = {
    {"run", write_run},           {"machine", write_machine},   {"job", write_job},
    {"settings", write_settings}, {"sources", write_sources},   {"columns", write_columns},
    {"tags", write_tags},         {"counters", write_counters}, {"scopes", write_scopes},
    {"summary", write_summary},   {"energy", write_energy},     {"overhead", write_overhead},
    {"dropped", write_dropped},
};

/* ---- putting the parts together --------------------------------------------------------- */

resmon_status rm_document_put(const struct rm_output *output, struct rm_json *value, bool is_whole)
{
    char *text = is_whole ? rm_json_print(value) : NULL;
    rm_json_free(value);
    if (text == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a run document");
    }
    resmon_status status = rm_output_puts(output, text);
    rm_json_free_text(text);
    return status;
}

static resmon_status write_parts(const struct rm_output *output, const struct resmon_run *run)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && status == RESMON_OK; i++) {
        char head[64];
        bool is_whole = true;
        (void)snprintf(head, sizeof head, ",\n\"%s\":", parts[i].key);
        status = rm_output_puts(output, head);
        if (status == RESMON_OK) {
            struct rm_json *value = parts[i].write(run, &is_whole);
            status = rm_document_put(output, value, is_whole);
        }
    }
    return status;
}

/* One column at a time: the series are nearly all of a document. */
static resmon_status write_column_series(const struct rm_output *output,
                                         const struct resmon_run *run, size_t column)
{
    bool is_whole = true;
    struct rm_json *object = rm_json_object(&is_whole);
    for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
        rm_json_put(object, rm_series_names[kind],
                    rm_json_doubles(rm_run_series(run, column, kind), run->row_count, &is_whole),
                    &is_whole);
    }
    resmon_status status = rm_output_puts(output, column > 0 ? ",\n" : "\n");
    if (status != RESMON_OK) {
        rm_json_free(object);
        return status;
    }
    return rm_document_put(output, object, is_whole);
}

static resmon_status write_integers(const struct rm_output *output, const char *head,
                                    const int64_t *values, size_t count)
{
    resmon_status status = rm_output_puts(output, head);
    if (status != RESMON_OK) {
        return status;
    }
    bool is_whole = true;
    struct rm_json *array = rm_json_integers(values, count, &is_whole);
    return rm_document_put(output, array, is_whole);
}

static resmon_status write_series(const struct rm_output *output, const struct resmon_run *run)
{
    size_t rows = run->row_count;
    const int64_t *samples = (const int64_t *)run->row_samples;
    resmon_status status =
        write_integers(output, ",\n\"series\":{\"t_first_ns\":", run->t_first, rows);
    if (status == RESMON_OK) {
        status = write_integers(output, ",\n\"t_last_ns\":", run->t_last, rows);
    }
    if (status == RESMON_OK) {
        status = write_integers(output, ",\n\"samples\":", samples, rows);
    }
    if (status == RESMON_OK) {
        status = rm_output_puts(output, ",\n\"columns\":[");
    }
    for (size_t i = 0; i < run->column_count && status == RESMON_OK && rows > 0; i++) {
        status = write_column_series(output, run, i);
    }
    return status == RESMON_OK ? rm_output_puts(output, "]}") : status;
}

/* ---- events: one column at a time, too ---------------------------------------------------- */

static int64_t event_name(const struct rm_run_event *event)
{
    return event->name;
}

static int64_t event_thread(const struct rm_run_event *event)
{
    return event->thread;
}

static int64_t event_start(const struct rm_run_event *event)
{
    return event->start_ns;
}

static int64_t event_duration(const struct rm_run_event *event)
{
    return event->duration_ns;
}

static int64_t event_depth(const struct rm_run_event *event)
{
    return event->depth;
}

static int64_t event_open(const struct rm_run_event *event)
{
    return event->is_open;
}

static const struct {
    const char *head;
    int64_t (*get)(const struct rm_run_event *event);
} event_columns[] = {
    {",\n\"name\":", event_name},      {",\n\"thread\":", event_thread},
    {",\n\"start_ns\":", event_start}, {",\n\"duration_ns\":", event_duration},
    {",\n\"depth\":", event_depth},    {",\n\"open\":", event_open},
};

static resmon_status write_event_texts(const struct rm_output *output, const struct resmon_run *run)
{
    bool is_whole = true;
    struct rm_json *threads = rm_json_array(&is_whole);
    for (size_t i = 0; i < run->thread_count && is_whole; i++) {
        struct rm_json *object = rm_json_object(&is_whole);
        rm_json_put_number(object, "id", (double)run->threads[i].id, &is_whole);
        rm_json_put_text(object, "name", run->threads[i].name, &is_whole);
        rm_json_append(threads, object, &is_whole);
    }
    resmon_status status = rm_document_put(output, threads, is_whole);
    if (status == RESMON_OK) {
        status = rm_output_puts(output, ",\n\"names\":");
    }
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_json *names = rm_json_array(&is_whole);
    for (size_t i = 0; i < run->event_name_count && is_whole; i++) {
        rm_json_append(names, rm_json_string(run->event_names[i], &is_whole), &is_whole);
    }
    return rm_document_put(output, names, is_whole);
}

static resmon_status write_event_columns(const struct rm_output *output,
                                         const struct resmon_run *run, int64_t *numbers)
{
    resmon_status status = RESMON_OK;
    for (size_t c = 0; c < RM_ARRAY_LEN(event_columns) && status == RESMON_OK; c++) {
        for (size_t i = 0; i < run->event_count; i++) {
            numbers[i] = event_columns[c].get(&run->events[i]);
        }
        status = write_integers(output, event_columns[c].head, numbers, run->event_count);
    }
    return status;
}

static resmon_status write_events(const struct rm_output *output, const struct resmon_run *run)
{
    if (run->keeps_events == 0) {
        return rm_output_puts(output, ",\n\"events\":null");
    }
    int64_t *numbers = rm_alloc(run->event_count + 1, sizeof *numbers);
    if (numbers == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a run document");
    }
    resmon_status status = rm_output_puts(output, ",\n\"events\":{\"threads\":");
    if (status == RESMON_OK) {
        status = write_event_texts(output, run);
    }
    if (status == RESMON_OK) {
        status = write_event_columns(output, run, numbers);
    }
    rm_free(numbers);
    return status == RESMON_OK ? rm_output_puts(output, "}") : status;
}

static resmon_status write_document(const struct rm_output *output, const void *what)
{
    const struct resmon_run *run = what;
    char head[64];
    (void)snprintf(head, sizeof head, "{\"format\":\"%s\",\"version\":%d", RM_DOCUMENT_FORMAT,
                   RM_DOCUMENT_VERSION);
    resmon_status status = rm_output_puts(output, head);
    if (status == RESMON_OK) {
        status = write_parts(output, run);
    }
    if (status == RESMON_OK) {
        status = write_series(output, run);
    }
    if (status == RESMON_OK) {
        status = write_events(output, run);
    }
    if (status == RESMON_OK) {
        status = rm_document_put_lines(output, run);
    }
    if (status == RESMON_OK) {
        status = rm_document_put_profile(output, run);
    }
    return status == RESMON_OK ? rm_output_puts(output, "}\n") : status;
}

resmon_status rm_document_check(void)
{
    return RESMON_OK;
}

resmon_status rm_document_print(const struct resmon_run *run, struct rm_buffer *buffer)
{
    const struct rm_output output = rm_buffer_output(buffer);
    return write_document(&output, run);
}

resmon_status rm_document_save(const struct resmon_run *run, const char *path)
{
    return rm_outfile_save(path, write_document, run);
}
