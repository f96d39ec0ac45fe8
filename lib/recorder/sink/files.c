/* SPDX-License-Identifier: MIT */
/*
 * Owns the sinks that write a run to a file.  Savers write the whole run in a format (format/, or
 * of the reader) at the end, and periodically if wanted.  The table gets a line for each sample
 * when it is taken.
 */
#include "sink/sinks.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/status.h"
#include "base/text.h"
#include "format/csv.h"
#include "format/document.h"
#include "job/path_pattern.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/outfile.h"
#include "os/reader.h"
#include "run/run.h"
#include "store/run_records.h"

/* ---- savers ------------------------------------------------------------------------------- */

struct target {
    resmon_status (*begin)(const char *path); /* NULL: done, or not needed */
    resmon_status (*save)(const resmon_run *run, const char *path);
    char path[RM_PATH_BYTES];
};

static resmon_status save(void *context, const resmon_run *run)
{
    struct target *target = context;
    resmon_status status = target->begin != NULL ? target->begin(target->path) : RESMON_OK;
    if (status == RESMON_OK) {
        target->begin = NULL;
        status = target->save(run, target->path);
    }
    return status;
}

static void close_sink(void *target)
{
    rm_free(target);
}

static resmon_status settle(const struct rm_saver *saver, char path[RM_PATH_BYTES])
{
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_path_expand(saver->pattern, expanded);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_outfile_settle(expanded, path);
    bool may_come = status == RESMON_ENOENT || status == RESMON_EACCES;
    return may_come && saver->is_late ? RESMON_OK : status;
}

resmon_status rm_saver_new(const struct rm_saver *saver, struct rm_sink *ret_sink)
{
    struct target *target = rm_alloc(1, sizeof *target);
    if (target == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    target->begin = saver->begin;
    target->save = saver->save;
    resmon_status status = settle(saver, target->path);
    if (status != RESMON_OK) {
        rm_free(target);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = saver->name,
                .stop = save,
                .close = close_sink,
                .snapshot = save,
                .snapshot_interval_ms = saver->interval_ms},
        .context = target,
        .file = target->path,
        .wants_draft = true,
    };
    return RESMON_OK;
}

/* ---- run documents ------------------------------------------------------------------------ */

#define HEAD_BYTES 4096 /* contains the facts of the run */

/* Finds the process that wrote a document.  The first part of a document contains the key of the
 * fact once only, as quotes in texts are escaped. */
static bool find_writer(const char *head, struct rm_identity *ret_writer)
{
    char text[RM_IDENTITY_TEXT_BYTES];
    static const char key[] = "\"" RM_FACT_OBSERVER "\":";
    const char *found = strstr(head, key);
    const char *begin = found != NULL ? strchr(found + sizeof key - 1, '"') : NULL;
    const char *end = begin != NULL ? strchr(begin + 1, '"') : NULL;
    if (end == NULL) {
        return false;
    }
    (void)rm_text_copy(text, sizeof text, begin + 1, (size_t)(end - begin - 1));
    return rm_identity_parse(text, ret_writer);
}

