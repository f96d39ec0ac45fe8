/* SPDX-License-Identifier: MIT */
#include "merge/steps.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "metric/view.h"
#include "run/record.h"
#include "store/bucket.h"

/* ---- cells of time --------------------------------------------------------------------------- */

/* Of two times, also those before 1970. */
static int64_t floor_of(int64_t time_ns, int64_t width_ns)
{
    int64_t quotient = time_ns / width_ns;
    return quotient - (time_ns % width_ns < 0 ? 1 : 0);
}

/* The cells that the time from `from_ns` to `to_ns` overlaps; at least one. */
static struct rm_grid_span span_of(int64_t width_ns, int64_t from_ns, int64_t to_ns)
{
    int64_t first = floor_of(from_ns, width_ns);
    int64_t last = to_ns > from_ns ? floor_of(to_ns - 1, width_ns) : first;
    return (struct rm_grid_span){first, (size_t)(last - first) + 1};
}

/* The smallest span that contains both. */
static struct rm_grid_span span_around(struct rm_grid_span one, struct rm_grid_span other)
{
    int64_t one_end = one.first + (int64_t)one.count;
    int64_t other_end = other.first + (int64_t)other.count;
    int64_t first = one.first < other.first ? one.first : other.first;
    int64_t end = one_end > other_end ? one_end : other_end;
    return (struct rm_grid_span){first, (size_t)(end - first)};
}

struct rm_grid_span rm_grid_span_halved(struct rm_grid_span span)
{
    int64_t first = floor_of(span.first, 2);
    int64_t last = floor_of(span.first + (int64_t)span.count - 1, 2);
    return (struct rm_grid_span){first, (size_t)(last - first) + 1};
}

struct rm_grid_cell rm_grid_cell_empty(void)
{
    return (struct rm_grid_cell){.low = RM_NAN, .high = RM_NAN};
}

void rm_grid_add(struct rm_grid_cell *cells, struct rm_grid_span span, int64_t width_ns,
                 const struct rm_grid_row *row)
{
    struct rm_grid_span touched = span_of(width_ns, row->from_ns, row->to_ns);
    for (size_t i = 0; i < touched.count; i++) {
        int64_t number = touched.first + (int64_t)i;
        int64_t from_ns = number * width_ns, to_ns = from_ns + width_ns;
        if (number < span.first || number >= span.first + (int64_t)span.count) {
            continue;
        }
        struct rm_grid_cell *cell = &cells[number - span.first];
        from_ns = from_ns > row->from_ns ? from_ns : row->from_ns;
        to_ns = to_ns < row->to_ns ? to_ns : row->to_ns;
        double seconds = (double)(to_ns - from_ns) / (double)RM_NS_PER_S;
        cell->sum += row->mean * seconds;
        cell->seconds += seconds;
        cell->low = fmin(cell->low, row->low); /* of a number and NaN, the number */
        cell->high = fmax(cell->high, row->high);
    }
}

static void add_cell(struct rm_grid_cell *cell, const struct rm_grid_cell *other)
{
    cell->sum += other->sum;
    cell->seconds += other->seconds;
    cell->low = fmin(cell->low, other->low); /* of a number and NaN, the number */
    cell->high = fmax(cell->high, other->high);
}

struct rm_grid_span rm_grid_halve(struct rm_grid_cell *cells, struct rm_grid_span span)
{
    struct rm_grid_span halved = rm_grid_span_halved(span);
    size_t done = 0;
    for (size_t i = 0; i < halved.count; i++) {
        size_t end = (size_t)(2 * (halved.first + (int64_t)i) + 2 - span.first);
        struct rm_grid_cell sum = cells[done++];
        if (done < end && done < span.count) {
            add_cell(&sum, &cells[done++]);
        }
        cells[i] = sum;
    }
    return halved;
}

/* ---- the metrics of a merged run ------------------------------------------------------------- */

#define MOST_DEVICES 64 /* of a node, at most */

/* The columns of a metric in a run; in a merged run, the column of a node. */
struct devices {
    size_t columns[MOST_DEVICES];
    size_t count;
};

/* The rows of a run, and the cells to fill from them. */
struct rows {
    const struct resmon_run *run;
    int64_t start_ns;         /* of the run, since 1970 */
    int64_t from_ns, to_ns;   /* times outside are cut */
    bool is_merged;           /* its rows are cells */
    int64_t width_ns;         /* of the cells */
    struct rm_grid_span span; /* of the cells */
};

