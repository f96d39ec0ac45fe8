/* SPDX-License-Identifier: MIT */
#include "merge/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "merge/result.h"
#include "merge/speaker.h"
#include "run/headline.h"
#include "run/record.h"

#define MISSING "missing"

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the runs of a job");
}

void rm_merge_begin(struct rm_merge *merge)
{
    *merge = (struct rm_merge){.width_ns = RM_MERGE_WIDTH};
    rm_merge_metrics_list(&merge->metrics);
    rm_record_clear(RM_RECORD_run, &merge->info);
    rm_record_clear(RM_RECORD_overhead, &merge->info);
    rm_record_clear(RM_RECORD_dropped, &merge->info);
    rm_record_clear(RM_RECORD_usage, &merge->usage);
}

static void free_node(struct rm_merge_node *node)
{
    for (size_t i = 0; i < RM_MERGE_COLUMNS; i++) {
        rm_free(node->columns[i].cells);
    }
}

void rm_merge_free(struct rm_merge *merge)
{
    for (size_t i = 0; i < merge->node_count; i++) {
        free_node(&merge->nodes[i]);
    }
    rm_free(merge->nodes);
    rm_free(merge->ranks);
    rm_free(merge->walls);
    rm_free(merge->sources);
    rm_free(merge->machine);
    rm_free(merge->work);
    rm_merge_speaker_free(&merge->speaker);
    rm_scope_paths_free(&merge->paths);
    rm_arena_free(&merge->strings);
    *merge = (struct rm_merge){.width_ns = 0};
}

/* ---- a run as parts ------------------------------------------------------------------------- */

/* What is added: of a merged run its nodes and ranks, of another one of each. */
struct parts {
    const struct resmon_run *run;
    int64_t start_ns; /* since 1970, by the clock that was right by more */
    const resmon_run_node *nodes;
    size_t node_count;
    const resmon_run_rank *ranks;
    size_t rank_count;
    bool is_merged;
    uint32_t *node_of; /* by node: index of rm_merge.nodes */
    bool *is_host_of;  /* by node: its machine's figures are taken from here */
};

static double lesser_error(const struct resmon_run *run)
{
    return fmin(rm_run_fact_number(run, "run", RM_FACT_CLOCK_ERROR),
                rm_run_fact_number(run, "run", RM_FACT_END_CLOCK_ERROR));
}

/* Where the clock was set right while it ran, its start is told by what it became. */
static int64_t start_of(const struct resmon_run *run)
{
    double step = rm_run_fact_number(run, "run", RM_FACT_CLOCK_STEP);
    bool is_better = rm_run_fact_number(run, "run", RM_FACT_END_CLOCK_ERROR) <
                     rm_run_fact_number(run, "run", RM_FACT_CLOCK_ERROR);
    int64_t start_ns = run->info.start_realtime_ns;
    return is_better && fabs(step) < 1e18 ? start_ns + (int64_t)step : start_ns;
}

static int64_t whole(double number)
{
    return number >= 0.0 && number < 0x1p62 ? (int64_t)number : -1;
}

static resmon_run_node node_of_run(const struct resmon_run *run)
{
    bool is_of_host = rm_run_reports_host(run);
    const resmon_run_node node = {
        .struct_size = sizeof node,
        .name = rm_run_node_name(run),
        .state = run->info.state,
        .index = whole(rm_run_fact_number(run, "job", "node_index")),
        .duration_ns = run->info.duration_ns,
        .host_duration_ns = is_of_host ? run->info.duration_ns : -1,
        .clock_error_ns = lesser_error(run),
        .ranks = 1,
        .cpus = rm_run_fact_number(run, "machine", "cpus"),
        .memory_bytes = rm_run_fact_number(run, "machine", "memory_bytes"),
        .gpus = rm_run_fact_number(run, "machine", "gpus"),
        .cpu_model = rm_run_fact_text(run, "machine", "cpu_model"),
        .gpu_model = rm_run_fact_text(run, "machine", "gpu_model"),
        .kernel = rm_run_fact_text(run, "machine", "kernel"),
    };
    return node;
}

