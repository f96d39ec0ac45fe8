/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "format/document.h"
#include "format/document_columns.h"
#include "os/outfile.h"
#include "run/energy.h"
#include "run/headline.h"
#include "run/scope_sums.h"

#define PRIVATE_MODE 0600

/* ---- facts ------------------------------------------------------------------------------ */

static void put_facts(struct rm_json_writer *writer, const struct resmon_run *run,
                      const char *group)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        const struct rm_fact *fact = &run->facts[i];
        if (strcmp(fact->group, group) != 0) {
            continue;
        }
        if (fact->kind == RM_FACT_NUMBER) {
            rm_json_put_double(writer, fact->key, rm_fact_number(fact));
        } else {
            rm_json_put_text(writer, fact->key, fact->value);
        }
    }
}

static void put_group(struct rm_json_writer *writer, const struct resmon_run *run,
                      const char *group)
{
    rm_json_open_object(writer, group);
    put_facts(writer, run, group);
    rm_json_close_object(writer);
}

/* ---- one part of the document each ------------------------------------------------------ */

static void put_run(struct rm_json_writer *writer, const struct resmon_run *run)
{
    const resmon_run_end end = rm_run_end(run);
    rm_json_open_object(writer, "run");
    rm_record_put(writer, RM_RECORD_run, &run->info, run);
    rm_record_put_object(writer, "end", RM_RECORD_end, &end, run);
    if (rm_run_has_usage(run)) {
        rm_record_put_object(writer, "usage", RM_RECORD_usage, &run->usage, run);
    }
    put_facts(writer, run, "run");
    rm_json_close_object(writer);
}

static void put_machine(struct rm_json_writer *writer, const struct resmon_run *run)
{
    put_group(writer, run, "machine");
}

/* null: the program was in no job. */
static void put_job(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (rm_run_fact(run, "job", "system") == NULL) {
        rm_json_put_null(writer, "job");
    } else {
        put_group(writer, run, "job");
    }
}

static void put_settings(struct rm_json_writer *writer, const struct resmon_run *run)
{
    put_group(writer, run, "settings");
}

/* Only if users gave it any. */
static void put_labels(struct rm_json_writer *writer, const struct resmon_run *run)
{
    bool has_any = false;
    for (size_t i = 0; i < run->fact_count; i++) {
        has_any = has_any || strcmp(run->facts[i].group, RM_FACT_LABELS) == 0;
    }
    if (has_any) {
        put_group(writer, run, RM_FACT_LABELS);
    }
}

static void put_processes(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (run->process_count > 0) {
        RM_RECORD_PUT_LIST(writer, "processes", RM_RECORD_process, run, processes, process_count);
    }
}

/* Only for a merged run. */
static void put_nodes(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (run->node_count > 0) {
        RM_RECORD_PUT_LIST(writer, "nodes", RM_RECORD_node, run, nodes, node_count);
    }
}

static void put_ranks(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (run->node_count > 0) {
        RM_RECORD_PUT_LIST(writer, "ranks", RM_RECORD_rank, run, ranks, rank_count);
    }
}

static void put_sources(struct rm_json_writer *writer, const struct resmon_run *run)
{
    RM_RECORD_PUT_LIST(writer, "sources", RM_RECORD_source, run, sources, source_count);
}

static void put_columns(struct rm_json_writer *writer, const struct resmon_run *run)
{
    RM_RECORD_PUT_LIST(writer, "columns", RM_RECORD_column, run, columns, column_count);
}

static void put_tags(struct rm_json_writer *writer, const struct resmon_run *run)
{
    RM_RECORD_PUT_LIST(writer, "tags", RM_RECORD_tag, run, tags, tag_count);
}

static void put_counters(struct rm_json_writer *writer, const struct resmon_run *run)
{
    RM_RECORD_PUT_LIST(writer, "counters", RM_RECORD_counter, run, counters, counter_count);
}

