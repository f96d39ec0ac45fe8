/* SPDX-License-Identifier: MIT */
#include "merge/steps.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
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

/* ---- columns and what they measure ----------------------------------------------------------- */

/* Columns of a run that make one column of a node. */
struct devices {
    const size_t *columns;
    size_t count;
};

/* The rows of a run, and the cells to fill from them. */
struct rows {
    const struct resmon_run *run;
    int64_t start_ns;         /* of the run, since 1970 */
    int64_t from_ns, to_ns;   /* times outside are cut */
    bool is_merged;           /* its rows are cells */
    double weight;            /* of its values in a mean */
    int64_t width_ns;         /* of the cells */
    struct rm_grid_span span; /* of the cells */
};

static uint64_t hash_of_kind(const char *metric, const char *instance)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, metric, strlen(metric) + 1);
    return rm_hash_bytes(hash, instance, strlen(instance));
}

static enum rm_metric_rule rule_of(const resmon_column *column)
{
    return rm_metric_rule(rm_metric_by_name(column->metric), column->unit);
}

/* Whether the monitor of a job has the metric for all of the job's processes on a node.  Hardware
 * counters, which have the level of trees, too, cannot be opened for a job. */
static bool can_be_of_job(const char *metric)
{
    return strncmp(metric, "tree.", 5) == 0 || strncmp(metric, "gpu.tree.", 9) == 0;
}

/* False: no memory. */
static bool append_kind(struct rm_merge *merge, const resmon_column *column, const char *instance,
                        bool is_of_job)
{
    struct rm_merge_kind *kind =
        rm_append(&merge->kinds, &merge->kind_count, &merge->kind_room, sizeof *kind);
    if (kind == NULL) {
        return false;
    }
    const struct rm_metric *metric = rm_metric_by_name(column->metric);
    uint32_t id = metric != NULL ? metric->id : UINT32_MAX;
    bool is_of_process = column->level == RESMON_LEVEL_PROCESS ||
                         column->level == RESMON_LEVEL_TREE || id == RM_GPU_TREE_MEM ||
                         id == RM_GPU_TREE_SM; /* on a device, but of the process's tree */
    *kind = (struct rm_merge_kind){
        .metric = metric != NULL ? rm_metric_name(metric) : rm_merge_keep(merge, column->metric),
        .unit = metric != NULL ? rm_metric_unit(metric) : rm_merge_keep(merge, column->unit),
        .instance = rm_merge_keep(merge, instance),
        .id = id,
        .level = column->level,
        .rule = rule_of(column),
        .is_counter = column->kind == RESMON_COUNTER,
        .is_of_host = !is_of_process || is_of_job,
        .is_of_job = is_of_job,
    };
    return true;
}

/* UINT32_MAX: no memory. */
static uint32_t new_kind(struct rm_merge *merge, const resmon_column *column, const char *instance)
{
    uint32_t index = (uint32_t)merge->kind_count;
    bool is_added = rm_map_reserve(&merge->kind_map, merge->kind_count + 1) &&
                    append_kind(merge, column, instance, false);
    if (is_added && can_be_of_job(column->metric)) {
        is_added = append_kind(merge, column, instance, true);
    }
    if (is_added) {
        rm_map_add(&merge->kind_map, hash_of_kind(column->metric, instance), index);
    }
    return is_added ? index : UINT32_MAX;
}

/* The kind of a column with this instance, of processes; UINT32_MAX: no memory. */
static uint32_t kind_of(struct rm_merge *merge, const resmon_column *column, const char *instance)
{
    struct rm_map_search search = {.hash = hash_of_kind(column->metric, instance)};
    for (uint32_t i; rm_map_next(&merge->kind_map, &search, &i);) {
        if (strcmp(merge->kinds[i].metric, column->metric) == 0 &&
            strcmp(merge->kinds[i].instance, instance) == 0) {
            return i;
        }
    }
    return new_kind(merge, column, instance);
}

static uint64_t hash_of_column(uint32_t node, uint32_t kind)
{
    return rm_hash_u64(RM_HASH_START, (uint64_t)node << 32 | kind);
}

