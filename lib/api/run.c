/* SPDX-License-Identifier: MIT */
/* <resmon/run.h>, <resmon/table.h>, <resmon/summary.h>, <resmon/report.h>, <resmon/trace.h>. */
#include <resmon/report.h>
#include <resmon/run.h>
#include <resmon/summary.h>
#include <resmon/table.h>

#include "api/source_lines.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "carbon/convert.h"
#include "engine/recording.h"
#include "job/path_pattern.h"
#include "report/profile.h"
#include "report/report.h"
#include "sink/csv.h"
#include "sink/document.h"
#include "sink/emissions.h"
#include "sink/trace.h"
#include "store/block.h"
#include "store/node_summary.h"
#include "store/run.h"
#include "store/run_energy.h"
#include "sys/infile.h"

#define LARGEST_REPORT ((size_t)4 << 20)

/* A text for the user to free, or nothing at all. */
static resmon_status give_text(struct rm_buffer *buffer, resmon_status status, char **ret_text)
{
    status = status == RESMON_OK ? buffer->status : status;
    if (status != RESMON_OK) {
        rm_buffer_free(buffer);
        return status;
    }
    *ret_text = buffer->text;
    return RESMON_OK;
}

/* ---- load, save, free ------------------------------------------------------------------- */

static resmon_status load_document(const struct rm_infile *file, resmon_run **ret_run)
{
    char *text;
    if (file->bytes == 0) {
        return rm_error(RESMON_EFORMAT, "%s is empty", file->path);
    }
    if (file->memory != NULL) {
        return rm_document_parse(file->memory, file->bytes, ret_run);
    }
    resmon_status status = rm_infile_read_all(file, &text);
    if (status == RESMON_OK) {
        status = rm_document_parse(text, file->bytes, ret_run);
    }
    rm_free(text);
    return status;
}

static resmon_status load(const struct rm_infile *file, resmon_run **ret_run)
{
    return rm_recording_is(file) ? rm_recording_load(file, ret_run) : load_document(file, ret_run);
}

resmon_status resmon_run_load(const char *path, resmon_run **ret_run)
{
    struct rm_infile file;
    if (path == NULL || ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_load: an argument is NULL");
    }
    resmon_status status = rm_infile_open(&file, path, RM_MAX_RUN_BYTES);
    if (status != RESMON_OK) {
        return status;
    }
    status = load(&file, ret_run);
    rm_infile_close(&file);
    return status;
}

resmon_status resmon_run_parse(const void *data, size_t bytes, resmon_run **ret_run)
{
    struct rm_infile file;
    if (data == NULL || ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_parse: an argument is NULL");
    }
    resmon_status status = rm_infile_of_memory(&file, "the data", data, bytes, RM_MAX_RUN_BYTES);
    return status == RESMON_OK ? load(&file, ret_run) : status;
}

resmon_status resmon_run_save(const resmon_run *run, const char *path)
{
    char expanded[RM_PATH_BYTES];
    if (run == NULL || path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_save: an argument is NULL");
    }
    resmon_status status = rm_path_expand(path, expanded);
    return status == RESMON_OK ? rm_document_save(run, expanded) : status;
}

resmon_status resmon_run_document(const resmon_run *run, char **ret_text)
{
    struct rm_buffer buffer;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_document: an argument is NULL");
    }
    rm_buffer_init(&buffer, (size_t)RM_MAX_RUN_BYTES); /* more could not be loaded again */
    return give_text(&buffer, rm_document_print(run, &buffer), ret_text);
}

resmon_status resmon_run_save_csv(const resmon_run *run, const char *path)
{
    char expanded[RM_PATH_BYTES];
    if (run == NULL || path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_save_csv: an argument is NULL");
    }
    resmon_status status = rm_path_expand(path, expanded);
    return status == RESMON_OK ? rm_csv_save(run, expanded) : status;
}

resmon_status resmon_run_append_emissions(const resmon_run *run,
                                          const resmon_emissions_options *options)
{
    char expanded[RM_PATH_BYTES];
    resmon_emissions_options known;
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_append_emissions: an argument is NULL");
    }
    resmon_status status =
        rm_struct_take(options, RM_STRUCT_SIZE(resmon_emissions_options), &known);
    if (status == RESMON_OK &&
        (known.path == NULL || (known.flags & ~RESMON_EMISSIONS_PROCESS) != 0)) {
        status = rm_error(RESMON_EINVAL, "options of emissions: no path, or unknown flags");
    }
    if (status == RESMON_OK) {
        status = rm_path_expand(known.path, expanded);
    }
    return status == RESMON_OK ? rm_emissions_append(run, known.flags, expanded) : status;
}

