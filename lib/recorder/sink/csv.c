/* SPDX-License-Identifier: MIT */
/*
 * Owns the sink that writes a table: line by line as the samples come, or of the whole run.
 */
#include "sink/sinks.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/status.h"
#include "format/csv.h"
#include "job/path_pattern.h"
#include "os/outfile.h"
#include "run/run.h"
#include "sink/saver.h"

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
    rm_csv_put_seconds(&csv->line, csv->start_realtime_ns + t_ns); /* a live run: no overflow */
}

/* A line that finds no room is counted, and the next one is tried. */
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

static void close_sink(void *context)
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
                .close = close_sink},
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