static bool is_listed(const struct rm_merge_metrics *metrics, uint32_t id)
{
    for (size_t i = 0; i < metrics->count; i++) {
        if (metrics->rows[i].metric->id == id) {
            return true;
        }
    }
    return false;
}

void rm_merge_metrics_list(struct rm_merge_metrics *metrics)
{
    struct rm_view_row row;
    metrics->count = 0;
    for (size_t at = 0;
         metrics->count < RM_MERGE_COLUMNS && rm_view_next(RM_VIEW_JOB, NULL, &at, &row);) {
        const struct rm_metric *metric = row.metric;
        if (!is_listed(metrics, metric->id)) {
            metrics->rows[metrics->count++] = (struct rm_merge_metric){
                .metric = metric,
                .name = rm_metric_name(metric),
                .is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER,
                .is_share = strcmp(rm_metric_unit(metric), "%") == 0 ||
                            strstr(rm_metric_name(metric), ".psi.") != NULL,
                .is_of_host =
                    metric->level != RESMON_LEVEL_PROCESS && metric->level != RESMON_LEVEL_TREE,
            };
        }
    }
}

/* ---- the columns of a metric ---------------------------------------------------------------- */

/* "gpu0": a slice of a GPU ("gpu0.1") is included in its GPU. */
static bool is_whole_device(const char *instance)
{
    return instance[strcspn(instance, "./:")] == '\0';
}

