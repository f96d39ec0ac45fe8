/* SPDX-License-Identifier: MIT */
/* <resmon/run.h>, <resmon/table.h>, <resmon/summary.h>. */
#include <stdio.h>
#include <string.h>

#include <resmon/run.h>
#include <resmon/summary.h>
#include <resmon/table.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "base/thread.h"
#include "engine/capture.h"
#include "format/csv.h"
#include "format/document.h"
#include "job/path_pattern.h"
#include "os/file.h"
#include "os/identity.h"
#include "record/recording.h"
#include "run/headline.h"
#include "run/record.h"
#include "run/run.h"
#include "run/scope_sums.h"
#include "sink/sinks.h"
#include "store/block.h"

/* ---- load, save, free ------------------------------------------------------------------- */

static resmon_status load_document(const struct rm_infile *file, resmon_run **ret_run)
{
    char *text = NULL;
    if (file->bytes == 0) {
        return rm_error(RESMON_EFORMAT, "%s is empty", file->path);
    }
    if (file->memory != NULL) {
        resmon_status status = rm_document_parse(file->memory, file->bytes, ret_run);
        return status == RESMON_OK ? status : rm_error_within(status, file->path);
    }
    resmon_status status = rm_infile_read_all(file, &text);
    if (status == RESMON_OK) {
        status = rm_document_take(text, file->bytes, ret_run);
        status = status == RESMON_OK ? status : rm_error_within(status, file->path);
    }
    return status;
}

struct loading {
    const struct rm_infile *file;
    resmon_run **ret_run;
};

/* Loads a run, and symbolizes its stacks if that was not done when it ended.  The files of code
 * must be unchanged. */
static resmon_status load_here(void *loading_)
{
    const struct loading *loading = loading_;
    resmon_run *run = NULL;
    resmon_status status = rm_recording_is(loading->file) ? rm_recording_load(loading->file, &run)
                                                          : load_document(loading->file, &run);
    if (status == RESMON_OK) {
        rm_capture_name(NULL, run);
        *loading->ret_run = run;
    }
    return status;
}

static resmon_status load(const struct rm_infile *file, resmon_run **ret_run)
{
    struct loading loading = {file, ret_run};
    return rm_thread_call(load_here, &loading);
}

static resmon_status load_file(const char *path, resmon_run **ret_run)
{
    struct rm_infile file;
    resmon_status status = rm_infile_open(&file, path, RM_MAX_RUN_BYTES);
    if (status == RESMON_OK) {
        status = load(&file, ret_run);
        rm_infile_close(&file);
    }
    return status;
}

/* Whether a document is of a run whose observer is dead; the loading of recordings checks their
 * writers itself. */
static bool is_left_over(const resmon_run *run)
{
    struct rm_identity writer;
    const struct rm_fact *observer = run != NULL ? rm_run_fact(run, "run", RM_FACT_OBSERVER) : NULL;
    return observer != NULL && strcmp(run->info.state, "running") == 0 &&
           rm_identity_parse(observer->value, &writer) && rm_identity_is_gone(&writer);
}

/* Sets the end of a run whose observer was killed: how the observed program ended is not known. */
static void look_at_observed(resmon_run *run)
{
    struct rm_identity observed;
    char text[96] = "its observer was killed; how it ended is not known";
    if (strcmp(run->info.state, "interrupted") != 0 ||
        rm_run_end(run).reason > RESMON_END_UNKNOWN ||
        !rm_identity_parse(rm_run_fact_text(run, "run", RM_FACT_OBSERVED), &observed)) {
        return;
    }
    if (rm_identity_is_alive(&observed)) {
        (void)snprintf(text, sizeof text, "its observer was killed; it still runs, as process %llu",
                       (unsigned long long)observed.pid);
    }
    run->end.text = rm_arena_text(&run->strings, text, strlen(text));
}

const char *resmon_provenance_name(int32_t provenance)
{
    const char *word = rm_word_of(RM_TYPE_PROVENANCE, provenance);
    return word != NULL ? word : "";
}

resmon_status resmon_run_load(const char *path, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    resmon_run *run = NULL;
    if (path == NULL || ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_load: an argument is NULL");
    }
    resmon_status status = load_file(path, &run);
    if (status == RESMON_OK && is_left_over(run)) {
        /* The observer may have written its last document after the file was read. */
        rm_run_free(run);
        status = load_file(path, &run);
        if (status == RESMON_OK && is_left_over(run)) {
            run->info.state = "interrupted";
        }
    }
    if (status == RESMON_OK) {
        look_at_observed(run);
        *ret_run = run;
    }
    return status;
}

resmon_status resmon_run_parse(const void *data, size_t bytes, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    struct rm_infile file;
    if (data == NULL || ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_parse: an argument is NULL");
    }
    resmon_status status = rm_infile_of_memory(&file, "the data", data, bytes, RM_MAX_RUN_BYTES);
    return status == RESMON_OK ? load(&file, ret_run) : status;
}

/* Arguments of functions that run on a stack of the library, as the caller's stack may be small. */
struct making {
    const resmon_run *run;
    const char *path;
    char **ret_text;
};

