/* SPDX-License-Identifier: MIT */
#include "report/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <resmon/metric.h>

#include "base/compiler.h"
#include "base/human.h"
#include "base/text.h"
#include "metric/view.h"
#include "report/memory_limit.h"
#include "report/table.h"
#include "run/headline.h"
#include "run/node_summary.h"

#define NARROW 80 /* columns of a page */

typedef char cell[RM_TABLE_CELL_BYTES];

static void set(cell target, const char *text)
{
    (void)rm_text_set(target, RM_TABLE_CELL_BYTES, text);
}

/* A number of the time between two readings is a ratio. */
static void set_value(cell target, const struct rm_metric *metric, double value, bool is_rate)
{
    bool is_gauge = (metric->kind & RM_KIND_MASK) == RESMON_GAUGE;
    if (is_gauge && (metric->kind & RM_INTERVAL) != 0 && strcmp(rm_metric_unit(metric), "1") == 0) {
        rm_human_fixed(target, value, 2);
    } else {
        rm_human_value(target, value, rm_metric_unit(metric), is_rate);
    }
}

static cell *write_figure(struct rm_table *table, const resmon_column *column, const char *label,
                          const struct rm_metric *metric)
{
    bool is_counter = column->kind == RESMON_COUNTER;
    cell *cells = rm_table_row(table);
    if (cells == NULL) {
        return NULL;
    }
    set(cells[0], label);
    set_value(cells[1], metric, column->mean, is_counter);
    set_value(cells[2], metric, column->p95, is_counter);
    set_value(cells[3], metric, column->max, is_counter);
    if (is_counter) {
        set_value(cells[4], metric, column->last, false);
    }
    return cells;
}

typedef void (*label_fn)(cell label, const resmon_column *column, const struct rm_view_row *row);

static void label_gpu(cell label, const resmon_column *column, const struct rm_view_row *row)
{
    (void)snprintf(label, RM_TABLE_CELL_BYTES, "GPU %.40s, %s", column->instance, row->label);
}

/* Those that the options name, as they count: clocks of the kernel count nanoseconds. */
static void label_event(cell label, const resmon_column *column, const struct rm_view_row *row)
{
    bool is_clock = strncmp(column->instance, "task-clock", 10) == 0 ||
                    strncmp(column->instance, "cpu-clock", 9) == 0;
    (void)snprintf(label, RM_TABLE_CELL_BYTES, "%s %.50s%s", row->label, column->instance,
                   is_clock ? " (ns)" : "");
}

#define GROUP_ROWS 8

/* All instances of the metrics of a group, in the order of the run's columns. */
static void write_instances(struct rm_table *table, const struct resmon_run *run, const char *group,
                            label_fn write_label)
{
    struct rm_view_row rows[GROUP_ROWS];
    size_t count = 0;
    for (size_t at = 0;
         count < GROUP_ROWS && rm_view_next(RM_VIEW_SUMMARY, group, &at, &rows[count]);) {
        count++;
    }
    for (size_t i = 0; i < run->column_count; i++) {
        const resmon_column *column = &run->columns[i];
        for (size_t k = 0; k < count && column->n > 0; k++) {
            if (strcmp(column->metric, rm_metric_name(rows[k].metric)) == 0) {
                cell label;
                write_label(label, column, &rows[k]);
                (void)write_figure(table, column, label, rows[k].metric);
            }
        }
    }
}

/* Metrics that the table of views does not name, as the run's table calls them. */
static void write_others(struct rm_table *table, const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < run->column_count; i++) {
            const resmon_column *column = &run->columns[i];
            if (strcmp(column->metric, rm_metric_name(row.metric)) == 0 && column->n > 0) {
                const struct rm_column_name name = rm_run_column_name(column);
                cell label;
                (void)snprintf(label, sizeof label, "%.35s%s%.40s%s", name.parts[0], name.parts[1],
                               name.parts[2], name.parts[3]);
                (void)write_figure(table, column, label, row.metric);
            }
        }
    }
}