static struct rm_merge_column *column_of(const struct rm_merge *merge, uint32_t node, uint32_t kind)
{
    struct rm_map_search search = {.hash = hash_of_column(node, kind)};
    for (uint32_t i; rm_map_next(&merge->column_map, &search, &i);) {
        struct rm_merge_column *column = &merge->columns[i];
        if (column->node == node && column->kind == kind) {
            return column;
        }
    }
    return NULL;
}

struct rm_merge_column *rm_merge_column_of(const struct rm_merge *merge, uint32_t node,
                                           uint32_t kind)
{
    bool has_other = kind + 1 < merge->kind_count && merge->kinds[kind + 1].is_of_job;
    bool counts = has_other && merge->nodes[node].node.has_job != 0;
    struct rm_merge_column *of_job = counts ? column_of(merge, node, kind + 1) : NULL;
    return of_job != NULL && of_job->parts > 0 ? of_job : column_of(merge, node, kind);
}

/* NULL: no memory. */
static struct rm_merge_column *new_column(struct rm_merge *merge, uint32_t node, uint32_t kind)
{
    struct rm_merge_column *column = NULL;
    if (rm_map_reserve(&merge->column_map, merge->column_count + 1)) {
        column =
            rm_append(&merge->columns, &merge->column_count, &merge->column_room, sizeof *column);
    }
    if (column != NULL) {
        *column = (struct rm_merge_column){
            .node = node, .kind = kind, .next_1 = merge->nodes[node].column_1};
        merge->nodes[node].column_1 = (uint32_t)merge->column_count;
        rm_map_add(&merge->column_map, hash_of_column(node, kind),
                   (uint32_t)merge->column_count - 1);
    }
    return column;
}