static resmon_status save_here(void *making_)
{
    const struct making *making = making_;
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_path_expand(making->path, expanded);
    return status == RESMON_OK ? rm_document_save(making->run, expanded) : status;
}

resmon_status resmon_run_save(const resmon_run *run, const char *path)
{
    RM_KEEP_ERRNO;
    struct making making = {.run = run, .path = path};
    return run != NULL && path != NULL
               ? rm_thread_call(save_here, &making)
               : rm_error(RESMON_EINVAL, "resmon_run_save: an argument is NULL");
}

static resmon_status print_here(void *making_)
{
    const struct making *making = making_;
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, (size_t)RM_MAX_RUN_BYTES); /* a larger document could not be loaded */
    return rm_buffer_give(&buffer, rm_document_print(making->run, &buffer), making->ret_text);
}

resmon_status resmon_run_document(const resmon_run *run, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct making making = {.run = run, .ret_text = ret_text};
    return run != NULL && ret_text != NULL
               ? rm_thread_call(print_here, &making)
               : rm_error(RESMON_EINVAL, "resmon_run_document: an argument is NULL");
}

resmon_status resmon_run_save_csv(const resmon_run *run, const char *path)
{
    RM_KEEP_ERRNO;
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
    RM_KEEP_ERRNO;
    char expanded[RM_PATH_BYTES];
    resmon_emissions_options known;
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_append_emissions: an argument is NULL");
    }
    resmon_status status = rm_sink_take(rm_sink_kind_find("emissions"), options, &known);
    if (status == RESMON_OK) {
        status = rm_path_expand(known.path, expanded);
    }
    return status == RESMON_OK ? rm_emissions_append(run, known.flags, expanded) : status;
}

void resmon_run_free(resmon_run *run)
{
    RM_KEEP_ERRNO;
    rm_run_free(run);
}

/* ---- accessors -------------------------------------------------------------------------- */

static resmon_status check(const resmon_run *run, size_t index, size_t count, const char *what)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    return index < count
               ? RESMON_OK
               : rm_error(RESMON_ENOENT, "there is no %s %zu: the run has %zu", what, index, count);
}

/* ---- lists of records ------------------------------------------------------------------------ */

/* The lists of a run: ROW(name, list, count, type, what).  Each row makes resmon_run_<name>_count()
 * and resmon_run_get_<name>(). */
#define RECORD_LISTS(ROW)                                                 \
    ROW(tag, tags, tag_count, resmon_run_tag, "tag")                      \
    ROW(line, lines, line_count, resmon_run_line, "line")                 \
    ROW(process, processes, process_count, resmon_run_process, "process") \
    ROW(node, nodes, node_count, resmon_run_node, "node")                 \
    ROW(rank, ranks, rank_count, resmon_run_rank, "rank")                 \
    ROW(source, sources, source_count, resmon_run_source, "source")       \
    ROW(scope, scopes, scope_count, resmon_run_scope, "scope")            \
    ROW(scope_name, names, name_count, resmon_run_scope, "scope name")    \
    ROW(counter, counters, counter_count, resmon_run_counter, "counter")  \
    ROW(column, columns, column_count, resmon_column, "column")

#define ACCESSORS(name, list, count, type, what)                                               \
    size_t resmon_run_##name##_count(const resmon_run *run)                                    \
    {                                                                                          \
        return run != NULL ? run->count : 0;                                                   \
    }                                                                                          \
    resmon_status resmon_run_get_##name(const resmon_run *run, size_t index, type *ret_record) \
    {                                                                                          \
        resmon_status status = check(run, index, resmon_run_##name##_count(run), what);        \
        return status == RESMON_OK                                                             \
                   ? rm_struct_give(&run->list[index], RM_STRUCT_SIZE(type), ret_record)       \
                   : status;                                                                   \
    }

RECORD_LISTS(ACCESSORS)

/* ---- other accessors ------------------------------------------------------------------------- */

resmon_status resmon_run_get_info(const resmon_run *run, resmon_run_info *ret_info)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    return rm_struct_give(&run->info, RM_STRUCT_SIZE(resmon_run_info), ret_info);
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

resmon_status resmon_run_get_scope_spread(const resmon_run *run, size_t index,
                                          resmon_scope_spread *ret_spread)
{
    resmon_status status = check(run, index, resmon_run_scope_count(run), "scope");
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_scope_spread spread = rm_run_spread(run, index);
    return rm_struct_give(&spread, RM_STRUCT_SIZE(resmon_scope_spread), ret_spread);
}

const double *resmon_run_scope_walls(const resmon_run *run, size_t index)
{
    return index < resmon_run_scope_count(run) && run->rank_walls != NULL
               ? rm_run_rank_walls(run, index)
               : NULL;
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

size_t resmon_run_row_count(const resmon_run *run)
{
    return run != NULL ? run->row_count : 0;
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

resmon_status resmon_run_get_headline(const resmon_run *run, resmon_headline *ret_headline)
{
    if (run == NULL || ret_headline == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_get_headline: an argument is NULL");
    }
    const resmon_headline headline = rm_run_headline(run);
    return rm_struct_give(&headline, RM_STRUCT_SIZE(resmon_headline), ret_headline);
}