/* Writes the times of the ranks of a merged run in a scope. */
static void put_spread(struct rm_json_writer *writer, const struct resmon_run *run, size_t scope)
{
    const resmon_scope_spread spread = rm_run_spread(run, scope);
    if (run->rank_walls == NULL) {
        return;
    }
    rm_json_open_object(writer, "over_ranks");
    rm_record_put(writer, RM_RECORD_spread, &spread, run);
    rm_json_open_array(writer, "wall_ns");
    for (size_t i = 0; i < run->rank_count; i++) {
        rm_json_put_double(writer, NULL, rm_run_rank_walls(run, scope)[i]);
    }
    rm_json_close_array(writer);
    rm_json_close_object(writer);
}

/* In preorder, children follow their parents: a scope ends before the next scope that is not
 * deeper. */
static void put_scopes(struct rm_json_writer *writer, const struct resmon_run *run)
{
    uint64_t open = 0;
    rm_json_open_array(writer, "scopes");
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        if (scope->depth > RM_MAX_DEPTH || scope->depth > open) {
            continue;
        }
        for (; open > scope->depth; open--) {
            rm_json_close_array(writer);
            rm_json_close_object(writer);
        }
        rm_json_open_object(writer, NULL);
        rm_record_put(writer, RM_RECORD_scope, scope, run);
        put_spread(writer, run, i);
        rm_json_open_array(writer, "children");
        open++;
    }
    for (; open > 0; open--) {
        rm_json_close_array(writer);
        rm_json_close_object(writer);
    }
    rm_json_close_array(writer);
}

static void put_summary(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_json_open_object(writer, "summary");
    RM_RECORD_PUT_LIST(writer, "columns", RM_RECORD_statistics, run, columns, column_count);
    rm_json_open_object(writer, "node");
    for (size_t i = 0; i < RM_NODE_SUMMARY_KEYS; i++) {
        rm_json_put_double(writer, rm_node_summary_key(i), rm_node_summary_value(run, i));
    }
    rm_json_close_object(writer);
    rm_json_close_object(writer);
}

static void put_cost(struct rm_json_writer *writer, const char *key, const resmon_energy *energy,
                     double joules)
{
    const struct rm_run_cost cost = rm_run_cost_of(energy, joules);
    rm_json_open_object(writer, key);
    rm_record_put(writer, RM_RECORD_cost, &cost, NULL);
    rm_record_put_object(writer, "single_fuel_kgco2", RM_RECORD_single_fuel, &cost, NULL);
    rm_json_close_object(writer);
}

/* Writes null if energy was not asked for. The facts are the factors of the cost. */
static void put_energy(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (!rm_run_has_energy(run)) {
        rm_json_put_null(writer, "energy");
        return;
    }
    const resmon_energy energy = rm_run_energy(run);
    rm_json_open_object(writer, "energy");
    put_facts(writer, run, "energy");
    rm_json_open_array(writer, "parts");
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        const resmon_energy_part part = rm_run_energy_part(run, i);
        rm_record_put_object(writer, NULL, RM_RECORD_energy_part, &part, run);
    }
    rm_json_close_array(writer);
    put_cost(writer, "node", &energy, energy.node_j);
    put_cost(writer, "tree", &energy, energy.tree_j);
    rm_json_open_object(writer, "rest");
    rm_json_put_double(writer, "joules", energy.rest_j);
    rm_json_close_object(writer);
    rm_json_close_object(writer);
}

static void put_overhead(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_record_put_object(writer, "overhead", RM_RECORD_overhead, &run->info, run);
}

static void put_dropped(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_record_put_object(writer, "dropped", RM_RECORD_dropped, &run->info, run);
}

static void put_integers(struct rm_json_writer *writer, const char *key, const int64_t *numbers,
                         size_t count)
{
    rm_json_open_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_i64(writer, NULL, numbers[i]);
    }
    rm_json_close_array(writer);
}