static resmon_run_rank rank_of_run(const struct resmon_run *run)
{
    const resmon_headline headline = rm_run_headline(run);
    const resmon_run_end end = rm_run_end(run);
    const resmon_run_rank rank = {
        .struct_size = sizeof rank,
        .rank = whole(rm_run_fact_number(run, "job", "rank")),
        .local_rank = whole(rm_run_fact_number(run, "job", "local_rank")),
        .pid = rm_run_pid(run),
        .name = rm_run_title(run),
        .state = run->info.state,
        .duration_ns = run->info.duration_ns,
        .cpu_s = headline.cpu_s,
        .cpu_user_s = headline.cpu_user_s,
        .cpu_system_s = headline.cpu_system_s,
        .rss_peak_bytes = headline.rss_peak_bytes,
        .rss_peak_provenance = headline.rss_peak_provenance,
        .read_bytes = headline.read_bytes,
        .write_bytes = headline.write_bytes,
        .energy_j = headline.energy_j,
        .reason = end.reason,
        .exit_status = end.exit_status,
        .signal_number = end.signal_number,
        .text = end.text,
    };
    return rank;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Texts are kept clean of what cannot be shown, as everywhere in a run. */
static bool own_text(struct rm_merge *merge, const char **text)
{
    *text = rm_arena_text(&merge->strings, *text, SIZE_MAX);
    return *text != NULL;
}

static bool own_node(struct rm_merge *merge, resmon_run_node *node)
{
    return own_text(merge, &node->name) && own_text(merge, &node->state) &&
           own_text(merge, &node->cpu_model) && own_text(merge, &node->gpu_model) &&
           own_text(merge, &node->kernel);
}

/* By a name as it is kept; UINT32_MAX: there is none. */
static uint32_t find_node(const struct rm_merge *merge, const char *name)
{
    for (size_t i = 0; i < merge->node_count; i++) {
        if (strcmp(merge->nodes[i].node.name, name) == 0) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

static bool new_node(struct rm_merge *merge, const resmon_run_node *from)
{
    struct rm_merge_node *nodes =
        rm_grow(merge->nodes, merge->node_count, &merge->node_room, sizeof *nodes);
    if (nodes == NULL) {
        return false;
    }
    merge->nodes = nodes;
    struct rm_merge_node *node = &nodes[merge->node_count];
    *node = (struct rm_merge_node){.node = *from};
    if (!own_node(merge, &node->node)) {
        return false;
    }
    merge->node_count++;
    return true;
}

static int badness(const char *state)
{
    static const char *const states[] = {MISSING, "stopped", "running", "interrupted"};
    int found = 0;
    for (int i = 0; i < (int)RM_ARRAY_LEN(states); i++) {
        found = strcmp(state, states[i]) == 0 ? i : found;
    }
    return found;
}

/* Of two runs that have the machine's figures, the longer one. */
static bool is_better_host(const resmon_run_node *node, const resmon_run_node *other)
{
    return node->host_duration_ns != other->host_duration_ns
               ? node->host_duration_ns > other->host_duration_ns
               : node->host_duration_ns >= 0 && node->host_start_ns < other->host_start_ns;
}

/* Those of the machine, which are taken anew. */
static void forget_host(struct rm_merge *merge, struct rm_merge_node *node)
{
    for (size_t i = 0; i < merge->metrics.count; i++) {
        if (merge->metrics.rows[i].is_of_host) {
            rm_free(node->columns[i].cells);
            node->columns[i] = (struct rm_merge_column){.parts = 0};
        }
    }
}

static void take_span(resmon_run_node *node, const resmon_run_node *more)
{
    int64_t end_ns = more->start_ns + more->duration_ns;
    if (more->duration_ns < 0) {
        return;
    }
    if (node->duration_ns >= 0) {
        int64_t own_end_ns = node->start_ns + node->duration_ns;
        end_ns = end_ns > own_end_ns ? end_ns : own_end_ns;
        node->start_ns = node->start_ns < more->start_ns ? node->start_ns : more->start_ns;
    } else {
        node->start_ns = more->start_ns;
    }
    node->duration_ns = end_ns - node->start_ns;
}

static void take_known(double *number, double other)
{
    *number = isnan(*number) ? other : *number;
}

static bool take_text(struct rm_merge *merge, const char **text, const char *other)
{
    if ((*text)[0] == '\0' && other[0] != '\0') {
        *text = other;
        return own_text(merge, text);
    }
    return true;
}

/* What a run says of a node that others have spoken of; all but its machine's figures. */
static bool take_node(struct rm_merge *merge, resmon_run_node *node, const resmon_run_node *more)
{
    take_span(node, more);
    node->index = node->index < 0 ? more->index : node->index;
    node->ranks += more->ranks;
    node->clock_error_ns = fmax(node->clock_error_ns, more->clock_error_ns);
    take_known(&node->cpus, more->cpus);
    take_known(&node->memory_bytes, more->memory_bytes);
    take_known(&node->gpus, more->gpus);
    if (badness(more->state) > badness(node->state)) {
        node->state = more->state;
        if (!own_text(merge, &node->state)) {
            return false;
        }
    }
    return take_text(merge, &node->cpu_model, more->cpu_model) &&
           take_text(merge, &node->gpu_model, more->gpu_model) &&
           take_text(merge, &node->kernel, more->kernel);
}

static resmon_run_node unknown_node(const char *name)
{
    resmon_run_node node;
    rm_record_clear(RM_RECORD_node, &node);
    node.name = name;
    node.state = MISSING;
    node.index = -1;
    node.duration_ns = -1;
    node.host_duration_ns = -1;
    return node;
}

/* The node of this name, which is missing until something is known of it; UINT32_MAX: no memory. */
static uint32_t node_named(struct rm_merge *merge, const char *name)
{
    if (!own_text(merge, &name)) {
        return UINT32_MAX;
    }
    uint32_t found = find_node(merge, name);
    const resmon_run_node node = unknown_node(name);
    return found != UINT32_MAX || !new_node(merge, &node) ? found : (uint32_t)merge->node_count - 1;
}

resmon_status rm_merge_expect(struct rm_merge *merge, const char *name)
{
    return node_named(merge, name) != UINT32_MAX ? RESMON_OK : out_of_memory();
}

static bool add_node(struct rm_merge *merge, struct parts *parts, size_t i)
{
    resmon_run_node more = parts->nodes[i];
    parts->node_of[i] = node_named(merge, more.name);
    if (parts->node_of[i] == UINT32_MAX) {
        return false;
    }
    more.start_ns += parts->start_ns;
    more.host_start_ns += parts->start_ns;
    struct rm_merge_node *node = &merge->nodes[parts->node_of[i]];
    parts->is_host_of[i] = is_better_host(&more, &node->node);
    if (parts->is_host_of[i]) {
        forget_host(merge, node);
        node->node.host_start_ns = more.host_start_ns;
        node->node.host_duration_ns = more.host_duration_ns;
    }
    return take_node(merge, &node->node, &more);
}

/* ---- cells ---------------------------------------------------------------------------------- */

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

/* Room for cells from one time to another. */
static void fit(struct rm_merge *merge, int64_t from_ns, int64_t to_ns)
{
    struct rm_grid_span span = rm_grid_span_of(merge->width_ns, from_ns, to_ns);
    merge->span = merge->span.count > 0 ? rm_grid_span_around(merge->span, span) : span;
    while (is_too_fine(merge)) {
        halve(merge);
    }
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

/* The parts of a column are at one time; lowest and highest are those of an only one. */
static void add_cells(const struct rm_merge_node *node, struct rm_merge_column *column,
                      const struct rm_grid_cell *more, struct rm_grid_span span)
{
    for (size_t i = 0; i < span.count; i++) {
        struct rm_grid_cell *cell = &column->cells[(size_t)(span.first - node->span.first) + i];
        cell->sum += more[i].sum;
        cell->seconds += more[i].seconds;
        cell->low = more[i].low;
        cell->high = more[i].high;
    }
}

/* A metric of a run, or of a node of a merged one. */
static bool add_column(struct rm_merge *merge, const struct parts *parts, size_t node_index,
                       size_t metric_index, const struct rm_merge_devices *devices)
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
    if (column->parts == 0 && !own_text(merge, &statistics.source)) {
        return false;
    }
    rm_merge_statistics_add(column, &statistics, metric->is_of_host ? 1 : from->ranks);
    return true;
}

static bool add_columns_of_run(struct rm_merge *merge, const struct parts *parts)
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
static bool place_column(const struct rm_merge *merge, const struct parts *parts,
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

static bool add_columns_of_merged(struct rm_merge *merge, const struct parts *parts)
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
static int64_t width_of_rows(const struct parts *parts)
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

static bool add_columns(struct rm_merge *merge, const struct parts *parts)
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

/* ---- ranks and their scopes ----------------------------------------------------------------- */

/* A rank of a node of this name, as it is kept. */
static bool is_there(const struct rm_merge *merge, const struct parts *parts,
                     const resmon_run_rank *rank, const char *node)
{
    for (size_t i = 0; i < merge->rank_count; i++) {
        const resmon_run_rank *other = &merge->ranks[i].rank;
        if (other->rank == rank->rank && other->pid == rank->pid &&
            other->start_ns == parts->start_ns + rank->start_ns &&
            strcmp(merge->nodes[other->node].node.name, node) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_time(int64_t start_ns, int64_t duration_ns)
{
    return start_ns > -RM_MERGE_LONGEST && start_ns < RM_MERGE_LONGEST && duration_ns >= -1 &&
           duration_ns < RM_MERGE_LONGEST;
}

/* With which can be reckoned: up to the year 2116, and 36 years. */
static resmon_status check_times(const struct parts *parts)
{
    bool is_well = parts->start_ns >= 0 && parts->start_ns < INT64_MAX / 2;
    for (size_t i = 0; i < parts->node_count; i++) {
        const resmon_run_node *node = &parts->nodes[i];
        is_well &= is_time(node->start_ns, node->duration_ns) &&
                   is_time(node->host_start_ns, node->host_duration_ns);
    }
    for (size_t i = 0; i < parts->rank_count; i++) {
        is_well &= is_time(parts->ranks[i].start_ns, parts->ranks[i].duration_ns);
    }
    return is_well ? RESMON_OK : rm_error(RESMON_EFORMAT, "its times are out of all bounds");
}

static resmon_status check_ranks(struct rm_merge *merge, const struct parts *parts)
{
    for (size_t i = 0; i < parts->rank_count; i++) {
        const resmon_run_rank *rank = &parts->ranks[i];
        if (rank->node < 0 || (size_t)rank->node >= parts->node_count) {
            return rm_error(RESMON_EFORMAT, "a rank of the merged run is on none of its nodes");
        }
        const char *node = parts->nodes[rank->node].name;
        if (!own_text(merge, &node)) {
            return out_of_memory();
        }
        if (is_there(merge, parts, rank, node)) {
            return rm_error(RESMON_EINVAL,
                            "process %" PRId64 " of %s (rank %" PRId64 ") is there already",
                            rank->pid, node, rank->rank);
        }
    }
    return RESMON_OK;
}

static bool add_rank(struct rm_merge *merge, const struct parts *parts, const resmon_run_rank *from)
{
    struct rm_merge_rank *ranks =
        rm_grow(merge->ranks, merge->rank_count, &merge->rank_room, sizeof *ranks);
    if (ranks == NULL) {
        return false;
    }
    merge->ranks = ranks;
    resmon_run_rank *rank = &ranks[merge->rank_count].rank;
    *rank = *from;
    rank->node = parts->node_of[from->node];
    rank->start_ns += parts->start_ns;
    if (!own_text(merge, &rank->name) || !own_text(merge, &rank->state) ||
        !own_text(merge, &rank->text)) {
        return false;
    }
    merge->rank_count++;
    return true;
}

static bool add_wall(struct rm_merge *merge, uint32_t path, size_t rank, double wall_ns)
{
    struct rm_merge_wall *walls =
        rm_grow(merge->walls, merge->wall_count, &merge->wall_room, sizeof *walls);
    if (walls == NULL) {
        return false;
    }
    merge->walls = walls;
    walls[merge->wall_count++] = (struct rm_merge_wall){path, (uint32_t)rank, wall_ns};
    return true;
}

/* The ranks of the parts are the last ones that were added. */
static bool add_scopes(struct rm_merge *merge, const struct parts *parts)
{
    const struct resmon_run *run = parts->run;
    size_t first = merge->rank_count - parts->rank_count;
    if (!rm_scope_paths_add(&merge->paths, run, parts->ranks[0].rank)) {
        return false;
    }
    for (size_t s = 0; s < run->scope_count; s++) {
        const resmon_run_scope *scope = &run->scopes[s];
        double own = scope->wall_ns + scope->open_ns;
        const double *walls = parts->is_merged ? rm_run_rank_walls(run, s) : &own;
        for (size_t r = 0; r < parts->rank_count; r++) {
            if (!isnan(walls[r]) &&
                !add_wall(merge, merge->paths.path_of[s], first + r, walls[r])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool add_parts(struct rm_merge *merge, struct parts *parts)
{
    bool is_added = true;
    for (size_t i = 0; i < parts->node_count && is_added; i++) {
        is_added = add_node(merge, parts, i);
    }
    is_added = is_added && add_columns(merge, parts);
    for (size_t i = 0; i < parts->rank_count && is_added; i++) {
        is_added = add_rank(merge, parts, &parts->ranks[i]);
    }
    return is_added && (parts->rank_count == 0 || add_scopes(merge, parts)) &&
           rm_merge_speaker_hear(merge, parts->run, parts->start_ns,
                                 parts->rank_count > 0 ? &parts->ranks[0] : NULL);
}

resmon_status rm_merge_add(struct rm_merge *merge, const struct resmon_run *run)
{
    const resmon_run_node node = node_of_run(run);
    const resmon_run_rank rank = rank_of_run(run);
    struct parts parts = {.run = run,
                          .start_ns = start_of(run),
                          .nodes = &node,
                          .node_count = 1,
                          .ranks = &rank,
                          .rank_count = 1,
                          .is_merged = run->node_count > 0};
    if (parts.is_merged) {
        parts.nodes = run->nodes;
        parts.node_count = run->node_count;
        parts.ranks = run->ranks;
        parts.rank_count = run->rank_count;
    }
    resmon_status status = rm_merge_speaker_check(merge, run);
    status = status == RESMON_OK ? check_times(&parts) : status;
    status = status == RESMON_OK ? check_ranks(merge, &parts) : status;
    if (status != RESMON_OK) {
        return status;
    }
    parts.node_of = rm_alloc(parts.node_count, sizeof *parts.node_of);
    parts.is_host_of = rm_alloc(parts.node_count, sizeof *parts.is_host_of);
    bool is_added = parts.node_of != NULL && parts.is_host_of != NULL && add_parts(merge, &parts);
    rm_free(parts.node_of);
    rm_free(parts.is_host_of);
    return is_added ? RESMON_OK : out_of_memory();
}

resmon_status rm_merge_make(struct rm_merge *merge, struct resmon_run **ret_run)
{
    if (merge->rank_count == 0) {
        return rm_error(RESMON_ESTATE, "there is no run to merge");
    }
    while (is_too_fine(merge)) {
        halve(merge);
    }
    struct resmon_run *run = rm_run_new();
    if (run == NULL || !rm_merge_fill(merge, run)) {
        rm_run_free(run);
        return out_of_memory();
    }
    *ret_run = run;
    return RESMON_OK;
}