/* Samples miss what comes between them: the kernel's mark is exact where it rose during the run,
 * and else only says that it was not passed. */
static void correct_rss_max(cell target, const struct resmon_run *run)
{
    const resmon_headline headline = rm_run_headline(run);
    char text[RM_HUMAN_BYTES];
    bool is_exact = headline.rss_peak_provenance == RESMON_PROVENANCE_MEASURED;
    rm_human_bytes(text, headline.rss_peak_bytes);
    (void)snprintf(target, RM_TABLE_CELL_BYTES, "%s%s", is_exact ? "" : ">= ", text);
}

static void write_figures(struct rm_table *table, const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "run", &at, &row);) {
        int64_t column = rm_run_column_of(run, row.metric->id, NULL);
        if (column >= 0 && run->columns[column].n > 0) {
            cell *cells = write_figure(table, &run->columns[column], row.label, row.metric);
            if (cells != NULL && row.metric->id == RM_PROC_MEM_RSS) {
                correct_rss_max(cells[3], run);
            }
        }
    }
}

/* The highest value only. */
static void write_life(struct rm_table *table, const struct resmon_run *run)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_SUMMARY, "life", &at, &row);) {
        const resmon_column *stats = rm_run_statistics_of(run, row.metric->id, NULL);
        cell *cells = stats != NULL ? rm_table_row(table) : NULL;
        if (cells != NULL) {
            set(cells[0], row.label);
            set_value(cells[3], row.metric, stats->max, false);
        }
    }
}

static void write_run(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    static const char *const headings[] = {"", "mean", "p95", "max", "total"};
    struct rm_table table;
    rm_buffer_puts(buffer, "\nRun\n");
    rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 1);
    table.width = width;
    write_figures(&table, run);
    write_instances(&table, run, "event", label_event);
    write_instances(&table, run, "gpu", label_gpu);
    write_life(&table, run);
    write_others(&table, run);
    rm_table_end(&table, buffer);
}

/* ---- the node --------------------------------------------------------------------------- */

/* Hours and MiB, which the keys of these figures promise, as people read times and sizes. */
static void set_node_figure(cell *cells, const struct resmon_run *run, size_t index)
{
    const struct rm_view_row row = rm_node_summary_row(index);
    double value = rm_node_summary_value(run, index);
    set(cells[0], row.group);
    if (strcmp(row.unit, "h") == 0) {
        rm_human_seconds(cells[1], value * 3600.0);
    } else if (strcmp(row.unit, "MiB") == 0) {
        rm_human_bytes(cells[1], value * 0x1p20);
    } else {
        rm_human_value(cells[1], value, row.unit, false);
    }
}

/* Label and value twice in a row, where there is room for it. */
static void write_node(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    static const char *const headings[] = {"", "", "", ""};
    const size_t rows = width < NARROW ? RM_NODE_SUMMARY_KEYS : RM_NODE_SUMMARY_KEYS / 2;
    struct rm_table table;
    rm_buffer_puts(buffer, "\nMachine, while it ran");
    rm_table_begin(&table, headings, RM_ARRAY_LEN(headings), 1);
    table.width = width;
    table.is_left[2] = true;
    for (size_t i = 0; i < rows; i++) {
        cell *cells = rm_table_row(&table);
        for (size_t k = 0; cells != NULL && i + k * rows < RM_NODE_SUMMARY_KEYS; k++) {
            set_node_figure(&cells[2 * k], run, i + k * rows);
        }
    }
    rm_table_end(&table, buffer);
}

void rm_report_figures(struct rm_buffer *buffer, const struct resmon_run *run, size_t width)
{
    if (run->column_count > 0) {
        write_run(buffer, run, width);
        rm_report_memory_limit(buffer, run);
        write_node(buffer, run, width);
    }
}