static void put_column_series(struct rm_json_writer *writer, const struct resmon_run *run,
                              size_t column)
{
    rm_json_break(writer);
    rm_json_open_object(writer, NULL);
    for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
        const double *series = rm_run_series(run, column, kind);
        rm_json_open_array(writer, rm_series_names[kind]);
        for (size_t row = 0; row < run->row_count; row++) {
            rm_json_put_double(writer, NULL, series[row]);
        }
        rm_json_close_array(writer);
    }
    rm_json_close_object(writer);
}

static void put_series(struct rm_json_writer *writer, const struct resmon_run *run)
{
    rm_json_open_object(writer, "series");
    put_integers(writer, "t_first_ns", run->t_first, run->row_count);
    put_integers(writer, "t_last_ns", run->t_last, run->row_count);
    put_integers(writer, "samples", (const int64_t *)run->row_samples, run->row_count);
    rm_json_open_array(writer, "columns");
    for (size_t i = 0; i < run->column_count && run->row_count > 0; i++) {
        put_column_series(writer, run, i);
    }
    rm_json_close_array(writer);
    rm_json_close_object(writer);
}

static void put_events(struct rm_json_writer *writer, const struct resmon_run *run)
{
    struct rm_column_of columns[RM_EVENT_COLUMNS];
    const struct rm_rows_of rows = {run->events, run->event_count, sizeof *run->events};
    if (run->keeps_events == 0) {
        rm_json_put_null(writer, "events");
        return;
    }
    rm_json_open_object(writer, "events");
    RM_RECORD_PUT_LIST(writer, "threads", RM_RECORD_thread, run, threads, thread_count);
    rm_json_open_array(writer, "names");
    for (size_t i = 0; i < run->event_name_count; i++) {
        rm_json_put_text(writer, NULL, run->event_names[i]);
    }
    rm_json_close_array(writer);
    rm_document_event_columns(run, columns);
    for (size_t i = 0; i < RM_ARRAY_LEN(columns); i++) {
        rm_column_put(writer, &columns[i], rows);
    }
    rm_json_close_object(writer);
}

/* A run without checkpoints has no such part. */
static void put_lines(struct rm_json_writer *writer, const struct resmon_run *run)
{
    if (run->line_count > 0) {
        RM_RECORD_PUT_LIST(writer, "lines", RM_RECORD_line, run, lines, line_count);
    }
}

static void (*const parts[])(struct rm_json_writer *writer, const struct resmon_run *run) = {
    put_run,    put_machine,  put_job,     put_settings, put_labels,   put_processes, put_nodes,
    put_ranks,  put_sources,  put_columns, put_tags,     put_counters, put_scopes,    put_summary,
    put_energy, put_overhead, put_dropped, put_series,   put_events,   put_lines,
};

/* ---- putting the parts together --------------------------------------------------------- */

static resmon_status write_document(const struct rm_output *output, const void *what)
{
    const struct resmon_run *run = what;
    struct rm_json_writer writer;
    rm_json_start(&writer, output);
    rm_json_open_object(&writer, NULL);
    rm_json_put_text(&writer, "format", RM_DOCUMENT_FORMAT);
    rm_json_put_u64(&writer, "version", RM_DOCUMENT_VERSION);
    for (size_t i = 0; i < RM_ARRAY_LEN(parts) && writer.pen.status == RESMON_OK; i++) {
        rm_json_break(&writer);
        parts[i](&writer, run);
    }
    resmon_status status = rm_document_put_profile(&writer, run);
    rm_json_close_object(&writer);
    resmon_status finished = rm_json_finish(&writer);
    return status == RESMON_OK ? finished : status;
}

resmon_status rm_document_print(const struct resmon_run *run, struct rm_buffer *buffer)
{
    const struct rm_output output = rm_buffer_output(buffer);
    return write_document(&output, run);
}

resmon_status rm_document_save(const struct resmon_run *run, const char *path)
{
    return rm_outfile_save(path, 0, write_document, run);
}

resmon_status rm_document_save_private(const struct resmon_run *run, const char *path)
{
    return rm_outfile_save(path, PRIVATE_MODE, write_document, run);
}
