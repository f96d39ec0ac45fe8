/* SPDX-License-Identifier: MIT */
#include "format/csv.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "base/status.h"
#include "metric/metric.h"
#include "os/outfile.h"

/* A cell that each line has for each column, and its description in the file of columns. */
struct cell {
    const char *suffix;
    int series;
    int32_t kind; /* kind of the columns that have this cell */
    const char *meaning;
};

static const struct cell streamed[] = {
    {"", -1, RESMON_GAUGE, "as read at this time"},
    {"", -1, RESMON_COUNTER, "growth since the start of the run"},
};

static const struct cell whole[] = {
    {"", RESMON_SERIES_MEAN, RESMON_GAUGE, "time-weighted mean of the row"},
    {".min", RESMON_SERIES_MIN, RESMON_GAUGE, "lowest reading of the row"},
    {".max", RESMON_SERIES_MAX, RESMON_GAUGE, "highest reading of the row"},
    {"", RESMON_SERIES_LAST, RESMON_COUNTER, "growth since the start of the run"},
};

struct layout {
    const struct cell *cells;
    size_t cell_count;
    const char *head; /* names of the columns before the metrics */
};

static const struct layout layout_streamed = {streamed, sizeof streamed / sizeof *streamed,
                                              "time_s,unix_time_s"};
static const struct layout layout_whole = {whole, sizeof whole / sizeof *whole,
                                           "time_s,unix_time_s,end_s,samples"};

/* Descriptions of the columns that are not metrics. */
static const struct {
    const char *name, *unit, *meaning;
} other_columns[] = {
    {"time_s", "s", "of the sample, or the first one of the row, since the start of the run"},
    {"unix_time_s", "s", "the same, since 1970-01-01 UTC"},
    {"end_s", "s", "of the last sample of the row, since the start of the run"},
    {"samples", "1", "that the row covers"},
    {"tag", "", "labels set since the row before, joined by '; '"},
};

/* ---- pieces of text --------------------------------------------------------------------- */

/* Writes a cell of several parts, quoted if necessary. */
static void put_parts(struct rm_buffer *line, const char *const *parts, size_t count)
{
    bool is_plain = true;
    for (size_t i = 0; i < count; i++) {
        is_plain = is_plain && strpbrk(parts[i], ",\"\r\n") == NULL;
    }
    rm_buffer_puts(line, is_plain ? "" : "\"");
    for (size_t i = 0; i < count; i++) {
        for (const char *p = parts[i]; *p != '\0'; p++) {
            rm_buffer_add(line, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
        }
    }
    rm_buffer_puts(line, is_plain ? "" : "\"");
}

void rm_csv_put_text(struct rm_buffer *line, const char *text)
{
    put_parts(line, &text, 1);
}

void rm_csv_put_number(struct rm_buffer *line, double number)
{
    char text[RM_NUMBER_BYTES];
    rm_buffer_add(line, ",", 1);
    rm_buffer_add(line, text, rm_number_double(text, number));
}

void rm_csv_put_seconds(struct rm_buffer *line, int64_t ns)
{
    char text[RM_NUMBER_BYTES];
    rm_buffer_add(line, text, rm_number_fixed(text, ns, 9));
}

/* "node.fs.used[/home].max" */
static void put_name(struct rm_buffer *line, const resmon_column *column, const struct cell *cell)
{
    const struct rm_column_name name = rm_run_column_name(column);
    const char *const parts[] = {name.parts[0], name.parts[1], name.parts[2], name.parts[3],
                                 cell->suffix};
    put_parts(line, parts, sizeof parts / sizeof *parts);
}

static bool has_cell(const resmon_column *column, const struct cell *cell)
{
    return cell->kind == column->kind;
}

/* ---- heads ------------------------------------------------------------------------------ */

static void put_head(struct rm_buffer *line, const struct resmon_run *run,
                     const struct layout *layout)
{
    rm_buffer_puts(line, layout->head);
    for (size_t i = 0; i < run->column_count; i++) {
        for (size_t c = 0; c < layout->cell_count; c++) {
            if (has_cell(&run->columns[i], &layout->cells[c])) {
                rm_buffer_add(line, ",", 1);
                put_name(line, &run->columns[i], &layout->cells[c]);
            }
        }
    }
    rm_buffer_puts(line, ",tag\n");
}

static bool is_in_head(const struct layout *layout, const char *name)
{
    return strcmp(name, "tag") == 0 || strstr(layout->head, name) != NULL;
}

static void put_column(struct rm_buffer *text, const resmon_column *column, const struct cell *cell)
{
    const struct rm_metric *metric = rm_metric_by_name(column->metric);
    put_name(text, column, cell);
    const char *const rest[] = {
        column->metric, column->instance,
        column->unit,   column->kind == RESMON_COUNTER ? "counter" : "gauge",
        cell->meaning,  metric != NULL ? rm_metric_help(metric) : ""};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        rm_buffer_add(text, ",", 1);
        rm_csv_put_text(text, rest[i]);
    }
    rm_buffer_add(text, "\n", 1);
}