/* A mean over the processes of a node, too. */
static bool is_mean_of_processes(const struct rm_merge_kind *kind)
{
    return kind->rule == RM_RULE_MEAN && !kind->is_of_host;
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

void rm_merge_divide(resmon_column *sum, double count)
{
    sum->first /= count;
    sum->last /= count;
    sum->mean /= count;
    sum->integral /= count;
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
static resmon_column statistics_of(const struct rm_merge_kind *kind, const struct resmon_run *run,
                                   const struct devices *devices)
{
    resmon_column sum = run->columns[devices->columns[0]];
    double min = sum.min, max = sum.max;
    for (size_t i = 1; i < devices->count; i++) {
        const resmon_column *column = &run->columns[devices->columns[i]];
        min = rm_lesser(column->min, min);
        max = rm_greater(column->max, max);
        add(&sum, column);
    }
    if (devices->count > 1 && rm_merge_kind_is_mean(kind)) {
        rm_merge_divide(&sum, (double)devices->count);
        sum.min = min;
        sum.max = max;
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

static struct reading reading_of(const struct rm_merge_kind *kind, const struct resmon_run *run,
                                 const struct devices *devices, size_t row)
{
    struct reading reading = {.low = RM_NAN, .high = RM_NAN};
    int series = kind->is_counter ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    for (size_t i = 0; i < devices->count; i++) {
        size_t at = devices->columns[i];
        double value = rm_run_series(run, at, series)[row];
        if (!isnan(value)) {
            reading.value += value;
            reading.low = rm_lesser(rm_run_series(run, at, RESMON_SERIES_MIN)[row], reading.low);
            reading.high = rm_greater(rm_run_series(run, at, RESMON_SERIES_MAX)[row], reading.high);
            reading.columns++;
        }
    }
    if (reading.columns > 1 && rm_merge_kind_is_mean(kind)) {
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
static void add_rows(const struct rm_merge_kind *kind, const struct rows *rows,
                     const struct devices *devices, struct rm_grid_cell *cells)
{
    const struct resmon_run *run = rows->run;
    int64_t before_ns = run->row_count > 0 ? run->t_first[0] : 0;
    double before = 0.0; /* growth until then */
    for (size_t i = 0; i < run->row_count; i++) {
        const struct reading reading = reading_of(kind, run, devices, i);
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
        if (kind->is_counter && row.to_ns <= row.from_ns) {
            continue; /* its growth is added to the next row */
        }
        if (kind->is_counter) {
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
    for (size_t i = 0; i < merge->column_count; i++) {
        struct rm_merge_column *column = &merge->columns[i];
        if (column->cells != NULL) {
            struct rm_grid_span span =
                rm_grid_halve(column->cells, merge->nodes[column->node].span);
            struct rm_grid_cell *less =
                rm_realloc(column->cells, span.count, sizeof *column->cells);
            column->cells = less != NULL ? less : column->cells; /* the old ones are enough */
        }
    }
    for (size_t i = 0; i < merge->node_count; i++) {
        struct rm_merge_node *node = &merge->nodes[i];
        if (node->span.count > 0) {
            node->span = rm_grid_span_halved(node->span);
        }
    }
}

/* For the rows of a result, or for those of a run that was added. */
static bool is_too_fine(const struct rm_merge *merge)
{
    return merge->width_ns < merge->least_width_ns || merge->span.count > RM_MERGE_ROWS;
}

static bool is_too_large(const struct rm_merge *merge)
{
    size_t most = RM_MERGE_CELLS / (merge->column_count + merge->kind_count + 1);
    return merge->span.count > 1 && merge->span.count > most;
}

void rm_merge_cells_fit(struct rm_merge *merge)
{
    while (is_too_fine(merge) || is_too_large(merge)) {
        merge->is_coarse |= !is_too_fine(merge);
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
    for (uint32_t i = node->column_1; i > 0 && is_wide; i = merge->columns[i - 1].next_1) {
        struct rm_merge_column *column = &merge->columns[i - 1];
        is_wide = column->cells == NULL || widen_column(column, node->span, span);
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
                      const struct rm_grid_cell *more, const struct rows *rows)
{
    for (size_t i = 0; i < rows->span.count; i++) {
        struct rm_grid_cell cell = more[i];
        cell.sum *= rows->weight;
        cell.seconds *= rows->weight;
        add_cell(&column->cells[(size_t)(rows->span.first - node->span.first) + i], &cell);
    }
}

/* ---- the columns of a run -------------------------------------------------------------------- */

static void add_statistics_of(struct rm_merge *merge, const struct rm_merge_input *input,
                              size_t node_index, struct rm_merge_column *column,
                              resmon_column statistics)
{
    const struct rm_merge_kind *kind = &merge->kinds[column->kind];
    uint64_t parts = input->nodes[node_index].ranks;
    if (column->parts == 0) {
        statistics.source = rm_merge_keep(merge, statistics.source);
    }
    if (kind->is_of_host) {
        const struct rm_merge_place *place = &input->places[node_index];
        append_statistics(column, &statistics,
                          kind->is_of_job ? place->job_order : place->host_order);
        return;
    }
    if (is_mean_of_processes(kind) && parts > 1) { /* a sum again */
        rm_merge_divide(&statistics, 1.0 / (double)parts);
    }
    add_statistics(column, &statistics, parts);
}

/* The kind that a figure of a node of an input is added to: the job's where its monitor observed
 * the processes.  UINT32_MAX: none, another input has it. */
static uint32_t kind_on(const struct rm_merge *merge, const struct rm_merge_input *input,
                        size_t node_index, uint32_t kind_index)
{
    const resmon_run_node *from = &input->nodes[node_index];
    const struct rm_merge_place *place = &input->places[node_index];
    const struct rm_merge_kind *kind = &merge->kinds[kind_index];
    if (!can_be_of_job(kind->metric)) {
        return !kind->is_of_host || place->is_host ? kind_index : UINT32_MAX;
    }
    if (from->has_job != 0) {
        return place->is_job ? kind_index + 1 : UINT32_MAX;
    }
    return from->ranks > 0 ? kind_index : UINT32_MAX; /* a monitor that saw no process */
}

/* A column of a run, or of a node of a merged one.  False: no memory. */
static bool add_column(struct rm_merge *merge, const struct rm_merge_input *input,
                       size_t node_index, uint32_t kind_index, const struct devices *devices)
{
    kind_index = kind_on(merge, input, node_index, kind_index);
    if (kind_index == UINT32_MAX) {
        return true;
    }
    const resmon_run_node *from = &input->nodes[node_index];
    const struct rm_merge_kind *kind = &merge->kinds[kind_index];
    uint32_t node_of = input->places[node_index].node;
    const struct rm_merge_node *node = &merge->nodes[node_of];
    bool is_host = kind->is_of_host && !kind->is_of_job && input->is_merged;
    int64_t start_ns = input->start_ns + (is_host ? from->host_start_ns : from->start_ns);
    int64_t end_ns = start_ns + (is_host ? from->host_duration_ns : from->duration_ns);
    struct rows rows = {
        .run = input->run,
        .start_ns = input->start_ns,
        .from_ns = start_ns,
        .to_ns = end_ns,
        .is_merged = input->is_merged,
        .weight = is_mean_of_processes(kind) && from->ranks > 1 ? (double)from->ranks : 1.0,
        .width_ns = merge->width_ns,
        .span = span_of(merge->width_ns, start_ns, end_ns),
    };
    struct rm_merge_column *column = column_of(merge, node_of, kind_index);
    column = column != NULL ? column : new_column(merge, node_of, kind_index);
    struct rm_grid_cell *cells = work_cells(merge, rows.span.count);
    if (column == NULL || cells == NULL ||
        (column->cells == NULL && !widen_column(column, node->span, node->span))) {
        return false;
    }
    add_rows(kind, &rows, devices, cells);
    add_cells(node, column, cells, &rows);
    add_statistics_of(merge, input, node_index, column, statistics_of(kind, input->run, devices));
    return true;
}

static bool add_one(struct rm_merge *merge, const struct rm_merge_input *input, size_t node_index,
                    size_t column, const char *instance)
{
    const struct devices devices = {.columns = &column, .count = 1};
    uint32_t kind = kind_of(merge, &input->run->columns[column], instance);
    return kind != UINT32_MAX && add_column(merge, input, node_index, kind, &devices);
}

/* "gpu0": a slice of a GPU ("gpu0.1") is included in its GPU. */
static bool is_whole_device(const char *instance)
{
    return instance[strcspn(instance, "./:")] == '\0';
}

/* The columns of a run by metric. */
struct by_metric {
    struct rm_intern metrics;
    uint32_t *first, *last; /* by metric */
    uint32_t *next_1;       /* by column: index + 1 of the next one of its metric; 0: none */
    size_t *parts;          /* of the metric that is added: room for all columns */
};

static void forget_metrics(struct by_metric *by)
{
    rm_intern_free(&by->metrics);
    rm_free(by->first);
    rm_free(by->last);
    rm_free(by->next_1);
    rm_free(by->parts);
}

/* False: no memory. */
static bool find_metrics(const struct resmon_run *run, struct by_metric *by)
{
    size_t room = run->column_count + 1;
    *by = (struct by_metric){.first = rm_alloc(room, sizeof *by->first),
                             .last = rm_alloc(room, sizeof *by->last),
                             .next_1 = rm_alloc(room, sizeof *by->next_1),
                             .parts = rm_alloc(room, sizeof *by->parts)};
    bool has_room =
        by->first != NULL && by->last != NULL && by->next_1 != NULL && by->parts != NULL;
    for (uint32_t i = 0; i < run->column_count && has_room; i++) {
        uint32_t known = by->metrics.count;
        uint32_t metric = rm_intern_text(&by->metrics, run->columns[i].metric);
        if (metric == known) {
            by->first[metric] = i;
        } else {
            by->next_1[by->last[metric]] = i + 1;
        }
        by->last[metric] = i;
        has_room = !by->metrics.is_broken;
    }
    return has_room;
}

/* Whether an instance is a part of the column of its node: of devices all that are no slices, of
 * counters (network ports) all, of others (file systems) the first. */
static bool is_part(const resmon_column *column, enum rm_metric_rule rule, size_t known)
{
    bool is_first = known == 0, is_counter = column->kind == RESMON_COUNTER;
    if (rule == RM_RULE_EACH || rule == RM_RULE_NONE) {
        return false;
    }
    return column->level == RESMON_LEVEL_DEVICE ? is_whole_device(column->instance)
                                                : is_counter || is_first;
}

/* The columns of a metric that make the column of its node, until the next call. */
static struct devices find_devices(const struct resmon_run *run, const struct by_metric *by,
                                   uint32_t metric)
{
    enum rm_metric_rule rule = rule_of(&run->columns[by->first[metric]]);
    size_t count = 0;
    for (uint32_t i_1 = by->first[metric] + 1; i_1 > 0; i_1 = by->next_1[i_1 - 1]) {
        const resmon_column *column = &run->columns[i_1 - 1];
        if (column->n > 0 && column->instance[0] == '\0') {
            by->parts[0] = i_1 - 1;
            count = 1;
            break;
        }
        if (column->n > 0 && is_part(column, rule, count)) {
            by->parts[count++] = i_1 - 1;
        }
    }
    return (struct devices){.columns = by->parts, .count = count};
}

/* Adds a metric: its instances, and the node as a whole. */
static bool add_metric(struct rm_merge *merge, const struct rm_merge_input *input,
                       const struct by_metric *by, uint32_t metric)
{
    const resmon_column *head = &input->run->columns[by->first[metric]];
    bool is_added = true;
    if (head->level == RESMON_LEVEL_PROCESS && rule_of(head) == RM_RULE_NONE) {
        return true; /* a peak, which the list of ranks has */
    }
    struct devices devices = find_devices(input->run, by, metric);
    if (devices.count > 0) {
        uint32_t kind = kind_of(merge, &input->run->columns[devices.columns[0]], "");
        is_added = kind != UINT32_MAX && add_column(merge, input, 0, kind, &devices);
    }
    for (uint32_t i_1 = by->first[metric] + 1; i_1 > 0 && is_added; i_1 = by->next_1[i_1 - 1]) {
        const resmon_column *column = &input->run->columns[i_1 - 1];
        if (column->n > 0 && column->instance[0] != '\0') {
            is_added = add_one(merge, input, 0, i_1 - 1, column->instance);
        }
    }
    return is_added;
}

static bool add_columns_of_run(struct rm_merge *merge, const struct rm_merge_input *input)
{
    struct by_metric by;
    bool is_added = find_metrics(input->run, &by);
    for (uint32_t i = 0; i < by.metrics.count && is_added; i++) {
        is_added = add_metric(merge, input, &by, i);
    }
    forget_metrics(&by);
    return is_added;
}

/* ---- the columns of a merged run ------------------------------------------------------------- */

/* The node of a name; UINT32_MAX: none. */
static uint32_t node_of_name(const struct rm_merge_input *input, const struct rm_map *names,
                             const char *name, size_t length)
{
    struct rm_map_search search = {.hash = rm_hash_bytes(RM_HASH_START, name, length)};
    for (uint32_t i; rm_map_next(names, &search, &i);) {
        const char *own = input->nodes[i].name;
        if (strlen(own) == length && memcmp(own, name, length) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* Adds a column "NODE" or "INSTANCE[NODE]". */
static bool add_placed(struct rm_merge *merge, const struct rm_merge_input *input,
                       const struct rm_map *names, size_t index)
{
    const resmon_column *column = &input->run->columns[index];
    const char *text = column->instance, *open = strrchr(text, '[');
    size_t length = strlen(text);
    uint32_t node = node_of_name(input, names, text, length);
    if (node != UINT32_MAX) {
        return add_one(merge, input, node, index, "");
    }
    if (open != NULL && text[length - 1] == ']') {
        node = node_of_name(input, names, open + 1, (size_t)(text + length - open) - 2);
    }
    if (node == UINT32_MAX) {
        return true; /* of no node of this job: a changed document */
    }
    const char *instance = rm_arena_text(&merge->strings, text, (size_t)(open - text));
    return instance != NULL && add_one(merge, input, node, index, instance);
}

static bool add_columns_of_merged(struct rm_merge *merge, const struct rm_merge_input *input)
{
    struct rm_map names = {.slots = NULL};
    bool is_added = rm_map_reserve(&names, input->node_count);
    for (uint32_t i = 0; i < input->node_count && is_added; i++) {
        const char *name = input->nodes[i].name;
        rm_map_add(&names, rm_hash_bytes(RM_HASH_START, name, strlen(name)), i);
    }
    for (size_t i = 0; i < input->run->column_count && is_added; i++) {
        const resmon_column *column = &input->run->columns[i];
        is_added = column->level == RESMON_LEVEL_JOB || column->n == 0 ||
                   add_placed(merge, input, &names, i);
    }
    rm_map_free(&names);
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
            !widen_node(merge, &merge->nodes[input->places[i].node],
                        span_of(merge->width_ns, from_ns, from_ns + node->duration_ns))) {
            return false;
        }
    }
    return input->is_merged ? add_columns_of_merged(merge, input)
                            : add_columns_of_run(merge, input);
}
