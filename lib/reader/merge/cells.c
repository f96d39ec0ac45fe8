/* SPDX-License-Identifier: MIT */
/* The cells of a merge: as many and as wide as its nodes and rows need, and what columns put there.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "merge/parts.h"

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

/* Room for cells from one time to another. */
static void fit(struct rm_merge *merge, int64_t from_ns, int64_t to_ns)
{
    struct rm_grid_span span = rm_grid_span_of(merge->width_ns, from_ns, to_ns);
    merge->span = merge->span.count > 0 ? rm_grid_span_around(merge->span, span) : span;
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
    struct rm_grid_span span = node->span.count > 0 ? rm_grid_span_around(node->span, more) : more;
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

/* Cells to work in, empty. */
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

/* Lowest and highest are those of an only part, or of parts after each other. */
static void add_cells(const struct rm_merge_node *node, struct rm_merge_column *column,
                      const struct rm_grid_cell *more, struct rm_grid_span span)
{
    for (size_t i = 0; i < span.count; i++) {
        struct rm_grid_cell *cell = &column->cells[(size_t)(span.first - node->span.first) + i];
        cell->sum += more[i].sum;
        cell->seconds += more[i].seconds;
        cell->low = fmin(cell->low, more[i].low);
        cell->high = fmax(cell->high, more[i].high);
    }
}

/* A metric of a run, or of a node of a merged one. */
static bool add_column(struct rm_merge *merge, const struct rm_merge_parts *parts,
                       size_t node_index, size_t metric_index,
                       const struct rm_merge_devices *devices)
{
    const struct rm_merge_metric *metric = &merge->metrics.rows[metric_index];
    const resmon_run_node *from = &parts->nodes[node_index];
    struct rm_merge_node *node = &merge->nodes[parts->node_of[node_index]];
    struct rm_merge_column *column = &node->columns[metric_index];
    bool is_host = metric->is_of_host && parts->is_merged;
    int64_t start_ns = parts->start_ns + (is_host ? from->host_start_ns : from->start_ns);
    int64_t end_ns = start_ns + (is_host ? from->host_duration_ns : from->duration_ns);
    struct rm_merge_rows rows = {
        .run = parts->run,
        .start_ns = parts->start_ns,
        .from_ns = start_ns,
        .to_ns = end_ns,
        .is_merged = parts->is_merged,
        .width_ns = merge->width_ns,
        .span = rm_grid_span_of(merge->width_ns, start_ns, end_ns),
    };
    struct rm_grid_cell *cells = work_cells(merge, rows.span.count);
    if (cells == NULL || (column->cells == NULL && !widen_column(column, node->span, node->span))) {
        return false;
    }
    rm_merge_rows_add(metric, &rows, devices, cells);
    add_cells(node, column, cells, rows.span);
    resmon_column statistics = rm_merge_statistics_of(metric, parts->run, devices);
    if (column->parts == 0 && !rm_merge_own_text(merge, &statistics.source)) {
        return false;
    }
    if (metric->is_of_host) {
        rm_merge_statistics_follow(column, &statistics, parts->order[node_index]);
    } else {
        rm_merge_statistics_add(column, &statistics, from->ranks);
    }
    return true;
}

static bool add_columns_of_run(struct rm_merge *merge, const struct rm_merge_parts *parts)
{
    bool is_added = true;
    for (size_t i = 0; i < merge->metrics.count && is_added; i++) {
        const struct rm_merge_metric *metric = &merge->metrics.rows[i];
        struct rm_merge_devices devices;
        rm_merge_devices_find(metric, parts->run, &devices);
        if (devices.count > 0 && (!metric->is_of_host || parts->is_host_of[0])) {
            is_added = add_column(merge, parts, 0, i, &devices);
        }
    }
    return is_added;
}

/* Indexes of what a column of a merged run is of; false: of all nodes, or of something unknown. */
static bool place_column(const struct rm_merge *merge, const struct rm_merge_parts *parts,
                         const resmon_column *column, size_t *ret_node, size_t *ret_metric)
{
    size_t node = 0, metric = 0;
    while (node < parts->node_count && strcmp(parts->nodes[node].name, column->instance) != 0) {
        node++;
    }
    while (metric < merge->metrics.count &&
           strcmp(merge->metrics.rows[metric].name, column->metric) != 0) {
        metric++;
    }
    *ret_node = node;
    *ret_metric = metric;
    return column->level != RESMON_LEVEL_JOB && column->n > 0 && node < parts->node_count &&
           metric < merge->metrics.count;
}

static bool add_columns_of_merged(struct rm_merge *merge, const struct rm_merge_parts *parts)
{
    bool is_added = true;
    for (size_t i = 0; i < parts->run->column_count && is_added; i++) {
        const resmon_column *column = &parts->run->columns[i];
        const struct rm_merge_devices devices = {.columns = {i}, .count = 1};
        size_t node, metric;
        if (place_column(merge, parts, column, &node, &metric) &&
            (!merge->metrics.rows[metric].is_of_host || parts->is_host_of[node])) {
            is_added = add_column(merge, parts, node, metric, &devices);
        }
    }
    return is_added;
}

/* Cells as wide as the rows of the run are, at least. */
static int64_t width_of_rows(const struct rm_merge_parts *parts)
{
    const struct resmon_run *run = parts->run;
    double ms = parts->is_merged
                    ? rm_run_fact_number(run, "settings", RM_FACT_MERGED_INTERVAL)
                    : rm_run_fact_number(run, "settings", "interval_ms") * (double)run->info.stride;
    int64_t width_ns = RM_MERGE_WIDTH;
    while (ms < 1e12 && (double)width_ns < ms * 1e6) {
        width_ns *= 2;
    }
    return width_ns;
}

bool rm_merge_cells_add(struct rm_merge *merge, const struct rm_merge_parts *parts)
{
    int64_t width_ns = width_of_rows(parts);
    merge->least_width_ns = width_ns > merge->least_width_ns ? width_ns : merge->least_width_ns;
    for (size_t i = 0; i < parts->node_count; i++) {
        const resmon_run_node *node = &parts->nodes[i];
        int64_t from_ns = parts->start_ns + node->start_ns;
        if (node->duration_ns >= 0) {
            fit(merge, from_ns, from_ns + node->duration_ns);
        }
    }
    for (size_t i = 0; i < parts->node_count; i++) {
        const resmon_run_node *node = &parts->nodes[i];
        int64_t from_ns = parts->start_ns + node->start_ns;
        if (node->duration_ns >= 0 &&
            !widen_node(merge, &merge->nodes[parts->node_of[i]],
                        rm_grid_span_of(merge->width_ns, from_ns, from_ns + node->duration_ns))) {
            return false;
        }
    }
    return parts->is_merged ? add_columns_of_merged(merge, parts)
                            : add_columns_of_run(merge, parts);
}
