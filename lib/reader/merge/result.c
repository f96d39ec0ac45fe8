/* SPDX-License-Identifier: MIT */
#include "merge/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "merge/job_use.h"
#include "run/record.h"
#include "run/scope_sums.h"
#include "store/bucket.h"

/* ---- the column of a metric for all nodes ---------------------------------------------------- */

/* The column of all nodes, and the columns of each node. */
struct rm_merge_whole {
    struct resmon_run *run;
    const struct rm_merge_kind *kind;
    const double *weights; /* weight of each node in a mean of shares */
    size_t column;
    size_t nodes; /* nodes that have the metric */
};

static double *series_of(const struct rm_merge_whole *whole, size_t node, int kind)
{
    return rm_run_series(whole->run, whole->column + 1 + node, kind);
}

static double *own_series(const struct rm_merge_whole *whole, int kind)
{
    return rm_run_series(whole->run, whole->column, kind);
}

/* The factor of a node in a sum: 1, or for shares its part of all weights. */
static double part_of(const struct rm_merge_whole *whole, size_t node)
{
    double all = 0.0;
    for (size_t i = 0; i < whole->nodes; i++) {
        all += whole->weights[i];
    }
    return rm_merge_kind_is_mean(whole->kind) ? whole->weights[node] / all : 1.0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Of the nodes with a value in the row. */
static void fill_row(const struct rm_merge_whole *whole, size_t row)
{
    double sum = 0.0, weights = 0.0, low = RM_NAN, high = RM_NAN;
    bool is_share = rm_merge_kind_is_mean(whole->kind);
    for (size_t i = 0; i < whole->nodes; i++) {
        double mean = series_of(whole, i, RESMON_SERIES_MEAN)[row];
        if (!isnan(mean)) {
            sum += is_share ? whole->weights[i] * mean : mean;
            weights += whole->weights[i];
            low = rm_lesser(series_of(whole, i, RESMON_SERIES_MIN)[row], low);
            high = rm_greater(series_of(whole, i, RESMON_SERIES_MAX)[row], high);
        }
    }
    if (weights > 0.0) {
        own_series(whole, RESMON_SERIES_MEAN)[row] = is_share ? sum / weights : sum;
    }
    if (weights > 0.0 && is_share) { /* readings of nodes do not give the extremes of a sum */
        own_series(whole, RESMON_SERIES_MIN)[row] = low;
        own_series(whole, RESMON_SERIES_MAX)[row] = high;
    }
}

/* Growth until each row; nodes that have ended count with their whole growth. */
static void fill_growth(const struct rm_merge_whole *whole)
{
    double *sums = own_series(whole, RESMON_SERIES_LAST);
    for (size_t i = 0; i < whole->nodes; i++) {
        const double *growths = series_of(whole, i, RESMON_SERIES_LAST);
        double part = part_of(whole, i), growth = 0.0;
        for (size_t row = 0; row < whole->run->row_count; row++) {
            growth = isnan(growths[row]) ? growth : growths[row];
            sums[row] = (isnan(sums[row]) ? 0.0 : sums[row]) + part * growth;
        }
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* If readings do not give the lowest and highest value of a column, its rows do. */
static void rm_merge_column_settle(const struct resmon_run *run, size_t index)
{
    resmon_column *column = &run->columns[index];
    const double *means = rm_run_series(run, index, RESMON_SERIES_MEAN);
    column->min = column->max = RM_NAN;
    for (size_t i = 0; i < run->row_count; i++) {
        column->min = rm_lesser(means[i], column->min);
        column->max = rm_greater(means[i], column->max);
    }
}

/* A mean over the time that each node has it for. */
static void settle_share(const struct rm_merge_whole *whole, resmon_column *column)
{
    double sum = 0.0, times = 0.0;
    column->min = column->max = RM_NAN;
    for (size_t i = 0; i < whole->nodes; i++) {
        const resmon_column *node = &whole->run->columns[whole->column + 1 + i];
        double time = whole->weights[i] * rm_greater(node->duration_s, 1e-9);
        sum += time * node->mean;
        times += time;
        column->min = rm_lesser(node->min, column->min);
        column->max = rm_greater(node->max, column->max);
    }
    column->mean = sum / times;
}

static void settle(const struct rm_merge_whole *whole)
{
    resmon_column *column = &whole->run->columns[whole->column];
    rm_record_clear(RM_RECORD_statistics, column);
    column->first = column->last = column->integral = 0.0;
    column->duration_s = (double)whole->run->info.duration_ns / 1e9;
    for (size_t i = 0; i < whole->nodes; i++) {
        const resmon_column *node = &whole->run->columns[whole->column + 1 + i];
        double part = part_of(whole, i);
        column->n += node->n;
        column->first += part * node->first;
        column->last += part * node->last;
        column->integral += part * node->integral;
    }
    if (rm_merge_kind_is_mean(whole->kind)) {
        settle_share(whole, column);
    } else {
        column->mean =
            column->duration_s > 0.0 ? column->integral / column->duration_s : column->last;
        rm_merge_column_settle(whole->run, whole->column);
    }
}

/* Fills its rows and statistics. */
static void rm_merge_column_fill(const struct rm_merge_whole *whole)
{
    for (size_t row = 0; row < whole->run->row_count; row++) {
        fill_row(whole, row);
    }
    if (whole->kind->is_counter) {
        fill_growth(whole);
    } else {
        memcpy(own_series(whole, RESMON_SERIES_LAST), own_series(whole, RESMON_SERIES_MEAN),
               whole->run->row_count * sizeof(double));
    }
    settle(whole);
}

/* The run while it is filled.  A failed allocation sticks in the arenas of the run. */
struct making {
    struct rm_merge *merge;
    struct resmon_run *run;
    int64_t start_ns, end_ns; /* since 1970 */
    uint32_t *nodes;          /* in their order: indexes of rm_merge.nodes */
    uint32_t *ranks;
    uint32_t *place_of_node; /* by index of rm_merge.nodes: index in the run */
    uint32_t *place_of_rank;
};

static const char *copy(struct resmon_run *run, const char *text)
{
    return rm_arena_keep(&run->strings, text, SIZE_MAX);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* qsort() passes no context to the comparison, so pointers are sorted instead of indexes. */
static int compare_nodes(const void *left, const void *right)
{
    const struct rm_merge_node *const *a = left, *const *b = right;
    int64_t of_a = (*a)->node.index, of_b = (*b)->node.index;
    if (of_a != of_b && of_a >= 0 && of_b >= 0) {
        return of_a < of_b ? -1 : 1;
    }
    return (of_a < 0) != (of_b < 0) ? (of_a < 0 ? 1 : -1)
                                    : strcmp((*a)->node.name, (*b)->node.name);
}

static int compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

struct ranked {
    const resmon_run_rank *rank;
    uint32_t node_place, index;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int64_t of_a = a->rank->rank >= 0 ? a->rank->rank : INT64_MAX;
    int64_t of_b = b->rank->rank >= 0 ? b->rank->rank : INT64_MAX;
    int order = compare_numbers(of_a, of_b);
    order = order != 0 ? order : compare_numbers(a->rank->start_ns, b->rank->start_ns);
    order = order != 0 ? order : compare_numbers(a->node_place, b->node_place);
    return order != 0 ? order : compare_numbers(a->rank->pid, b->rank->pid);
}

static void sort_nodes(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct rm_arena *working = &making->run->working;
    const struct rm_merge_node **sorted =
        rm_arena_alloc(working, merge->node_count, sizeof(const struct rm_merge_node *));
    making->nodes = rm_arena_alloc(working, merge->node_count, sizeof *making->nodes);
    making->place_of_node =
        rm_arena_alloc(working, merge->node_count, sizeof *making->place_of_node);
    if (working->is_broken) {
        return;
    }
    for (size_t i = 0; i < merge->node_count; i++) {
        sorted[i] = &merge->nodes[i];
    }
    qsort(sorted, merge->node_count, sizeof(const struct rm_merge_node *), compare_nodes);
    for (size_t i = 0; i < merge->node_count; i++) {
        making->nodes[i] = (uint32_t)(sorted[i] - merge->nodes);
        making->place_of_node[making->nodes[i]] = (uint32_t)i;
    }
}

static void sort_ranks(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct rm_arena *working = &making->run->working;
    size_t count = merge->rank_count;
    struct ranked *sorted = rm_arena_alloc(working, count, sizeof *sorted);
    making->ranks = rm_arena_alloc(working, count, sizeof *making->ranks);
    making->place_of_rank = rm_arena_alloc(working, count, sizeof *making->place_of_rank);
    if (working->is_broken) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const resmon_run_rank *rank = &merge->ranks[i];
        sorted[i] = (struct ranked){rank, making->place_of_node[rank->node], (uint32_t)i};
    }
    qsort(sorted, count, sizeof *sorted, compare_ranks);
    for (size_t i = 0; i < count; i++) {
        making->ranks[i] = sorted[i].index;
        making->place_of_rank[sorted[i].index] = (uint32_t)i;
    }
}

/* ---- nodes and ranks ------------------------------------------------------------------------ */

static void find_times(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    making->start_ns = INT64_MAX;
    making->end_ns = INT64_MIN;
    for (size_t i = 0; i < merge->node_count; i++) {
        const resmon_run_node *node = &merge->nodes[i].node;
        if (node->duration_ns >= 0) {
            int64_t end_ns = node->start_ns + node->duration_ns;
            making->start_ns =
                node->start_ns < making->start_ns ? node->start_ns : making->start_ns;
            making->end_ns = end_ns > making->end_ns ? end_ns : making->end_ns;
        }
    }
}

static void put_node(struct making *making, const resmon_run_node *from)
{
    struct resmon_run *run = making->run;
    resmon_run_node *node = &run->nodes[run->node_count++];
    *node = *from;
    node->start_ns = from->duration_ns >= 0 ? from->start_ns - making->start_ns : 0;
    node->host_start_ns = from->host_duration_ns >= 0 ? from->host_start_ns - making->start_ns : 0;
    node->name = copy(run, from->name);
    node->state = copy(run, from->state);
    node->cpu_model = copy(run, from->cpu_model);
    node->gpu_model = copy(run, from->gpu_model);
    node->kernel = copy(run, from->kernel);
}

static void put_rank(struct making *making, const resmon_run_rank *from)
{
    struct resmon_run *run = making->run;
    resmon_run_rank *rank = &run->ranks[run->rank_count++];
    *rank = *from;
    rank->node = making->place_of_node[from->node];
    rank->start_ns = from->start_ns - making->start_ns;
    rank->name = copy(run, from->name);
    rank->state = copy(run, from->state);
    rank->text = copy(run, from->text);
}

static void put_nodes_and_ranks(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    run->nodes = rm_arena_alloc(&run->strings, merge->node_count, sizeof *run->nodes);
    run->ranks = rm_arena_alloc(&run->strings, merge->rank_count, sizeof *run->ranks);
    for (size_t i = 0; i < merge->node_count && run->nodes != NULL; i++) {
        put_node(making, &merge->nodes[making->nodes[i]].node);
    }
    for (size_t i = 0; i < merge->rank_count && run->ranks != NULL; i++) {
        put_rank(making, &merge->ranks[making->ranks[i]]);
    }
}

/* ---- the run as a whole --------------------------------------------------------------------- */

static const char *state_of(const struct resmon_run *run)
{
    const char *state = "stopped";
    for (size_t i = 0; i < run->rank_count; i++) {
        const char *own = run->ranks[i].state;
        if (strcmp(own, "interrupted") == 0) {
            return own;
        }
        state = strcmp(own, "running") == 0 ? own : state;
    }
    return state;
}

bool rm_merge_is_worse(int32_t reason, int32_t other)
{
    static const int32_t badness[] = {
        [RESMON_END_FINISHED] = 0,    [RESMON_END_RUNNING] = 1, [RESMON_END_UNKNOWN] = 2,
        [RESMON_END_INTERRUPTED] = 3, [RESMON_END_FAILED] = 4,  [RESMON_END_KILLED] = 5,
    };
    const int32_t reasons[] = {reason, other};
    int32_t bad[] = {-1, -1};
    for (size_t i = 0; i < RM_ARRAY_LEN(bad); i++) {
        if (reasons[i] >= 0 && (size_t)reasons[i] < RM_ARRAY_LEN(badness)) {
            bad[i] = badness[reasons[i]];
        }
    }
    return bad[0] > bad[1];
}

/* The worst end of all ranks, from the lowest rank with that end; or the end of the machines, if it
 * is worse. */
static resmon_run_end end_of(const struct rm_merge *merge, struct resmon_run *run)
{
    const resmon_run_rank *worst = run->rank_count > 0 ? &run->ranks[0] : NULL;
    for (size_t i = 1; i < run->rank_count; i++) {
        if (rm_merge_is_worse(run->ranks[i].reason, worst->reason)) {
            worst = &run->ranks[i];
        }
    }
    resmon_run_end end = {.struct_size = sizeof end, .text = ""};
    bool is_of_machines = merge->end.reason > RESMON_END_UNKNOWN &&
                          (worst == NULL || rm_merge_is_worse(merge->end.reason, worst->reason));
    if (is_of_machines) {
        end = merge->end;
        end.text = copy(run, end.text);
    } else if (worst != NULL) {
        end.reason = worst->reason;
        end.exit_status = worst->exit_status;
        end.signal_number = worst->signal_number;
        end.text = worst->text;
    }
    return end;
}

static void put_info(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    run->info = merge->info;
    run->info.struct_size = sizeof run->info;
    run->info.state = state_of(run);
    run->info.label = copy(run, merge->lowest.label);
    run->info.start_realtime_ns = making->start_ns;
    run->info.duration_ns = making->end_ns - making->start_ns;
    run->info.stride = 1;
    run->info.halvings = 0;
    rm_run_sum_costs(&run->info);
    run->end = end_of(merge, run);
    if (merge->usages == merge->rank_count) {
        run->usage = merge->usage;
        run->usage.struct_size = sizeof run->usage;
    }
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void put_fact(struct resmon_run *run, const struct rm_fact *from)
{
    run->facts[run->fact_count++] = (struct rm_fact){.group = copy(run, from->group),
                                                     .key = copy(run, from->key),
                                                     .value = copy(run, from->value),
                                                     .kind = from->kind};
}

static void put_number(struct resmon_run *run, const char *group, const char *key, double number)
{
    char text[RM_FACT_NUMBER_BYTES];
    if (!isnan(number) && fabs(number) < RM_FACT_NUMBER_LIMIT) {
        rm_facts_print_number(number, text);
        put_fact(run, &(struct rm_fact){group, key, text, RM_FACT_NUMBER});
    }
}

/* Sum of a member over the nodes on which it is known. */
static double sum_over_nodes(const struct resmon_run *run, size_t offset)
{
    double sum = RM_NAN, value;
    for (size_t i = 0; i < run->node_count; i++) {
        memcpy(&value, (const char *)&run->nodes[i] + offset, sizeof value);
        sum = isnan(value) ? sum : isnan(sum) ? value : sum + value;
    }
    return sum;
}

/* The name of the only node; of several nodes, their number. */
static void put_host_name(struct resmon_run *run)
{
    char text[32];
    const char *name = text;
    (void)snprintf(text, sizeof text, "%zu nodes", run->node_count);
    if (run->node_count == 1) {
        name = run->nodes[0].name;
    }
    put_fact(run, &(struct rm_fact){"machine", "host_name", name, RM_FACT_TEXT});
}

static void put_facts(struct making *making)
{
    enum { MORE = 6 };
    const struct rm_merge *merge = making->merge;
    const struct rm_merge_lowest *lowest = &merge->lowest;
    struct resmon_run *run = making->run;
    size_t count = lowest->facts.count + merge->machine.count + MORE;
    run->facts = rm_arena_alloc(&run->strings, count, sizeof *run->facts);
    if (run->facts == NULL) {
        return;
    }
    for (size_t i = 0; i < lowest->facts.count; i++) {
        put_fact(run, &lowest->facts.at[i]);
    }
    for (size_t i = 0; i < merge->machine.count; i++) {
        put_fact(run, &merge->machine.at[i]);
    }
    put_host_name(run);
    put_number(run, "machine", "cpus", sum_over_nodes(run, offsetof(resmon_run_node, cpus)));
    put_number(run, "machine", "memory_bytes",
               sum_over_nodes(run, offsetof(resmon_run_node, memory_bytes)));
    put_number(run, "machine", "gpus", sum_over_nodes(run, offsetof(resmon_run_node, gpus)));
    put_number(run, "settings", RM_FACT_MERGED_INTERVAL, (double)merge->width_ns / 1e6);
    put_number(run, "settings", RM_FACT_MERGED_COLUMNS,
               merge->is_coarse ? (double)merge->column_count : RM_NAN);
}

static void put_sources(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    run->sources = rm_arena_alloc(&run->strings, merge->source_count, sizeof *run->sources);
    run->source_count = run->sources != NULL ? merge->source_count : 0;
    for (size_t i = 0; i < run->source_count; i++) {
        run->sources[i] = merge->sources[i];
        run->sources[i].name = copy(run, merge->sources[i].name);
        run->sources[i].reason = copy(run, merge->sources[i].reason);
    }
}

static void put_tags(struct making *making)
{
    const struct rm_merge_lowest *lowest = &making->merge->lowest;
    struct resmon_run *run = making->run;
    run->tags = rm_arena_alloc(&run->strings, lowest->tag_count, sizeof *run->tags);
    run->tag_count = run->tags != NULL ? lowest->tag_count : 0;
    for (size_t i = 0; i < run->tag_count; i++) {
        run->tags[i] = lowest->tags[i];
        run->tags[i].t_ns -= making->start_ns;
        run->tags[i].label = copy(run, lowest->tags[i].label);
    }
}

/* ---- scopes --------------------------------------------------------------------------------- */

static bool put_scopes(struct making *making)
{
    struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    if (rm_run_is_broken(run) || !rm_run_paths_put(&merge->paths, run)) {
        return false;
    }
    size_t count = run->scope_count * run->rank_count;
    run->rank_walls = rm_arena_alloc(&run->strings, count, sizeof *run->rank_walls);
    if (run->rank_walls == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        run->rank_walls[i] = RM_NAN;
    }
    for (size_t i = 0; i < merge->wall_count; i++) {
        const struct rm_merge_wall *wall = &merge->walls[i];
        size_t scope = (size_t)merge->paths.paths[wall->path].index;
        rm_run_rank_walls(run, scope)[making->place_of_rank[wall->rank]] = wall->wall_ns;
    }
    return rm_scope_names_sum(run) == RESMON_OK;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* The part of a cell in which a node was there, in s. */
static double seconds_there(const struct making *making, const resmon_run_node *node, size_t row)
{
    int64_t width_ns = making->merge->width_ns;
    int64_t from_ns = (making->merge->span.first + (int64_t)row) * width_ns;
    int64_t to_ns = from_ns + width_ns, end_ns = node->start_ns + node->duration_ns;
    from_ns = from_ns > node->start_ns ? from_ns : node->start_ns;
    to_ns = to_ns < end_ns ? to_ns : end_ns;
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0.0;
}

/* Of several processes of a node, which may not all have run the whole time. */
static double mean_of(const struct making *making, const struct rm_merge_node *node,
                      const struct rm_merge_column *column, size_t row)
{
    const struct rm_grid_cell *cell = &column->cells[row];
    size_t first = (size_t)(node->span.first - making->merge->span.first);
    bool is_sum = making->merge->kinds[column->kind].rule != RM_RULE_MEAN;
    double seconds = is_sum && column->parts > 1 && cell->seconds > 0.0
                         ? seconds_there(making, &node->node, first + row)
                         : cell->seconds;
    return seconds > 0.0 ? cell->sum / seconds : RM_NAN;
}

/* The rows of a column of a node.  Lowest and highest readings exist only for a column that was
 * read directly. */
static void fill_rows(const struct making *making, const struct rm_merge_column *column,
                      size_t target)
{
    const struct resmon_run *run = making->run;
    const struct rm_merge_node *node = &making->merge->nodes[column->node];
    bool is_counter = making->merge->kinds[column->kind].is_counter;
    size_t first = (size_t)(node->span.first - making->merge->span.first);
    double growth = 0.0;
    for (size_t i = 0; i < node->span.count; i++) {
        const struct rm_grid_cell *cell = &column->cells[i];
        double mean = mean_of(making, node, column, i);
        growth += cell->sum;
        rm_run_series(run, target, RESMON_SERIES_MEAN)[first + i] = mean;
        rm_run_series(run, target, RESMON_SERIES_LAST)[first + i] =
            is_counter && !isnan(mean) ? growth : mean;
        if (column->parts == 1 && !isnan(mean)) {
            rm_run_series(run, target, RESMON_SERIES_MIN)[first + i] = cell->low;
            rm_run_series(run, target, RESMON_SERIES_MAX)[first + i] = cell->high;
        }
    }
}

/* The instance of a column: that of the kind, of all nodes or of one of them. */
static const char *instance_of(struct making *making, const struct rm_merge_kind *kind,
                               const char *node)
{
    if (node == NULL || kind->instance[0] == '\0') {
        return copy(making->run, node != NULL ? node : kind->instance);
    }
    size_t bytes = strlen(kind->instance) + strlen(node) + sizeof "[]";
    char *text = rm_arena_alloc(&making->run->strings, bytes, 1);
    if (text == NULL) {
        return "";
    }
    (void)snprintf(text, bytes, "%s[%s]", kind->instance, node);
    return text;
}

static void begin_column(struct making *making, const struct rm_merge_kind *kind,
                         const char *instance, int32_t level)
{
    struct resmon_run *run = making->run;
    resmon_column *column = &run->columns[run->column_count++];
    column->struct_size = sizeof *column;
    column->metric = kind->id != UINT32_MAX ? kind->metric : copy(run, kind->metric);
    column->unit = kind->id != UINT32_MAX ? kind->unit : copy(run, kind->unit);
    column->kind = kind->is_counter ? RESMON_COUNTER : RESMON_GAUGE;
    column->level = level;
    column->instance = instance;
    column->source = copy(run, column->source);
}

static void put_node_column(struct making *making, const struct rm_merge_column *from)
{
    const struct rm_merge *merge = making->merge;
    const struct rm_merge_kind *kind = &merge->kinds[from->kind];
    const resmon_run_node *node = &merge->nodes[from->node].node;
    struct resmon_run *run = making->run;
    size_t target = run->column_count;
    run->columns[target] = from->statistics;
    begin_column(making, kind, instance_of(making, kind, node->name), kind->level);
    fill_rows(making, from, target);
    if (from->parts > 1) {
        rm_merge_column_settle(run, target);
        resmon_column *column = &run->columns[target];
        double seconds = (double)node->duration_ns / 1e9;
        if (kind->rule == RM_RULE_MEAN) {
            rm_merge_divide(column, (double)from->parts);
        }
        column->duration_s = seconds;
        column->mean = seconds > 0.0 ? column->integral / seconds : column->last;
    }
}

/* The weight of a node in a mean of shares. */
static double weight_of(const struct rm_merge_kind *kind, const resmon_run_node *node)
{
    double weight = kind->level == RESMON_LEVEL_DEVICE ? node->gpus : node->cpus;
    return weight > 0.0 ? weight : 1.0;
}

/* Instances of different nodes (gpu0) are not one thing, unless they measure the same. */
static bool has_sum(const struct rm_merge_kind *kind)
{
    return kind->rule == RM_RULE_EACH || (kind->rule != RM_RULE_NONE && kind->instance[0] == '\0');
}

/* The column of all nodes comes before the columns of each node, from which it is computed. */
static void put_kind(struct making *making, uint32_t index, double *weights)
{
    const struct rm_merge *merge = making->merge;
    const struct rm_merge_kind *kind = &merge->kinds[index];
    struct resmon_run *run = making->run;
    bool is_summed = has_sum(kind);
    size_t target = run->column_count, count = 0;
    run->column_count += is_summed ? 1 : 0;
    for (size_t i = 0; i < merge->node_count; i++) {
        const struct rm_merge_column *from = rm_merge_column_of(merge, making->nodes[i], index);
        if (from != NULL && from->parts > 0) {
            weights[count++] = weight_of(kind, &merge->nodes[making->nodes[i]].node);
            put_node_column(making, from);
        }
    }
    if (is_summed) {
        size_t end = run->column_count;
        run->column_count = target;
        run->columns[target].source = run->columns[target + 1].source;
        begin_column(making, kind, instance_of(making, kind, NULL), RESMON_LEVEL_JOB);
        run->column_count = end;
        rm_merge_column_fill(&(struct rm_merge_whole){run, kind, weights, target, count});
    }
}

/* Rows are the cells; the first and the last one are cut to the time of the run. */
static void put_times(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    size_t rows = merge->span.count;
    run->t_first = rm_arena_alloc(&run->strings, rows, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, rows, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, rows, sizeof *run->row_samples);
    if (run->t_first == NULL || run->t_last == NULL || run->row_samples == NULL) {
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        int64_t from_ns = (merge->span.first + (int64_t)i) * merge->width_ns;
        int64_t to_ns = from_ns + merge->width_ns;
        run->t_first[i] =
            (from_ns > making->start_ns ? from_ns : making->start_ns) - making->start_ns;
        run->t_last[i] = (to_ns < making->end_ns ? to_ns : making->end_ns) - making->start_ns;
        run->row_samples[i] = 1;
    }
    run->row_count = rows;
}

/* In the order of the table of metrics, and by instance: "2" before "10".  qsort() passes no
 * context, so pointers are sorted. */
static int compare_kinds(const void *left, const void *right)
{
    const struct rm_merge_kind *const *a = left, *const *b = right;
    int64_t of_a = (int64_t)strlen((*a)->instance), of_b = (int64_t)strlen((*b)->instance);
    int order = compare_numbers((*a)->id, (*b)->id);
    order = order != 0 ? order : strcmp((*a)->metric, (*b)->metric);
    order = order != 0 ? order : compare_numbers(of_a, of_b);
    return order != 0 ? order : strcmp((*a)->instance, (*b)->instance);
}

/* The kinds that a node has, in their order; sets *ret_columns to the number of their columns. */
static const struct rm_merge_kind **sort_kinds(struct making *making, size_t *ret_count,
                                               size_t *ret_columns)
{
    const struct rm_merge *merge = making->merge;
    struct rm_arena *working = &making->run->working;
    bool *is_there = rm_arena_alloc(working, merge->kind_count, sizeof *is_there);
    const struct rm_merge_kind **sorted =
        rm_arena_alloc(working, merge->kind_count, sizeof(const struct rm_merge_kind *));
    *ret_count = *ret_columns = 0;
    for (size_t i = 0; i < merge->column_count && !working->is_broken; i++) {
        const struct rm_merge_column *column = &merge->columns[i];
        uint32_t kind = column->kind - (merge->kinds[column->kind].is_of_job ? 1 : 0);
        is_there[kind] |= column->parts > 0;
        *ret_columns += column->parts > 0 ? 1 : 0; /* or fewer, where a monitor's counts */
    }
    for (size_t i = 0; i < merge->kind_count && !working->is_broken; i++) {
        if (is_there[i]) {
            sorted[(*ret_count)++] = &merge->kinds[i];
            *ret_columns += has_sum(&merge->kinds[i]) ? 1 : 0;
        }
    }
    if (!working->is_broken) {
        qsort(sorted, *ret_count, sizeof(const struct rm_merge_kind *), compare_kinds);
    }
    return sorted;
}

static void put_columns(struct making *making)
{
    const struct rm_merge *merge = making->merge;
    struct resmon_run *run = making->run;
    size_t kinds, count;
    const struct rm_merge_kind **sorted = sort_kinds(making, &kinds, &count);
    size_t numbers = count * RM_SERIES_KINDS * run->row_count;
    run->columns = rm_arena_alloc(&run->strings, count, sizeof *run->columns);
    run->values = rm_arena_alloc(&run->strings, numbers, sizeof *run->values);
    double *weights = rm_arena_alloc(&run->working, merge->node_count, sizeof *weights);
    if (rm_run_is_broken(run)) {
        return;
    }
    for (size_t i = 0; i < numbers; i++) {
        run->values[i] = RM_NAN;
    }
    for (size_t i = 0; i < kinds; i++) {
        put_kind(making, (uint32_t)(sorted[i] - merge->kinds), weights);
    }
    rm_run_index_columns(run);
}

bool rm_merge_fill(struct rm_merge *merge, struct resmon_run *run)
{
    struct making making = {.merge = merge, .run = run};
    find_times(&making);
    sort_nodes(&making);
    sort_ranks(&making);
    if (rm_run_is_broken(run)) {
        return false;
    }
    put_nodes_and_ranks(&making);
    put_info(&making);
    put_facts(&making);
    put_sources(&making);
    put_tags(&making);
    bool is_put = put_scopes(&making);
    put_times(&making);
    put_columns(&making);
    is_put = is_put && !rm_run_is_broken(run);
    rm_arena_free(&run->working);
    if (is_put) {
        rm_run_find_node_use(run);
    }
    return is_put;
}