static void put_columns(struct rm_buffer *text, const struct resmon_run *run,
                        const struct layout *layout)
{
    rm_buffer_puts(text, "column,metric,instance,unit,kind,meaning,metric_meaning\n");
    for (size_t i = 0; i < sizeof other_columns / sizeof *other_columns; i++) {
        if (is_in_head(layout, other_columns[i].name)) {
            rm_buffer_printf(text, "%s,,,%s,,", other_columns[i].name, other_columns[i].unit);
            rm_csv_put_text(text, other_columns[i].meaning);
            rm_buffer_puts(text, ",\n");
        }
    }
    for (size_t i = 0; i < run->column_count; i++) {
        for (size_t c = 0; c < layout->cell_count; c++) {
            if (has_cell(&run->columns[i], &layout->cells[c])) {
                put_column(text, &run->columns[i], &layout->cells[c]);
            }
        }
    }
}

/* "run.csv" -> "run-columns.csv" */
static resmon_status columns_path(const char *path, char columns[RM_PATH_BYTES])
{
    size_t length = strlen(path);
    size_t stem = length > 4 && strcmp(path + length - 4, ".csv") == 0 ? length - 4 : length;
    int wanted = snprintf(columns, RM_PATH_BYTES, "%.*s-columns.csv", (int)stem, path);
    return wanted < RM_PATH_BYTES
               ? RESMON_OK
               : rm_error(RESMON_EINVAL, "path longer than %d bytes: %s", RM_PATH_BYTES - 1, path);
}

static resmon_status write_text(const struct rm_output *output, const void *what)
{
    const struct rm_buffer *text = what;
    return rm_output_write(output, text->text, text->length);
}

static resmon_status save_columns(const struct resmon_run *run, const struct layout *layout,
                                  const char *path)
{
    char columns[RM_PATH_BYTES];
    struct rm_buffer text;
    resmon_status status = columns_path(path, columns);
    if (status != RESMON_OK) {
        return status;
    }
    rm_buffer_init(&text, RM_CSV_LARGEST_LINE);
    put_columns(&text, run, layout);
    status =
        text.status == RESMON_OK ? rm_outfile_save(columns, 0, write_text, &text) : text.status;
    rm_buffer_free(&text);
    return status;
}

/* ---- a whole run ------------------------------------------------------------------------ */

/* Writes the tags from `*next` on that are older than `until_ns`, joined. */
static void put_tags(struct rm_buffer *line, const struct resmon_run *run, size_t *next,
                     int64_t until_ns)
{
    struct rm_buffer joined;
    rm_buffer_init(&joined, RM_CSV_LARGEST_LINE);
    for (; *next < run->tag_count && run->tags[*next].t_ns < until_ns; (*next)++) {
        rm_buffer_puts(&joined, joined.length > 0 ? "; " : "");
        rm_buffer_puts(&joined, run->tags[*next].label);
    }
    rm_buffer_add(line, ",", 1);
    rm_csv_put_text(line, joined.length > 0 ? joined.text : "");
    rm_buffer_add(line, "\n", 1);
    line->status = line->status == RESMON_OK ? joined.status : line->status;
    rm_buffer_free(&joined);
}

static void put_row(struct rm_buffer *line, const struct resmon_run *run, size_t row, size_t *tag)
{
    char samples[RM_NUMBER_BYTES];
    bool is_last = row + 1 == run->row_count;
    rm_csv_put_seconds(line, run->t_first[row]);
    rm_buffer_add(line, ",", 1);
    rm_csv_put_seconds(line, rm_run_realtime_ns(run, run->t_first[row]));
    rm_buffer_add(line, ",", 1);
    rm_csv_put_seconds(line, run->t_last[row]);
    rm_buffer_add(line, ",", 1);
    rm_buffer_add(line, samples, rm_number_u64(samples, run->row_samples[row]));
    for (size_t i = 0; i < run->column_count; i++) {
        for (size_t c = 0; c < layout_whole.cell_count; c++) {
            if (has_cell(&run->columns[i], &whole[c])) {
                rm_csv_put_number(line, rm_run_series(run, i, whole[c].series)[row]);
            }
        }
    }
    bool is_end = is_last || run->t_last[row] == INT64_MAX;
    put_tags(line, run, tag, is_end ? INT64_MAX : run->t_last[row] + 1);
}

static resmon_status write_rows(const struct rm_output *output, const void *what)
{
    const struct resmon_run *run = what;
    struct rm_buffer lines;
    resmon_status status = RESMON_OK;
    size_t tag = 0;
    rm_buffer_init(&lines, RM_CSV_LARGEST_LINE);
    put_head(&lines, run, &layout_whole);
    for (size_t row = 0; row <= run->row_count && status == RESMON_OK; row++) {
        status = lines.status == RESMON_OK ? rm_output_write(output, lines.text, lines.length)
                                           : lines.status;
        lines.length = 0;
        if (row < run->row_count) {
            put_row(&lines, run, row, &tag);
        }
    }
    rm_buffer_free(&lines);
    return status;
}

resmon_status rm_csv_save(const struct resmon_run *run, const char *path)
{
    resmon_status status = rm_outfile_save(path, 0, write_rows, run);
    return status == RESMON_OK ? save_columns(run, &layout_whole, path) : status;
}

void rm_csv_put_head(struct rm_buffer *line, const struct resmon_run *run)
{
    put_head(line, run, &layout_streamed);
}

resmon_status rm_csv_save_columns(const struct resmon_run *run, const char *path)
{
    return save_columns(run, &layout_streamed, path);
}