resmon_status resmon_trace_save(const resmon_run *const *runs, size_t count, const char *path)
{
    char expanded[RM_PATH_BYTES];
    if (runs == NULL || count == 0 || path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_trace_save: %s",
                        runs != NULL && path != NULL ? "no run" : "an argument is NULL");
    }
    for (size_t i = 0; i < count; i++) {
        if (runs[i] == NULL) {
            return rm_error(RESMON_EINVAL, "resmon_trace_save: run %zu is NULL", i);
        }
    }
    resmon_status status = rm_path_expand(path, expanded);
    return status == RESMON_OK ? rm_trace_save(runs, count, expanded) : status;
}

void resmon_run_free(resmon_run *run)
{
    rm_run_free(run);
}

/* ---- accessors -------------------------------------------------------------------------- */

static resmon_status check(const resmon_run *run, size_t index, size_t count, const char *what)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    return index < count ? RESMON_OK
                         : rm_error(RESMON_ENOENT, "%s %zu: the run has %zu", what, index, count);
}

resmon_status resmon_run_get_info(const resmon_run *run, resmon_run_info *ret_info)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    const resmon_run_info info = {
        .state = run->state,
        .label = run->label,
        .start_realtime_ns = run->start_realtime_ns,
        .duration_ns = run->duration_ns,
        .samples = run->samples,
        .stride = run->stride,
        .late_samples = run->overhead.sampler.late,
        .sampler_cpu_ns = run->overhead.sampler.cpu_ns,
        .sampler_wall_ns = run->overhead.sampler.wall_ns,
        .scopes_ns = run->overhead.scopes_ns,
        .memory_bytes = run->overhead.memory_bytes,
        .dropped_tags = run->dropped.tags,
        .dropped_threads = run->dropped.threads,
        .dropped_scopes = run->dropped.scopes + run->dropped.paths,
        .dropped_rows = run->overhead.sampler.undelivered,
        .dropped_events = run->dropped.events,
        .dropped_lines = run->dropped.lines,
    };
    return rm_struct_give(&info, RM_STRUCT_SIZE(resmon_run_info), ret_info);
}

const char *resmon_run_fact(const resmon_run *run, const char *group, const char *key)
{
    if (run == NULL || group == NULL || key == NULL) {
        return NULL;
    }
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL ? fact->value : NULL;
}

size_t resmon_run_fact_count(const resmon_run *run)
{
    return run != NULL ? run->fact_count : 0;
}

resmon_status resmon_run_get_fact(const resmon_run *run, size_t index,
                                  resmon_run_fact_entry *ret_fact)
{
    resmon_status status = check(run, index, resmon_run_fact_count(run), "fact");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_fact *fact = &run->facts[index];
    const resmon_run_fact_entry result = {
        .group = fact->group,
        .key = fact->key,
        .value = fact->value,
        .is_number = fact->kind == RM_FACT_NUMBER,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_fact_entry), ret_fact);
}

size_t resmon_run_tag_count(const resmon_run *run)
{
    return run != NULL ? run->tag_count : 0;
}

resmon_status resmon_run_get_tag(const resmon_run *run, size_t index, resmon_run_tag *ret_tag)
{
    resmon_status status = check(run, index, resmon_run_tag_count(run), "tag");
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_run_tag result = {.t_ns = run->tags[index].t_ns, .label = run->tags[index].label};
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_tag), ret_tag);
}

size_t resmon_run_line_count(const resmon_run *run)
{
    return run != NULL ? run->line_count : 0;
}

resmon_status resmon_run_get_line(const resmon_run *run, size_t index, resmon_run_line *ret_line)
{
    resmon_status status = check(run, index, resmon_run_line_count(run), "line");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_line *line = &run->lines[index];
    const resmon_run_line result = {
        .file = line->file,
        .function = line->function,
        .line = line->line,
        .hits = line->hits,
        .rss_hits = line->rss_hits,
        .wall_ns = line->wall_ns,
        .rss_bytes = line->rss_bytes,
        .rss_max_bytes = line->rss_max_bytes,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_line), ret_line);
}

size_t resmon_run_source_count(const resmon_run *run)
{
    return run != NULL ? run->source_count : 0;
}