/* Renames a document that this process wrote before an exec, so that it is not overwritten. */
static resmon_status set_aside(const char *path)
{
    struct rm_infile file;
    struct rm_identity writer;
    char head[HEAD_BYTES] = "";
    if (rm_infile_open(&file, path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return RESMON_OK;
    }
    size_t length = file.bytes < sizeof head - 1 ? (size_t)file.bytes : sizeof head - 1;
    bool is_read = rm_infile_read(&file, 0, head, length) == RESMON_OK;
    rm_infile_close(&file);
    return is_read && find_writer(head, &writer) && rm_identity_is_earlier_image(&writer)
               ? rm_outfile_set_aside(path)
               : RESMON_OK;
}

resmon_status rm_json_sink_new(const resmon_json_options *options, struct rm_sink *ret_sink)
{
    const struct rm_saver saver = {
        .name = "json",
        .pattern = options->path,
        .interval_ms = (options->flags & RESMON_JSON_FINAL_ONLY) != 0 ? 0 : options->interval_ms,
        .is_late = (options->flags & RESMON_JSON_LATE) != 0,
        .begin = set_aside,
        .save = rm_document_save,
    };
    return rm_saver_new(&saver, ret_sink);
}

/* ---- formats of the reader --------------------------------------------------------------- */

#define RM_SAVED(sink, options_of, what)                                                    \
    static resmon_status save_##sink(const resmon_run *run, const char *path)               \
    {                                                                                       \
        const struct rm_reader *reader = rm_reader();                                       \
        return reader != NULL ? reader->save(run, what, path) : RESMON_ENOTSUP;             \
    }                                                                                       \
    resmon_status rm_##sink##_sink_new(const options_of *options, struct rm_sink *ret_sink) \
    {                                                                                       \
        const struct rm_saver saver = {.name = #sink,                                       \
                                       .pattern = options->path,                            \
                                       .interval_ms = options->interval_ms,                 \
                                       .save = save_##sink};                                \
        resmon_status status = rm_reader_check();                                           \
        return status == RESMON_OK ? rm_saver_new(&saver, ret_sink) : status;               \
    }

RM_SAVED(trace, resmon_trace_options, RM_READER_TRACE)
RM_SAVED(html, resmon_page_file_options, RM_READER_HTML)
RM_SAVED(markdown, resmon_page_file_options, RM_READER_MARKDOWN)
RM_SAVED(pprof, resmon_stacks_options, RM_READER_PPROF)
RM_SAVED(folded, resmon_stacks_options, RM_READER_FOLDED_CPU)
RM_SAVED(folded_memory, resmon_stacks_options, RM_READER_FOLDED_MEMORY)
RM_SAVED(folded_file, resmon_stacks_options, RM_READER_FOLDED_FILE)
RM_SAVED(folded_resident, resmon_stacks_options, RM_READER_FOLDED_RESIDENT)

/* ---- the table, line by line -------------------------------------------------------------- */

struct csv {
    struct rm_appendfile file;
    struct rm_buffer line;
    struct rm_buffer tags; /* since the last line */
    int64_t start_realtime_ns;
    size_t column_count;
    uint64_t lost_lines;
    resmon_status lost_status;
    uint64_t dropped_rows;
    char path[RM_PATH_BYTES];
};

static resmon_status start(void *context, const resmon_run *run)
{
    struct csv *csv = context;
    csv->start_realtime_ns = run->info.start_realtime_ns;
    csv->column_count = run->column_count;
    resmon_status status = rm_appendfile_open(&csv->file, csv->path);
    if (status == RESMON_OK) {
        status = rm_csv_save_columns(run, csv->path);
    }
    if (status != RESMON_OK) {
        return status;
    }
    rm_csv_put_head(&csv->line, run);
    return csv->line.status == RESMON_OK
               ? rm_appendfile_add(&csv->file, csv->line.text, csv->line.length)
               : csv->line.status;
}

static void begin_line(struct csv *csv, int64_t t_ns)
{
    rm_buffer_clear(&csv->line);
    rm_csv_put_seconds(&csv->line, t_ns);
    rm_buffer_add(&csv->line, ",", 1);
    rm_csv_put_seconds(&csv->line, csv->start_realtime_ns + t_ns); /* the run is live, so there
                                                                      is no overflow */
}

/* A line that cannot be written is counted, and the next one is tried. */
static resmon_status end_line(struct csv *csv)
{
    rm_buffer_add(&csv->line, ",", 1);
    rm_csv_put_text(&csv->line, csv->tags.length > 0 ? csv->tags.text : "");
    rm_buffer_add(&csv->line, "\n", 1);
    resmon_status status = csv->line.status;
    if (status == RESMON_OK) {
        status = rm_appendfile_add(&csv->file, csv->line.text, csv->line.length);
    }
    if (status == RESMON_OK) {
        rm_buffer_clear(&csv->tags);
        return RESMON_OK;
    }
    csv->lost_lines++;
    csv->lost_status = status;
    return status;
}

static resmon_status add_rows(void *context, const resmon_rows *rows)
{
    struct csv *csv = context;
    resmon_status status = RESMON_OK;
    csv->dropped_rows = rows->dropped_rows;
    for (size_t row = 0; row < rows->row_count; row++) {
        const double *values = rows->values + row * rows->column_count;
        begin_line(csv, rows->t_ns[row]);
        for (size_t c = 0; c < rows->column_count; c++) {
            rm_csv_put_number(&csv->line, values[c]);
        }
        resmon_status added = end_line(csv);
        status = status == RESMON_OK ? added : status;
    }
    return status;
}

static resmon_status add_tag(void *context, int64_t t_ns, const char *label)
{
    struct csv *csv = context;
    (void)t_ns;
    rm_buffer_puts(&csv->tags, csv->tags.length > 0 ? "; " : "");
    rm_buffer_puts(&csv->tags, label);
    return csv->tags.status;
}

static resmon_status finish_lines(void *context, const resmon_run *run)
{
    struct csv *csv = context;
    resmon_status status = RESMON_OK;
    if (csv->tags.length > 0) { /* set after the last sample */
        begin_line(csv, run->info.duration_ns);
        for (size_t c = 0; c < csv->column_count; c++) {
            rm_buffer_add(&csv->line, ",", 1);
        }
        status = end_line(csv);
    }
    if (csv->lost_lines + csv->dropped_rows > 0) {
        return rm_error(csv->lost_lines > 0 ? csv->lost_status : RESMON_ENOSPC,
                        "%s lacks %llu samples that could not be written and %llu that the queue "
                        "dropped",
                        csv->path, (unsigned long long)csv->lost_lines,
                        (unsigned long long)csv->dropped_rows);
    }
    return status == RESMON_OK ? rm_appendfile_sync(&csv->file) : status;
}

static void close_lines(void *context)
{
    struct csv *csv = context;
    rm_appendfile_close(&csv->file);
    rm_buffer_free(&csv->line);
    rm_buffer_free(&csv->tags);
    rm_free(csv);
}

static resmon_status new_lines(const resmon_csv_options *options, struct rm_sink *ret_sink)
{
    char expanded[RM_PATH_BYTES];
    struct csv *csv = rm_alloc(1, sizeof *csv);
    if (csv == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    rm_buffer_init(&csv->line, RM_CSV_LARGEST_LINE);
    rm_buffer_init(&csv->tags, RM_CSV_LARGEST_LINE / 2);
    resmon_status status = rm_path_expand(options->path, expanded);
    status = status == RESMON_OK ? rm_outfile_settle(expanded, csv->path) : status;
    if (status != RESMON_OK) {
        rm_free(csv);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = "csv",
                .start = start,
                .rows = add_rows,
                .tag = add_tag,
                .stop = finish_lines,
                .close = close_lines},
        .context = csv,
        .file = csv->path,
    };
    return RESMON_OK;
}

resmon_status rm_csv_sink_new(const resmon_csv_options *options, struct rm_sink *ret_sink)
{
    const struct rm_saver saver = {.name = "csv", .pattern = options->path, .save = rm_csv_save};
    return (options->flags & RESMON_CSV_WHOLE_RUN) != 0 ? rm_saver_new(&saver, ret_sink)
                                                        : new_lines(options, ret_sink);
}