/* The columns with values: of a metric of devices all, of other metrics the first. */
static void find_devices(const struct rm_merge_metric *metric, const struct resmon_run *run,
                         struct devices *ret_devices)
{
    bool is_of_devices = metric->metric->level == RESMON_LEVEL_DEVICE;
    size_t most = is_of_devices ? MOST_DEVICES : 1;
    ret_devices->count = 0;
    for (size_t i = 0; i < run->column_count && ret_devices->count < most; i++) {
        const resmon_column *column = &run->columns[i];
        if (column->n > 0 && strcmp(column->metric, metric->name) == 0 &&
            (!is_of_devices || is_whole_device(column->instance))) {
            ret_devices->columns[ret_devices->count++] = i;
        }
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* Adds statistics over the same time; extremes and quantiles of the sum are not known. */
static void add(resmon_column *sum, const resmon_column *more)
{
    sum->n += more->n;
    sum->first += more->first;
    sum->last += more->last;
    sum->mean += more->mean;
    sum->integral += more->integral;
    sum->resets += more->resets;
    sum->duration_s = rm_greater(sum->duration_s, more->duration_s);
    sum->min = sum->max = sum->p50 = sum->p95 = RM_NAN;
    for (size_t i = 0; i < RM_ARRAY_LEN(sum->over_s); i++) {
        sum->over_s[i] = RM_NAN;
    }
}

/* The mean of the shares of `count` devices. */
static void divide(resmon_column *sum, double count, double min, double max)
{
    sum->first /= count;
    sum->last /= count;
    sum->mean /= count;
    sum->integral /= count;
    sum->min = min;
    sum->max = max;
}

/* Adds the statistics of a run over the same time. */
static void add_statistics(struct rm_merge_column *column, const resmon_column *more,
                           uint64_t parts)
{
    if (column->parts == 0) {
        column->statistics = *more;
    } else {
        add(&column->statistics, more);
    }
    column->parts += parts;
}

/* Appends statistics over another time; means are weighted by their times. */
static void follow(resmon_column *sum, const resmon_column *more, int order)
{
    bool is_counter = sum->kind == RESMON_COUNTER;
    double times = sum->duration_s + more->duration_s;
    sum->n += more->n;
    sum->resets += more->resets;
    sum->first = order < 0 ? more->first : sum->first;
    sum->last = is_counter ? sum->last + more->last : order > 0 ? more->last : sum->last;
    sum->min = rm_lesser(more->min, sum->min);
    sum->max = rm_greater(more->max, sum->max);
    if (times > 0.0) {
        sum->mean = (sum->mean * sum->duration_s + more->mean * more->duration_s) / times;
    }
    sum->integral += more->integral;
    sum->duration_s = times;
    sum->p50 = sum->p95 = RM_NAN;
    for (size_t i = 0; i < RM_ARRAY_LEN(sum->over_s); i++) {
        sum->over_s[i] += more->over_s[i];
    }
}

/* Adds the statistics of a run over a time before (`order` below 0), after (above 0) or between the
 * times that were added: of a machine that several processes measured one after the other. */
static void append_statistics(struct rm_merge_column *column, const resmon_column *more, int order)
{
    if (column->parts == 0) {
        column->statistics = *more;
    } else {
        follow(&column->statistics, more, order);
    }
    column->parts = 1;
}

/* The sum of the statistics of one or several devices. */
static resmon_column statistics_of(const struct rm_merge_metric *metric,
                                   const struct resmon_run *run, const struct devices *devices)
{
    resmon_column sum = run->columns[devices->columns[0]];
    double min = sum.min, max = sum.max;
    for (size_t i = 1; i < devices->count; i++) {
        const resmon_column *column = &run->columns[devices->columns[i]];
        min = rm_lesser(column->min, min);
        max = rm_greater(column->max, max);
        add(&sum, column);
    }
    if (devices->count > 1 && metric->is_share) {
        divide(&sum, (double)devices->count, min, max);
    }
    return sum;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The sum of the columns of a metric in one row. */
struct reading {
    double value; /* gauge: mean; counter: growth since the start */
    double low, high;
    size_t columns;
};

static struct reading reading_of(const struct rm_merge_metric *metric, const struct resmon_run *run,
                                 const struct devices *devices, size_t row)
{
    struct reading reading = {.low = RM_NAN, .high = RM_NAN};
    int kind = metric->is_counter ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    for (size_t i = 0; i < devices->count; i++) {
        size_t at = devices->columns[i];
        double value = rm_run_series(run, at, kind)[row];
        if (!isnan(value)) {
            reading.value += value;
            reading.low = rm_lesser(rm_run_series(run, at, RESMON_SERIES_MIN)[row], reading.low);
            reading.high = rm_greater(rm_run_series(run, at, RESMON_SERIES_MAX)[row], reading.high);
            reading.columns++;
        }
    }
    if (reading.columns > 1 && metric->is_share) {
        reading.value /= (double)reading.columns;
    } else if (reading.columns > 1) {
        reading.low = reading.high = RM_NAN;
    }
    return reading;
}

/* A time of the run, cut to its bounds: a changed document may have any number. */
static int64_t time_of(const struct rows *rows, int64_t t_ns)
{
    int64_t time_ns = rows->start_ns + (t_ns < RM_MERGE_LONGEST ? t_ns : RM_MERGE_LONGEST);
    return time_ns < rows->from_ns ? rows->from_ns : time_ns > rows->to_ns ? rows->to_ns : time_ns;
}

/* Adds the rows of a metric's columns to empty cells.  A reading covers the time since the reading
 * before it; a row of a merged run covers its cell. */
static void add_rows(const struct rm_merge_metric *metric, const struct rows *rows,
                     const struct devices *devices, struct rm_grid_cell *cells)
{
    const struct resmon_run *run = rows->run;
    int64_t before_ns = run->row_count > 0 ? run->t_first[0] : 0;
    double before = 0.0; /* growth until then */
    for (size_t i = 0; i < run->row_count; i++) {
        const struct reading reading = reading_of(metric, run, devices, i);
        if (reading.columns == 0) {
            continue;
        }
        int64_t from_ns = rows->is_merged ? run->t_first[i] : before_ns;
        struct rm_grid_row row = {
            .from_ns = time_of(rows, from_ns),
            .to_ns = time_of(rows, run->t_last[i]),
            .mean = reading.value,
            .low = reading.low,
            .high = reading.high,
        };
        if (metric->is_counter && row.to_ns <= row.from_ns) {
            continue; /* its growth is added to the next row */
        }
        if (metric->is_counter) {
            row.mean = (reading.value - before) / ((double)(row.to_ns - row.from_ns) / 1e9);
            before = reading.value;
        }
        before_ns = run->t_last[i];
        rm_grid_add(cells, rows->span, rows->width_ns, &row);
    }
}

/* ---- cells of a merge ------------------------------------------------------------------------ */

static void halve(struct rm_merge *merge)
{
    merge->width_ns *= 2;
    merge->span = rm_grid_span_halved(merge->span);
    for (size_t n = 0; n < merge->node_count; n++) {
        struct rm_merge_node *node = &merge->nodes[n];
        for (size_t c = 0; c < merge->metrics.count; c++) {
            if (node->columns[c].cells != NULL) {
                (void)rm_grid_halve(node->columns[c].cells, node->span);
            }
        }
        if (node->span.count > 0) {
            node->span = rm_grid_span_halved(node->span);
        }
    }
}

static bool is_too_fine(const struct rm_merge *merge)
{
    size_t count = merge->span.count;
    size_t most = RM_MERGE_CELLS / (merge->metrics.count * (merge->node_count + 1));
    return merge->width_ns < merge->least_width_ns ||
           (count > 1 && (count > RM_MERGE_ROWS || count > most));
}

void rm_merge_cells_fit(struct rm_merge *merge)
{
    while (is_too_fine(merge)) {
        halve(merge);
    }
}

/* Widens the span of the merge to a range of time. */
static void fit(struct rm_merge *merge, int64_t from_ns, int64_t to_ns)
{
    struct rm_grid_span span = span_of(merge->width_ns, from_ns, to_ns);
    merge->span = merge->span.count > 0 ? span_around(merge->span, span) : span;
    rm_merge_cells_fit(merge);
}

static bool widen_column(struct rm_merge_column *column, struct rm_grid_span old,
                         struct rm_grid_span span)
{
    struct rm_grid_cell *cells = rm_alloc(span.count, sizeof *cells);
    if (cells == NULL) {
        return false;
    }
    for (size_t i = 0; i < span.count; i++) {
        cells[i] = rm_grid_cell_empty();
    }
    if (column->cells != NULL) {
        memcpy(cells + (old.first - span.first), column->cells, old.count * sizeof *cells);
    }
    rm_free(column->cells);
    column->cells = cells;
    return true;
}

static bool widen_node(struct rm_merge *merge, struct rm_merge_node *node, struct rm_grid_span more)
{
    struct rm_grid_span span = node->span.count > 0 ? span_around(node->span, more) : more;
    bool is_wide = true;
    if (span.first == node->span.first && span.count == node->span.count) {
        return true;
    }
    for (size_t i = 0; i < merge->metrics.count && is_wide; i++) {
        if (node->columns[i].cells != NULL) {
            is_wide = widen_column(&node->columns[i], node->span, span);
        }
    }
    node->span = span;
    return is_wide;
}

/* Empty cells to work in. */
static struct rm_grid_cell *work_cells(struct rm_merge *merge, size_t count)
{
    if (count > merge->work_room) {
        struct rm_grid_cell *work = rm_realloc(merge->work, count, sizeof *work);
        if (work == NULL) {
            return NULL;
        }
        merge->work = work;
        merge->work_room = count;
    }
    for (size_t i = 0; i < count; i++) {
        merge->work[i] = rm_grid_cell_empty();
    }
    return merge->work;
}

static void add_cells(const struct rm_merge_node *node, struct rm_merge_column *column,
                      const struct rm_grid_cell *more, struct rm_grid_span span)
{
    for (size_t i = 0; i < span.count; i++) {
        add_cell(&column->cells[(size_t)(span.first - node->span.first) + i], &more[i]);
    }
}

/* A metric of a run, or of a node of a merged one. */
static bool add_column(struct rm_merge *merge, const struct rm_merge_input *input,
                       size_t node_index, size_t metric_index, const struct devices *devices)
{
    const struct rm_merge_metric *metric = &merge->metrics.rows[metric_index];
    const resmon_run_node *from = &input->nodes[node_index];
    struct rm_merge_node *node = &merge->nodes[input->node_of[node_index]];
    struct rm_merge_column *column = &node->columns[metric_index];
    bool is_host = metric->is_of_host && input->is_merged;
    int64_t start_ns = input->start_ns + (is_host ? from->host_start_ns : from->start_ns);
    int64_t end_ns = start_ns + (is_host ? from->host_duration_ns : from->duration_ns);
    struct rows rows = {
        .run = input->run,
        .start_ns = input->start_ns,
        .from_ns = start_ns,
        .to_ns = end_ns,
        .is_merged = input->is_merged,
        .width_ns = merge->width_ns,
        .span = span_of(merge->width_ns, start_ns, end_ns),
    };
    struct rm_grid_cell *cells = work_cells(merge, rows.span.count);
    if (cells == NULL || (column->cells == NULL && !widen_column(column, node->span, node->span))) {
        return false;
    }
    add_rows(metric, &rows, devices, cells);
    add_cells(node, column, cells, rows.span);
    resmon_column statistics = statistics_of(metric, input->run, devices);
    if (column->parts == 0) {
        statistics.source = rm_merge_keep(merge, statistics.source);
    }
    if (metric->is_of_host) {
        append_statistics(column, &statistics, input->order[node_index]);
    } else {
        add_statistics(column, &statistics, from->ranks);
    }
    return true;
}

static bool add_columns_of_run(struct rm_merge *merge, const struct rm_merge_input *input)
{
    bool is_added = true;
    for (size_t i = 0; i < merge->metrics.count && is_added; i++) {
        const struct rm_merge_metric *metric = &merge->metrics.rows[i];
        struct devices devices;
        find_devices(metric, input->run, &devices);
        if (devices.count > 0 && (!metric->is_of_host || input->is_host_of[0])) {
            is_added = add_column(merge, input, 0, i, &devices);
        }
    }
    return is_added;
}

/* Finds the node and the metric of a column of a merged run; false: of all nodes, or not known. */
static bool place_column(const struct rm_merge *merge, const struct rm_merge_input *input,
                         const resmon_column *column, size_t *ret_node, size_t *ret_metric)
{
    size_t node = 0, metric = 0;
    while (node < input->node_count && strcmp(input->nodes[node].name, column->instance) != 0) {
        node++;
    }
    while (metric < merge->metrics.count &&
           strcmp(merge->metrics.rows[metric].name, column->metric) != 0) {
        metric++;
    }
    *ret_node = node;
    *ret_metric = metric;
    return column->level != RESMON_LEVEL_JOB && column->n > 0 && node < input->node_count &&
           metric < merge->metrics.count;
}

static bool add_columns_of_merged(struct rm_merge *merge, const struct rm_merge_input *input)
{
    bool is_added = true;
    for (size_t i = 0; i < input->run->column_count && is_added; i++) {
        const resmon_column *column = &input->run->columns[i];
        const struct devices devices = {.columns = {i}, .count = 1};
        size_t node, metric;
        if (place_column(merge, input, column, &node, &metric) &&
            (!merge->metrics.rows[metric].is_of_host || input->is_host_of[node])) {
            is_added = add_column(merge, input, node, metric, &devices);
        }
    }
    return is_added;
}

/* Cells as wide as the rows of the run are, at least. */
static int64_t width_of_rows(const struct rm_merge_input *input)
{
    const struct resmon_run *run = input->run;
    double ms = input->is_merged
                    ? rm_run_fact_number(run, "settings", RM_FACT_MERGED_INTERVAL)
                    : rm_run_fact_number(run, "settings", "interval_ms") * (double)run->info.stride;
    int64_t width_ns = RM_MERGE_WIDTH;
    while (ms < 1e12 && (double)width_ns < ms * 1e6) {
        width_ns *= 2;
    }
    return width_ns;
}

bool rm_merge_cells_add(struct rm_merge *merge, const struct rm_merge_input *input)
{
    int64_t width_ns = width_of_rows(input);
    merge->least_width_ns = width_ns > merge->least_width_ns ? width_ns : merge->least_width_ns;
    for (size_t i = 0; i < input->node_count; i++) {
        const resmon_run_node *node = &input->nodes[i];
        int64_t from_ns = input->start_ns + node->start_ns;
        if (node->duration_ns >= 0) {
            fit(merge, from_ns, from_ns + node->duration_ns);
        }
    }
    for (size_t i = 0; i < input->node_count; i++) {
        const resmon_run_node *node = &input->nodes[i];
        int64_t from_ns = input->start_ns + node->start_ns;
        if (node->duration_ns >= 0 &&
            !widen_node(merge, &merge->nodes[input->node_of[i]],
                        span_of(merge->width_ns, from_ns, from_ns + node->duration_ns))) {
            return false;
        }
    }
    return input->is_merged ? add_columns_of_merged(merge, input)
                            : add_columns_of_run(merge, input);
}