resmon_status resmon_run_get_source(const resmon_run *run, size_t index,
                                    resmon_run_source *ret_source)
{
    resmon_status status = check(run, index, resmon_run_source_count(run), "source");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_source *source = &run->sources[index];
    const resmon_run_source result = {
        .name = source->name,
        .status = source->status,
        .provenance = source->provenance,
        .reason = source->reason,
        .reads = source->reads,
        .failures = source->failures,
        .cost_ns = source->cost_ns,
        .cost_max_ns = source->cost_max_ns,
        .every = source->every,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_source), ret_source);
}

size_t resmon_run_scope_count(const resmon_run *run)
{
    return run != NULL ? run->scope_count : 0;
}

resmon_status resmon_run_get_scope(const resmon_run *run, size_t index, resmon_run_scope *ret_scope)
{
    resmon_status status = check(run, index, resmon_run_scope_count(run), "scope");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_scope *scope = &run->scopes[index];
    const resmon_energy energy = rm_run_energy(run);
    const resmon_run_scope result = {
        .name = scope->name,
        .file = scope->file,
        .function = scope->function,
        .line = scope->line,
        .parent = scope->parent,
        .depth = scope->depth,
        .calls = scope->calls,
        .folded = scope->folded,
        .open = scope->open,
        .threads = scope->threads,
        .wall_ns = scope->total_ns,
        .self_ns = scope->self_ns,
        .wall_min_ns = scope->min_ns,
        .wall_max_ns = scope->max_ns,
        .wall_stddev_ns = scope->stddev_ns,
        .open_ns = scope->open_ns,
        .cpu_calls = scope->cpu_calls,
        .cpu_ns = scope->cpu_ns,
        .io_calls = scope->io_calls,
        .io_read_chars = scope->io[RM_IO_READ_CHARS],
        .io_write_chars = scope->io[RM_IO_WRITE_CHARS],
        .io_read_bytes = scope->io[RM_IO_READ_BYTES],
        .io_write_bytes = scope->io[RM_IO_WRITE_BYTES],
        .rss_calls = scope->rss_calls,
        .rss_peak_bytes = scope->rss_peak_bytes,
        .cpu_provenance = scope->cpu_provenance,
        .io_provenance = scope->io_provenance,
        .rss_provenance = scope->rss_provenance,
        .energy_provenance = rm_energy_scope_provenance(&energy, scope->energy_j),
        .energy_j = scope->energy_j,
        .energy_uncertainty_j = scope->energy_doubt_j,
        .energy_gco2eq =
            rm_carbon_cost(scope->energy_j, energy.pue, energy.wue, energy.g_per_kwh).gco2eq,
        .counter_calls = scope->counter_calls,
        .counter_running = scope->counter_running,
        .counter_provenance = scope->counter_provenance,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_scope), ret_scope);
}

size_t resmon_run_counter_count(const resmon_run *run)
{
    return run != NULL ? run->counter_count : 0;
}

resmon_status resmon_run_get_counter(const resmon_run *run, size_t index,
                                     resmon_run_counter *ret_counter)
{
    resmon_status status = check(run, index, resmon_run_counter_count(run), "counter");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_counter *counter = &run->counters[index];
    const resmon_run_counter result = {
        .name = counter->name,
        .unit = counter->unit,
        .reason = counter->reason,
        .status = counter->status,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_counter), ret_counter);
}

resmon_status resmon_run_scope_counter(const resmon_run *run, size_t scope, size_t counter,
                                       double *ret_value)
{
    if (ret_value == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_scope_counter: an argument is NULL");
    }
    resmon_status status = check(run, scope, resmon_run_scope_count(run), "scope");
    if (status == RESMON_OK) {
        status = check(run, counter, resmon_run_counter_count(run), "counter");
    }
    if (status == RESMON_OK) {
        *ret_value = run->scopes[scope].counts[counter];
    }
    return status;
}

size_t resmon_run_event_count(const resmon_run *run)
{
    return run != NULL ? run->event_count : 0;
}

resmon_status resmon_run_get_event(const resmon_run *run, size_t index, resmon_run_event *ret_event)
{
    resmon_status status = check(run, index, resmon_run_event_count(run), "event");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_event *event = &run->events[index];
    const struct rm_run_thread *thread = &run->threads[event->thread];
    const resmon_run_event result = {
        .name = run->event_names[event->name],
        .thread_name = thread->name,
        .thread_id = thread->id,
        .start_ns = event->start_ns,
        .duration_ns = event->duration_ns,
        .depth = event->depth,
        .is_open = event->is_open,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_run_event), ret_event);
}

/* ---- table ------------------------------------------------------------------------------ */

size_t resmon_run_column_count(const resmon_run *run)
{
    return run != NULL ? run->column_count : 0;
}

size_t resmon_run_row_count(const resmon_run *run)
{
    return run != NULL ? run->row_count : 0;
}

resmon_status resmon_run_get_column(const resmon_run *run, size_t index, resmon_column *ret_column)
{
    resmon_status status = check(run, index, resmon_run_column_count(run), "column");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_column *column = &run->columns[index];
    const resmon_column result = {
        .metric = column->metric,
        .instance = column->instance,
        .unit = column->unit,
        .source = column->source,
        .kind = column->kind,
        .level = column->level,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_column), ret_column);
}

resmon_status resmon_run_find_column(const resmon_run *run, const char *metric,
                                     const char *instance, size_t *ret_index)
{
    if (run == NULL || metric == NULL || ret_index == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_find_column: an argument is NULL");
    }
    int64_t index = rm_run_find_column(run, metric, instance);
    if (index < 0) {
        return rm_error(RESMON_ENOENT, "the run has no column %s%s%s", metric,
                        instance != NULL ? " of instance " : "", instance != NULL ? instance : "");
    }
    *ret_index = (size_t)index;
    return RESMON_OK;
}

const double *resmon_run_series(const resmon_run *run, size_t column, int32_t series)
{
    if (run == NULL || column >= run->column_count || series < 0 || series > RESMON_SERIES_VALUE ||
        run->row_count == 0) {
        return NULL;
    }
    return rm_run_series(run, column, rm_run_series_meant(&run->columns[column], series));
}

const int64_t *resmon_run_row_first_ns(const resmon_run *run)
{
    return run != NULL ? run->t_first : NULL;
}

const int64_t *resmon_run_row_last_ns(const resmon_run *run)
{
    return run != NULL ? run->t_last : NULL;
}

const uint64_t *resmon_run_row_samples(const resmon_run *run)
{
    return run != NULL ? run->row_samples : NULL;
}

/* ---- summary ---------------------------------------------------------------------------- */

resmon_status resmon_run_get_statistics(const resmon_run *run, size_t index,
                                        resmon_statistics *ret_statistics)
{
    resmon_status status = check(run, index, resmon_run_column_count(run), "column");
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_run_statistics *stats = &run->columns[index].stats;
    const resmon_statistics result = {
        .n = stats->n,
        .resets = stats->resets,
        .first = stats->first,
        .last = stats->last,
        .min = stats->min,
        .max = stats->max,
        .mean = stats->mean,
        .integral = stats->integral,
        .p50 = stats->p50,
        .p95 = stats->p95,
        .duration_s = stats->duration_s,
        .over20_s = stats->over_s[0],
        .over40_s = stats->over_s[1],
        .over80_s = stats->over_s[2],
        .over100_s = stats->over_s[3],
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_statistics), ret_statistics);
}

size_t resmon_node_figure_count(void)
{
    return RM_NODE_SUMMARY_KEYS;
}

const char *resmon_node_figure_name(size_t index)
{
    return index < RM_NODE_SUMMARY_KEYS ? rm_node_summary_key(index) : NULL;
}

double resmon_run_node_figure(const resmon_run *run, size_t index)
{
    return run != NULL && index < RM_NODE_SUMMARY_KEYS ? rm_node_summary_value(run, index) : RM_NAN;
}

/* ---- report ----------------------------------------------------------------------------- */

resmon_status resmon_report_text(const resmon_run *run, char **ret_text)
{
    struct rm_buffer buffer;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_report_text: an argument is NULL");
    }
    struct rm_source_files files = {0};
    const struct rm_source_lines sources = rm_source_lines_of(&files);
    rm_buffer_init(&buffer, LARGEST_REPORT);
    rm_report_write(&buffer, run, &sources);
    rm_source_files_free(&files);
    return give_text(&buffer, RESMON_OK, ret_text);
}

resmon_status resmon_report_lines(const resmon_run *run, const char *function, char **ret_text)
{
    struct rm_buffer buffer;
    if (run == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_report_lines: an argument is NULL");
    }
    struct rm_source_files files = {0};
    const struct rm_source_lines sources = rm_source_lines_of(&files);
    rm_buffer_init(&buffer, LARGEST_REPORT);
    resmon_status status = rm_report_lines(&buffer, run, function, &sources);
    rm_source_files_free(&files);
    return give_text(&buffer, status, ret_text);
}
