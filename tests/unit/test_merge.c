/* SPDX-License-Identifier: MIT */
/*
 * Runs of nodes and ranks as one: what adds up, against sums made here; no order, and no merging in
 * between, makes a difference; clocks that differ; what is of another job, missing or there twice.
 */
#include "runs.h"

#include <stdlib.h>

#include "made_table.h"
#include "merge/merge.h"
#include "merge/steps.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/scope_sums.h"
#include "store/bucket.h"

#define EPOCH_NS INT64_C(1764000000000000000) /* in November 2025 */
#define MS       INT64_C(1000000)
#define LONGEST  1000 /* rows of a made run */

/* ---- made runs ------------------------------------------------------------------------------ */

struct made {
    const char *job, *node;
    int node_index, rank, local_rank; /* below 0: not said */
    bool is_host;
    bool is_of_job;                /* the monitor of all processes of the job on its node */
    bool is_blind;                 /* it saw none */
    int64_t start_ms, interval_ms; /* since the epoch */
    size_t rows;
    double clock_error_ms, end_clock_error_ms, clock_step_ms; /* NaN: not said */
    int32_t reason;
};

static struct made a_rank(const char *node, int node_index, int rank, int local_rank)
{
    return (struct made){.job = "4711",
                         .node = node,
                         .node_index = node_index,
                         .rank = rank,
                         .local_rank = local_rank,
                         .is_host = local_rank == 0,
                         .start_ms = 10 * rank,
                         .interval_ms = 100,
                         .rows = 60,
                         .clock_error_ms = NAN,
                         .end_clock_error_ms = NAN,
                         .clock_step_ms = NAN,
                         .reason = RESMON_END_FINISHED};
}

static void say(struct resmon_run *run, const char *group, const char *key, const char *value)
{
    run->facts[run->fact_count++] = (struct rm_fact){
        .group = group,
        .key = key,
        .value = rm_arena_text(&run->strings, value, SIZE_MAX),
        .kind = RM_FACT_TEXT,
    };
}

static void say_number(struct resmon_run *run, const char *group, const char *key, double value)
{
    char text[RM_FACT_NUMBER_BYTES];
    if (!isnan(value)) {
        rm_facts_print_number(value, text);
        say(run, group, key, text);
        run->facts[run->fact_count - 1].kind = RM_FACT_NUMBER;
    }
}

static double known(int number)
{
    return number >= 0 ? (double)number : NAN;
}

static void say_facts(struct resmon_run *run, const struct made *made)
{
    run->facts = rm_arena_alloc(&run->strings, 32, sizeof *run->facts);
    assert_non_null(run->facts);
    say(run, "run", "name", made->rank == 0 ? "master" : "worker");
    say_number(run, "run", "pid", made->is_of_job ? NAN : 1000 + made->rank);
    if (made->is_of_job) {
        say(run, "run", RM_FACT_OBSERVED_JOB, made->job);
    }
    say_number(run, "run", RM_FACT_CLOCK_ERROR, made->clock_error_ms * 1e6);
    say_number(run, "run", RM_FACT_END_CLOCK_ERROR, made->end_clock_error_ms * 1e6);
    say_number(run, "run", RM_FACT_CLOCK_STEP, made->clock_step_ms * 1e6);
    say(run, "machine", "cpu_model", made->node_index == 2 ? "AMD EPYC" : "Intel Xeon");
    say(run, "machine", "kernel", "6.1.0");
    say_number(run, "machine", "cpus", 4 + 4 * made->node_index);
    say_number(run, "machine", "memory_bytes", 1e9);
    say(run, "job", "system", "slurm");
    say(run, "job", "id", made->job);
    say(run, "job", "node_name", made->node);
    say_number(run, "job", "node_index", known(made->node_index));
    say_number(run, "job", "rank", known(made->rank));
    say_number(run, "job", "local_rank", known(made->local_rank));
    say_number(run, "job", "reports_host", made->is_host ? 1 : 0);
    say_number(run, "settings", "interval_ms", (double)made->interval_ms);
    say_number(run, "energy", "g_per_kwh", 100);
    say_number(run, "energy", "pue", 1);
}

/* Some value of a reading, always the same one. */
static double noise(const struct made *made, size_t column, size_t row)
{
    uint64_t x = (uint64_t)(made->rank + 7) * 1000003U + column * 7919U + row * 104729U;
    x ^= x >> 13;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return (double)(x >> 40) / (double)(1 << 24);
}

static const struct column {
    enum rm_metric_id metric;
    double from, range; /* of readings; of counters: growth of a row */
    const char *instance;
} made_columns[] = {
    {RM_NODE_CPU_PERCENT, 20, 60, ""},    {RM_NODE_ENERGY_CPU, 1, 2, ""},
    {RM_TREE_CPU_TIME, 0.01, 0.08, ""},   {RM_TREE_MEM_RSS, 1e6, 5e6, ""},
    {RM_TREE_ENERGY_CPU, 0.1, 0.2, ""},   {RM_NODE_MEM_USED, 1e8, 1e7, ""},
    {RM_TREE_CPU_PERCENT, 50, 100, ""},   {RM_TREE_PROCESSES, 3, 4, ""},
    {RM_PROC_MEM_HOST_PERCENT, 1, 2, ""}, {RM_PERF_IPC, 0.5, 2, ""},
    {RM_GPU_UTIL, 10, 80, "0"},           {RM_GPU_UTIL, 30, 60, "1"},
    {RM_GPU_UTIL, 1, 2, "1:1"}, /* a slice, which its GPU includes */
    {RM_GPU_MEM_USED, 1e9, 1e8, "0"},     {RM_GPU_MEM_USED, 2e9, 1e8, "1"},
    {RM_ENERGY_ZONE, 3, 1, "package-0"},  {RM_ENERGY_ZONE, 1, 1, "core-0"},
    {RM_NODE_IB_SENT, 5, 1, "mlx5_0:1"},  {RM_NODE_IB_SENT, 2, 1, "mlx5_1:1"},
    {RM_NODE_FS_PERCENT, 20, 1, "/"},     {RM_NODE_FS_PERCENT, 70, 1, "/home"},
    {RM_PERF_EVENT, 7, 1, "r01c2"},       {RM_GPU_THROTTLE_REASONS, 4, 0, "0"},
    {RM_PROC_MEM_PEAK_RSS, 1e6, 0, ""}, /* which the ranks have */
};

#define COLUMNS RM_ARRAY_LEN(made_columns)

static void fill_column(struct resmon_run *run, const struct made *made, size_t c,
                        const struct column *kind)
{
    const struct rm_metric *metric = rm_metric_of(kind->metric);
    resmon_column *column = &run->columns[c];
    double seconds = (double)made->interval_ms / 1e3;
    bool is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER;
    rm_record_clear(RM_RECORD_statistics, column);
    column->metric = rm_metric_name(metric);
    column->unit = rm_metric_unit(metric);
    column->instance = kind->instance;
    column->source = "made";
    column->kind = is_counter ? RESMON_COUNTER : RESMON_GAUGE;
    column->level = metric->level;
    column->integral = column->duration_s = 0.0;
    double growth = 0.0;
    for (size_t i = 0; i < made->rows; i++) {
        double value = made->is_blind && metric->level == RESMON_LEVEL_TREE
                           ? 0.0
                           : kind->from + kind->range * noise(made, c, i);
        growth += value;
        double mean = is_counter ? value / seconds : value;
        rm_run_series(run, c, RESMON_SERIES_LAST)[i] = is_counter ? growth : value;
        rm_run_series(run, c, RESMON_SERIES_MEAN)[i] = mean;
        rm_run_series(run, c, RESMON_SERIES_MIN)[i] = mean;
        rm_run_series(run, c, RESMON_SERIES_MAX)[i] = mean;
        column->n++;
        column->integral += is_counter ? value : value * seconds;
        column->duration_s += seconds;
        column->min = rm_lesser(mean, column->min);
        column->max = rm_greater(mean, column->max);
        column->last = is_counter ? growth : value;
    }
    column->first = 0.0;
    column->mean = column->integral / column->duration_s;
}

static void fill_scopes(struct resmon_run *run, const struct made *made)
{
    static const char *const names[] = {"main", "load", "train"};
    run->scopes = rm_arena_alloc(&run->strings, 3, sizeof *run->scopes);
    assert_non_null(run->scopes);
    for (size_t i = 0; i < 3; i++) {
        resmon_run_scope *scope = &run->scopes[i];
        rm_record_clear(RM_RECORD_scope, scope);
        /* Rank 2 trains first. */
        size_t name = made->rank == 2 && i > 0 ? 3 - i : i;
        scope->name = names[name];
        scope->file = "a.c";
        scope->function = "f";
        scope->parent = i == 0 ? -1 : 0;
        scope->depth = i == 0 ? 0 : 1;
        scope->calls = 1;
        scope->wall_ns = 1e9 * (name == 2 && made->rank == 3 ? 4.0 : 1.0);
        scope->self_ns = scope->wall_min_ns = scope->wall_max_ns = scope->wall_ns;
        scope->open_ns = scope->concurrent_ns = 0.0;
    }
    run->scope_count = made->rank == 1 ? 2 : 3; /* rank 1 does not train */
}

static struct resmon_run *make_rows(const struct made *made, size_t columns)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    assert_true(made->rows <= LONGEST);
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = EPOCH_NS + made->start_ms * MS;
    run->info.duration_ns = (int64_t)made->rows * made->interval_ms * MS;
    run->info.stride = 1;
    run->info.samples = made->rows;
    run->end.reason = made->reason;
    say_facts(run, made);
    made_table(run, columns, made->rows);
    for (size_t i = 0; i < made->rows; i++) {
        run->t_first[i] = (int64_t)i * made->interval_ms * MS;
        run->t_last[i] = (int64_t)(i + 1) * made->interval_ms * MS;
        run->row_samples[i] = 1;
    }
    return run;
}

/* A monitor of a job has no values of single processes, and no hardware counters. */
static bool can_be_of_job(const resmon_column *column)
{
    return column->level != RESMON_LEVEL_PROCESS && strncmp(column->metric, "perf.", 5) != 0;
}

static struct resmon_run *make(const struct made *made)
{
    struct resmon_run *run = make_rows(made, COLUMNS);
    for (size_t c = 0; c < COLUMNS; c++) {
        fill_column(run, made, c, &made_columns[c]);
        if (made->is_of_job && !can_be_of_job(&run->columns[c])) {
            run->columns[c].n = 0;
        }
    }
    if (!made->is_of_job) {
        fill_scopes(run, made);
    }
    return run;
}

/* ---- merging -------------------------------------------------------------------------------- */

static void add(struct rm_merge *merge, const struct made *made)
{
    struct resmon_run *run = make(made);
    assert_ok(rm_merge_add(merge, run));
    rm_run_free(run); /* the merge has all that it needs */
}

static struct resmon_run *made_of(struct rm_merge *merge)
{
    struct resmon_run *run = NULL;
    assert_ok(rm_merge_make(merge, &run));
    rm_merge_free(merge);
    return run;
}

static struct resmon_run *merged(const struct made *made, size_t count)
{
    struct rm_merge merge;
    rm_merge_begin(&merge);
    for (size_t i = 0; i < count; i++) {
        add(&merge, &made[i]);
    }
    return made_of(&merge);
}

static const resmon_column *column_of(const struct resmon_run *run, enum rm_metric_id metric,
                                      const char *node)
{
    int64_t index = rm_run_column_of(run, metric, node);
    assert_true(index >= 0);
    return &run->columns[index];
}

static void assert_close(double value, double wanted)
{
    if (!(isnan(value) && isnan(wanted))) {
        assert_near(value, wanted, 1e-9 * fabs(wanted) + 1e-12);
    }
}

static void assert_same_rows(const struct resmon_run *run, size_t column,
                             const struct resmon_run *other)
{
    for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
        for (size_t i = 0; i < run->row_count; i++) {
            assert_close(rm_run_series(run, column, kind)[i],
                         rm_run_series(other, column, kind)[i]);
        }
    }
}

/* All but the rounding of sums. */
static void assert_same(const struct resmon_run *run, const struct resmon_run *other)
{
    assert_int_equal(run->info.start_realtime_ns, other->info.start_realtime_ns);
    assert_int_equal(run->info.duration_ns, other->info.duration_ns);
    assert_int_equal(run->info.samples, other->info.samples);
    assert_int_equal(run->end.reason, other->end.reason);
    assert_int_equal(run->node_count, other->node_count);
    for (size_t i = 0; i < run->node_count; i++) {
        assert_string_equal(run->nodes[i].name, other->nodes[i].name);
        assert_string_equal(run->nodes[i].state, other->nodes[i].state);
        assert_string_equal(run->nodes[i].cpu_model, other->nodes[i].cpu_model);
        assert_int_equal(run->nodes[i].start_ns, other->nodes[i].start_ns);
        assert_int_equal(run->nodes[i].duration_ns, other->nodes[i].duration_ns);
        assert_int_equal(run->nodes[i].host_start_ns, other->nodes[i].host_start_ns);
        assert_int_equal(run->nodes[i].host_duration_ns, other->nodes[i].host_duration_ns);
        assert_int_equal(run->nodes[i].ranks, other->nodes[i].ranks);
        assert_int_equal(run->nodes[i].has_job, other->nodes[i].has_job);
    }
    assert_int_equal(run->rank_count, other->rank_count);
    for (size_t i = 0; i < run->rank_count; i++) {
        assert_int_equal(run->ranks[i].rank, other->ranks[i].rank);
        assert_int_equal(run->ranks[i].node, other->ranks[i].node);
        assert_int_equal(run->ranks[i].start_ns, other->ranks[i].start_ns);
        assert_close(run->ranks[i].cpu_s, other->ranks[i].cpu_s);
    }
    assert_int_equal(run->fact_count, other->fact_count);
    for (size_t i = 0; i < run->fact_count; i++) {
        assert_string_equal(run->facts[i].key, other->facts[i].key);
        assert_string_equal(run->facts[i].value, other->facts[i].value);
    }
    assert_int_equal(run->scope_count, other->scope_count);
    for (size_t i = 0; i < run->scope_count; i++) {
        assert_string_equal(run->scopes[i].name, other->scopes[i].name);
        assert_int_equal(run->scopes[i].calls, other->scopes[i].calls);
        assert_close(run->scopes[i].wall_ns, other->scopes[i].wall_ns);
        for (size_t r = 0; r < run->rank_count; r++) {
            assert_close(rm_run_rank_walls(run, i)[r], rm_run_rank_walls(other, i)[r]);
        }
    }
    assert_int_equal(run->row_count, other->row_count);
    assert_int_equal(run->column_count, other->column_count);
    for (size_t i = 0; i < run->row_count; i++) {
        assert_int_equal(run->t_first[i], other->t_first[i]);
        assert_int_equal(run->t_last[i], other->t_last[i]);
    }
    for (size_t c = 0; c < run->column_count; c++) {
        assert_string_equal(run->columns[c].metric, other->columns[c].metric);
        assert_string_equal(run->columns[c].instance, other->columns[c].instance);
        assert_int_equal(run->columns[c].n, other->columns[c].n);
        assert_close(run->columns[c].last, other->columns[c].last);
        assert_close(run->columns[c].min, other->columns[c].min);
        assert_close(run->columns[c].max, other->columns[c].max);
        assert_close(run->columns[c].mean, other->columns[c].mean);
        assert_close(run->columns[c].integral, other->columns[c].integral);
        assert_same_rows(run, c, other);
    }
}

/* Three nodes, of which two have two ranks each. */
static size_t a_job(struct made made[5])
{
    made[0] = a_rank("n1", 0, 0, 0);
    made[1] = a_rank("n1", 0, 1, 1);
    made[2] = a_rank("n2", 1, 2, 0);
    made[3] = a_rank("n2", 1, 3, 1);
    made[4] = a_rank("n3", 2, 4, 0);
    made[3].rows = 90;
    made[4].start_ms = -300;
    return 5;
}

/* ---- tests ---------------------------------------------------------------------------------- */

TEST(rows_fall_into_cells_whole)
{
    enum { CELLS = 300 };
    static struct rm_grid_cell cells[CELLS], wide[CELLS];
    const int64_t width = 7 * MS;
    const struct rm_grid_span span = {-5, CELLS};
    double sum = 0.0, seconds = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        cells[i] = rm_grid_cell_empty();
        wide[i] = rm_grid_cell_empty();
    }
    int64_t from = -5 * width + 3;
    for (size_t i = 0; i < 120; i++) {
        const struct made made = {.rank = (int)i};
        int64_t to = from + 1 + (int64_t)(noise(&made, 1, i) * 17e6);
        double value = noise(&made, 2, i) * 100;
        const struct rm_grid_row row = {from, to, value, value, value};
        rm_grid_add(cells, span, width, &row);
        rm_grid_add(wide, rm_grid_span_halved(span), 2 * width, &row);
        sum += value * (double)(to - from) / 1e9;
        seconds += (double)(to - from) / 1e9;
        from = to;
    }
    double in_cells = 0.0, seconds_in_cells = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        in_cells += cells[i].sum;
        seconds_in_cells += cells[i].seconds;
    }
    assert_close(in_cells, sum);
    assert_close(seconds_in_cells, seconds);
    const struct rm_grid_span halved = rm_grid_halve(cells, span);
    assert_int_equal(halved.first, -3);
    assert_int_equal(halved.count, CELLS / 2 + 1);
    for (size_t i = 0; i < halved.count; i++) {
        assert_close(cells[i].sum, wide[i].sum);
        assert_close(cells[i].seconds, wide[i].seconds);
        assert_close(cells[i].low, wide[i].low);
        assert_close(cells[i].high, wide[i].high);
    }
}

TEST(what_adds_up)
{
    struct made made[5];
    size_t count = a_job(made);
    struct resmon_run *run = merged(made, count);
    assert_int_equal(run->node_count, 3);
    assert_int_equal(run->rank_count, 5);
    double energy = 0.0, cpu_s = 0.0, shares = 0.0, weights = 0.0;
    for (size_t i = 0; i < count; i++) {
        struct resmon_run *part = make(&made[i]);
        double cpus = 4 + 4 * made[i].node_index;
        cpu_s += column_of(part, RM_TREE_CPU_TIME, NULL)->last;
        if (made[i].is_host) {
            energy += column_of(part, RM_NODE_ENERGY_CPU, NULL)->last;
            shares += cpus * column_of(part, RM_NODE_CPU_PERCENT, NULL)->mean * 6.0;
            weights += cpus * 6.0;
        }
        rm_run_free(part);
    }
    const resmon_column *all = column_of(run, RM_NODE_ENERGY_CPU, "");
    assert_int_equal(all->level, RESMON_LEVEL_JOB);
    assert_close(all->last, energy); /* each machine once */
    assert_close(column_of(run, RM_TREE_CPU_TIME, "")->last, cpu_s);
    assert_close(column_of(run, RM_NODE_CPU_PERCENT, "")->mean, shares / weights);
    /* Rows say the same: of counters the last one, of gauges their integral. */
    int64_t at = rm_run_column_of(run, RM_TREE_CPU_TIME, "");
    assert_close(rm_run_series(run, (size_t)at, RESMON_SERIES_LAST)[run->row_count - 1], cpu_s);
    at = rm_run_column_of(run, RM_TREE_MEM_RSS, "");
    double integral = 0.0;
    for (size_t i = 0; i < run->node_count; i++) {
        const resmon_run_node *node = &run->nodes[i];
        int64_t c = rm_run_column_of(run, RM_TREE_MEM_RSS, node->name);
        for (size_t row = 0; row < run->row_count; row++) {
            double mean = rm_run_series(run, (size_t)c, RESMON_SERIES_MEAN)[row];
            int64_t from = run->t_first[row], to = run->t_last[row];
            from = from > node->start_ns ? from : node->start_ns;
            to = to < node->start_ns + node->duration_ns ? to : node->start_ns + node->duration_ns;
            integral += isnan(mean) ? 0.0 : mean * (double)(to - from) / 1e9;
        }
    }
    assert_near(integral, run->columns[at].integral, 1e-9 * integral);
    /* What all agree on, and sums. */
    assert_string_equal(rm_run_fact_text(run, "machine", "kernel"), "6.1.0");
    assert_null(rm_run_fact(run, "machine", "cpu_model"));
    assert_close(rm_run_fact_number(run, "machine", "cpus"), 4 + 8 + 12);
    assert_string_equal(rm_run_fact_text(run, "run", "name"), "master");
    rm_run_free(run);
}

static double mean_of(const struct resmon_run *run, enum rm_metric_id metric, const char *instance)
{
    return column_of(run, metric, instance)->mean;
}

/* Means of the first of two ranks of a node and of both, by made runs of equal length. */
static double mean_of_both(const struct made made[2], enum rm_metric_id metric)
{
    double sum = 0.0;
    for (size_t i = 0; i < 2; i++) {
        struct resmon_run *part = make(&made[i]);
        sum += mean_of(part, metric, NULL);
        rm_run_free(part);
    }
    return sum / 2.0;
}

/* Each metric by its own rule, over processes, devices and nodes. */
TEST(rules)
{
    struct made made[4] = {a_rank("n1", 0, 0, 0), a_rank("n1", 0, 1, 1), a_rank("n2", 1, 2, 0),
                           a_rank("n2", 1, 3, 1)};
    for (size_t i = 0; i < 4; i++) {
        made[i].start_ms = 0;
    }
    struct resmon_run *run = merged(made, 4), *first = make(&made[0]);
    const double on_1 = 4, on_2 = 8; /* CPUs, which weigh the means over nodes */
    /* Processes of a node: ratios have a mean; shares of a machine, and CPUs in use, add up. */
    assert_close(mean_of(run, RM_PERF_IPC, "n1"), mean_of_both(made, RM_PERF_IPC));
    assert_close(mean_of(run, RM_PROC_MEM_HOST_PERCENT, "n1"),
                 2 * mean_of_both(made, RM_PROC_MEM_HOST_PERCENT));
    assert_close(mean_of(run, RM_TREE_CPU_PERCENT, "n1"),
                 2 * mean_of_both(made, RM_TREE_CPU_PERCENT));
    /* Nodes. */
    assert_close(mean_of(run, RM_TREE_CPU_PERCENT, ""),
                 2 * (mean_of_both(made, RM_TREE_CPU_PERCENT) +
                      mean_of_both(made + 2, RM_TREE_CPU_PERCENT)));
    assert_close(mean_of(run, RM_PROC_MEM_HOST_PERCENT, ""),
                 2 *
                     (on_1 * mean_of_both(made, RM_PROC_MEM_HOST_PERCENT) +
                      on_2 * mean_of_both(made + 2, RM_PROC_MEM_HOST_PERCENT)) /
                     (on_1 + on_2));
    /* Devices: each for itself, and of the node by the rule, without slices. */
    double gpu_0 = mean_of(first, RM_GPU_UTIL, "0"), gpu_1 = mean_of(first, RM_GPU_UTIL, "1");
    assert_close(mean_of(run, RM_GPU_UTIL, "0[n1]"), gpu_0);
    assert_close(mean_of(run, RM_GPU_UTIL, "1:1[n1]"), mean_of(first, RM_GPU_UTIL, "1:1"));
    assert_close(mean_of(run, RM_GPU_UTIL, "n1"), (gpu_0 + gpu_1) / 2);
    assert_close(mean_of(run, RM_GPU_MEM_USED, "n1"),
                 mean_of(first, RM_GPU_MEM_USED, "0") + mean_of(first, RM_GPU_MEM_USED, "1"));
    assert_int_equal(rm_run_column_of(run, RM_GPU_UTIL, "0"), -1); /* GPUs 0 are not one device */
    /* Zones overlap: there is no sum over them, but one over nodes. */
    assert_int_equal(rm_run_column_of(run, RM_ENERGY_ZONE, "n1"), -1);
    assert_int_equal(rm_run_column_of(run, RM_ENERGY_ZONE, ""), -1);
    assert_close(column_of(run, RM_ENERGY_ZONE, "core-0")->last,
                 column_of(run, RM_ENERGY_ZONE, "core-0[n1]")->last +
                     column_of(run, RM_ENERGY_ZONE, "core-0[n2]")->last);
    int64_t all = rm_run_column_of(run, RM_ENERGY_ZONE, "core-0");
    assert_string_equal(run->columns[rm_run_node_column(run, all, 1)].instance, "core-0[n2]");
    /* Ports add up; of file systems, the first one is that of the node. */
    assert_close(column_of(run, RM_NODE_IB_SENT, "n1")->last,
                 column_of(first, RM_NODE_IB_SENT, "mlx5_0:1")->last +
                     column_of(first, RM_NODE_IB_SENT, "mlx5_1:1")->last);
    assert_close(mean_of(run, RM_NODE_FS_PERCENT, "n1"), mean_of(first, RM_NODE_FS_PERCENT, "/"));
    assert_close(mean_of(run, RM_NODE_FS_PERCENT, "/home[n1]"),
                 mean_of(first, RM_NODE_FS_PERCENT, "/home"));
    assert_true(rm_run_column_of(run, RM_PERF_EVENT, "r01c2") >= 0);
    /* Bits have no mean, and peaks no sum. */
    assert_true(rm_run_column_of(run, RM_GPU_THROTTLE_REASONS, "0[n1]") >= 0);
    assert_int_equal(rm_run_column_of(run, RM_GPU_THROTTLE_REASONS, "n1"), -1);
    assert_int_equal(rm_run_column_of(run, RM_PROC_MEM_PEAK_RSS, NULL), -1);
    rm_run_free(first);
    rm_run_free(run);
}

/* The ports of a node are all in its sum, however many they are. */
TEST(many_ports)
{
    enum { PORTS = 200 };
    char names[PORTS][16];
    struct made made = a_rank("n1", 0, 0, 0);
    struct resmon_run *run = make_rows(&made, PORTS);
    for (size_t c = 0; c < PORTS; c++) {
        (void)snprintf(names[c], sizeof names[c], "mlx5_%zu:1", c);
        const struct column port = {RM_NODE_IB_SENT, 2, 0, names[c]};
        fill_column(run, &made, c, &port);
    }
    struct rm_merge merge;
    rm_merge_begin(&merge);
    assert_ok(rm_merge_add(&merge, run));
    rm_run_free(run);
    run = made_of(&merge);
    assert_close(column_of(run, RM_NODE_IB_SENT, "n1")->last, 2.0 * PORTS * (double)made.rows);
    rm_run_free(run);
}

/* Many nodes have fewer rows, so that the merge keeps its bound. */
TEST(many_nodes_halve)
{
    struct rm_merge merge;
    enum { NODES = 1500 };
    rm_merge_begin(&merge);
    for (int i = 0; i < NODES; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "n%d", i);
        struct made made = a_rank(node, i, i, 0);
        made.rows = 450;
        add(&merge, &made);
    }
    struct resmon_run *run = made_of(&merge);
    assert_true(run->column_count > (size_t)NODES * 20);
    assert_true(run->column_count * run->row_count <= RM_MERGE_CELLS);
    assert_true(run->column_count * run->row_count > RM_MERGE_CELLS / 3);
    assert_true(rm_run_column_of(run, RM_GPU_UTIL, "1[n1499]") >= 0);
    assert_true(rm_run_fact_number(run, "settings", RM_FACT_MERGED_COLUMNS) > 20.0 * NODES);
    rm_run_free(run);
}

/* A run alone becomes what it was. */
TEST(one_run_stays_what_it_is)
{
    const struct made made = a_rank("n1", 0, 0, 0);
    struct resmon_run *part = make(&made), *run = merged(&made, 1);
    for (size_t c = 0; c < COLUMNS; c++) {
        const resmon_column *own = &part->columns[c];
        for (int all = 0; all < 2 && made_columns[c].instance[0] == '\0' &&
                          made_columns[c].metric != RM_PROC_MEM_PEAK_RSS;
             all++) {
            const resmon_column *column =
                column_of(run, made_columns[c].metric, all == 0 ? "n1" : "");
            assert_int_equal(column->n, own->n);
            assert_close(column->last, own->last);
            assert_close(column->mean, own->mean);
            assert_close(column->integral, own->integral);
            if (all == 0) {
                assert_close(column->min, own->min);
                assert_close(column->max, own->max);
            }
        }
    }
    assert_int_equal(run->info.duration_ns, part->info.duration_ns);
    rm_run_free(part);
    rm_run_free(run);
}

TEST(no_order_makes_a_difference)
{
    static const size_t orders[][5] = {
        {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 2, 3, 4, 0}, {3, 4, 1, 0, 2}};
    struct made made[5], mixed[5];
    size_t count = a_job(made);
    made[4].interval_ms = 300; /* rows of another width */
    struct resmon_run *wanted = merged(made, count);
    for (size_t i = 0; i < RM_ARRAY_LEN(orders); i++) {
        for (size_t k = 0; k < count; k++) {
            mixed[k] = made[orders[i][k]];
        }
        struct resmon_run *run = merged(mixed, count);
        assert_same(run, wanted);
        rm_run_free(run);
    }
    rm_run_free(wanted);
}

/* Merged runs merge: by nodes, across them, and one after the other. */
TEST(merging_is_associative)
{
    static const unsigned groups[][5] = {
        {0, 0, 1, 1, 1}, {0, 1, 0, 1, 0}, {1, 0, 0, 0, 0}, {0, 0, 0, 0, 1}};
    struct made made[5];
    size_t count = a_job(made);
    struct resmon_run *wanted = merged(made, count);
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        struct rm_merge both;
        rm_merge_begin(&both);
        for (unsigned group = 0; group < 2; group++) {
            struct made some[5];
            size_t some_count = 0;
            for (size_t k = 0; k < count; k++) {
                if (groups[i][k] == group) {
                    some[some_count++] = made[k];
                }
            }
            struct resmon_run *part = merged(some, some_count);
            assert_ok(rm_merge_add(&both, part));
            rm_run_free(part);
        }
        struct resmon_run *run = made_of(&both);
        assert_same(run, wanted);
        rm_run_free(run);
    }
    rm_run_free(wanted);
}

/* Of long runs the cells are wider, and sums stay. */
TEST(long_runs_halve)
{
    struct made made[2] = {a_rank("n1", 0, 0, 0), a_rank("n2", 1, 1, 0)};
    made[0].rows = LONGEST;
    made[1].rows = 900;
    made[1].start_ms = 5000000; /* an hour and more later */
    struct resmon_run *run = merged(made, 2);
    assert_true(run->row_count <= RM_MERGE_ROWS);
    assert_true(run->row_count > RM_MERGE_ROWS / 2);
    double highest = 0.0;
    for (size_t i = 0; i < 2; i++) {
        struct resmon_run *part = make(&made[i]);
        const resmon_column *own = column_of(part, RM_NODE_CPU_PERCENT, NULL);
        int64_t at = rm_run_column_of(run, RM_NODE_CPU_PERCENT, made[i].node);
        for (size_t row = 0; row < run->row_count; row++) {
            highest = rm_greater(rm_run_series(run, (size_t)at, RESMON_SERIES_MAX)[row], highest);
        }
        assert_true(highest >= own->max);
        assert_close(column_of(run, RM_NODE_ENERGY_CPU, made[i].node)->last,
                     column_of(part, RM_NODE_ENERGY_CPU, NULL)->last);
        rm_run_free(part);
    }
    rm_run_free(run);
}

/* The clock of the second node was 5 s behind until it was set, after the start. */
TEST(clocks_are_aligned)
{
    struct made made[2] = {a_rank("n1", 0, 0, 0), a_rank("n2", 1, 1, 0)};
    made[0].start_ms = made[1].start_ms = 0;
    made[0].clock_error_ms = made[0].end_clock_error_ms = 1;
    made[1].start_ms = -5000;
    made[1].clock_error_ms = 16000;
    made[1].end_clock_error_ms = 3;
    made[1].clock_step_ms = 5001;
    struct resmon_run *run = merged(made, 2);
    double bound = run->nodes[0].clock_error_ns + run->nodes[1].clock_error_ns;
    assert_close(bound, 4e6);
    assert_true(fabs((double)(run->ranks[1].start_ns - run->ranks[0].start_ns)) <= bound);
    rm_run_free(run);
    /* Set wrong, it is believed as it was at the start. */
    made[1].start_ms = 0;
    made[1].clock_error_ms = 3;
    made[1].end_clock_error_ms = 16000;
    run = merged(made, 2);
    assert_int_equal(run->ranks[1].start_ns, run->ranks[0].start_ns);
    rm_run_free(run);
}

TEST(ranks_in_a_scope)
{
    struct made made[5];
    size_t count = a_job(made);
    struct resmon_run *run = merged(made, count);
    /* As rank 0 has it, though rank 2 has it otherwise. */
    assert_string_equal(run->scopes[1].name, "load");
    assert_string_equal(run->scopes[2].name, "train");
    const resmon_scope_spread even = rm_run_spread(run, 1), spread = rm_run_spread(run, 2);
    assert_int_equal(even.ranks, 5);
    assert_close(even.imbalance, 0.0);
    assert_close(even.lost_ns, 0.0);
    assert_int_equal(spread.ranks, 4); /* 1, 1, 4, 1 s; rank 1 does not train */
    assert_close(spread.mean_ns, 1.75e9);
    assert_close(spread.max_ns, 4e9);
    assert_int_equal(run->ranks[spread.max_rank].rank, 3);
    assert_int_equal(run->ranks[spread.min_rank].rank, 0);
    assert_close(spread.imbalance, 4 / 1.75 - 1);
    assert_close(spread.lost_ns, 4 * (4 - 1.75) * 1e9);
    assert_true(isnan(rm_run_rank_walls(run, 2)[1]));
    rm_run_free(run);
}

TEST(what_does_not_belong)
{
    struct made made = a_rank("n1", 0, 0, 0);
    struct rm_merge merge;
    struct resmon_run *none = NULL;
    rm_merge_begin(&merge);
    assert_int_equal(rm_merge_make(&merge, &none), RESMON_ESTATE);
    add(&merge, &made);
    struct resmon_run *run = make(&made);
    assert_int_equal(rm_merge_add(&merge, run), RESMON_EINVAL);
    assert_non_null(
        strstr(resmon_last_error(), "process 1000 of n1 (rank 0) is already in the merge"));
    rm_run_free(run);
    made.job = "4712";
    made.rank = 1;
    run = make(&made);
    assert_int_equal(rm_merge_add(&merge, run), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "another job: id 4712"));
    rm_run_free(run);
    /* Nothing of it was taken; and what is expected is missing. */
    assert_ok(rm_merge_expect(&merge, "n1"));
    assert_ok(rm_merge_expect(&merge, "n2"));
    run = made_of(&merge);
    assert_int_equal(run->rank_count, 1);
    assert_int_equal(run->node_count, 2);
    assert_string_equal(run->nodes[0].state, "stopped");
    assert_string_equal(run->nodes[1].name, "n2");
    assert_string_equal(run->nodes[1].state, "missing");
    assert_int_equal(run->nodes[1].duration_ns, -1);
    rm_run_free(run);
}

/* Two that have the figures of one machine: a monitor beside the job, and a rank. */
TEST(a_machine_counts_once)
{
    struct made made[2] = {a_rank("n1", 0, 0, 0), a_rank("n1", 0, 1, 0)};
    made[1].rows = 80;
    for (int turn = 0; turn < 2; turn++) {
        struct resmon_run *run = merged(made, 2);
        struct resmon_run *longer = make(made[0].rows > made[1].rows ? &made[0] : &made[1]);
        assert_close(column_of(run, RM_NODE_ENERGY_CPU, "n1")->last,
                     column_of(longer, RM_NODE_ENERGY_CPU, NULL)->last);
        assert_close(column_of(run, RM_NODE_ENERGY_CPU, "")->last,
                     column_of(longer, RM_NODE_ENERGY_CPU, NULL)->last);
        rm_run_free(longer);
        rm_run_free(run);
        const struct made first = made[0];
        made[0] = made[1];
        made[1] = first;
    }
}

/* One process after the other had the figures of the machine: in any order they are one. */
TEST(a_machine_is_watched_on)
{
    struct made made[3] = {a_rank("n1", 0, 0, 0), a_rank("n1", 0, 1, 0), a_rank("n1", 0, 2, 0)};
    made[1].start_ms = made[0].start_ms + (int64_t)made[0].rows * made[0].interval_ms + 3;
    made[2].start_ms = made[1].start_ms + (int64_t)made[1].rows * made[1].interval_ms;
    struct resmon_run *wanted = merged(made, 3);
    double energy = 0.0, highest = 0.0;
    for (size_t i = 0; i < 3; i++) {
        struct resmon_run *part = make(&made[i]);
        energy += column_of(part, RM_NODE_ENERGY_CPU, NULL)->last;
        highest = rm_greater(column_of(part, RM_NODE_CPU_PERCENT, NULL)->max, highest);
        rm_run_free(part);
    }
    assert_close(column_of(wanted, RM_NODE_ENERGY_CPU, "n1")->last, energy);
    assert_close(column_of(wanted, RM_NODE_CPU_PERCENT, "n1")->max, highest);
    assert_int_equal(wanted->nodes[0].host_duration_ns, wanted->nodes[0].duration_ns);
    const struct made other[3] = {made[2], made[0], made[1]};
    struct resmon_run *run = merged(other, 3);
    assert_same(run, wanted);
    rm_run_free(run);
    rm_run_free(wanted);
}

TEST(the_worst_end_is_that_of_the_job)
{
    struct made made[5];
    size_t count = a_job(made);
    made[2].reason = RESMON_END_KILLED;
    made[3].reason = RESMON_END_FAILED;
    struct resmon_run *run = merged(made, count);
    assert_int_equal(run->end.reason, RESMON_END_KILLED);
    rm_run_free(run);
}

/* Where a monitor of the job measured all of its processes, ranks are not counted once more. */
TEST(a_monitor_of_the_job_counts_instead_of_its_ranks)
{
    struct made made[6];
    size_t count = a_job(made);
    made[count] = a_rank("n2", 1, -1, 0);
    made[count].is_of_job = true;
    made[count].start_ms = -100;
    made[count++].rows = 99;
    struct resmon_run *run = merged(made, count), *of_job = make(&made[5]);
    double cpu_s = column_of(of_job, RM_TREE_CPU_TIME, NULL)->last;
    double rss = column_of(of_job, RM_TREE_MEM_RSS, NULL)->max;
    assert_int_equal(run->rank_count, 5);
    assert_int_equal(run->nodes[1].ranks, 2);
    assert_int_equal(run->nodes[0].has_job, 0);
    assert_int_equal(run->nodes[1].has_job, 1);
    assert_close(column_of(run, RM_TREE_CPU_TIME, "n2")->last, cpu_s);
    assert_close(column_of(run, RM_TREE_MEM_RSS, "n2")->max, rss);
    assert_close(run->nodes[1].cpu_s, cpu_s);
    assert_close(run->nodes[1].used_bytes, rss);
    double sum = cpu_s;
    for (size_t i = 0; i < 5; i++) {
        struct resmon_run *part = make(&made[i]);
        sum += i == 2 || i == 3 ? 0.0 : column_of(part, RM_TREE_CPU_TIME, NULL)->last;
        rm_run_free(part);
    }
    assert_close(column_of(run, RM_TREE_CPU_TIME, "")->last, sum);
    assert_true(column_of(run, RM_PERF_IPC, "n2")->n > 0); /* of the ranks */
    const struct made other[6] = {made[5], made[3], made[4], made[0], made[2], made[1]};
    struct resmon_run *again = merged(other, count);
    assert_same(again, run);
    struct rm_merge merge;
    rm_merge_begin(&merge);
    assert_ok(rm_merge_add(&merge, run)); /* a merged run */
    rm_run_free(again);
    again = made_of(&merge);
    assert_same(again, run);
    rm_run_free(again);
    rm_run_free(of_job);
    rm_run_free(run);
}

static double cpu_of_ranks(const struct made *made, const char *node)
{
    double sum = 0.0;
    for (size_t i = 0; i < 5; i++) {
        struct resmon_run *part = make(&made[i]);
        bool is_there = node[0] == '\0' || strcmp(made[i].node, node) == 0;
        sum += is_there ? column_of(part, RM_TREE_CPU_TIME, NULL)->last : 0.0;
        rm_run_free(part);
    }
    return sum;
}

/* A monitor that did not see all of it does not count; one that does not lead its host does. */
TEST(a_monitor_that_did_not_see_all_of_the_job)
{
    static const struct {
        int64_t start_ms;
        size_t rows;
        bool is_blind, is_host;
        uint64_t has_job;
    } cases[] = {
        {-100, 99, false, true, 1}, {-100, 99, false, false, 1},   {-100, 99, true, true, 0},
        {3500, 60, false, true, 0}, {-20000, 100, false, true, 0},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        struct made made[6];
        size_t count = a_job(made);
        made[count] = a_rank("n2", 1, -1, 0);
        made[count].is_of_job = true;
        made[count].is_blind = cases[i].is_blind;
        made[count].is_host = cases[i].is_host;
        made[count].start_ms = cases[i].start_ms;
        made[count++].rows = cases[i].rows;
        struct resmon_run *run = merged(made, count), *of_job = make(&made[5]);
        assert_int_equal(run->nodes[1].has_job, cases[i].has_job);
        assert_close(column_of(run, RM_TREE_CPU_TIME, "n2")->last,
                     cases[i].has_job != 0 ? column_of(of_job, RM_TREE_CPU_TIME, NULL)->last
                                           : cpu_of_ranks(made, "n2"));
        const struct made other[6] = {made[5], made[2], made[4], made[0], made[3], made[1]};
        struct resmon_run *again = merged(other, count);
        assert_same(again, run);
        rm_run_free(again);
        rm_run_free(of_job);
        rm_run_free(run);
    }
}

/* One after the other, two monitors saw all of it. */
TEST(monitors_of_a_job_one_after_the_other)
{
    struct made made[7];
    size_t count = a_job(made);
    for (int i = 0; i < 2; i++) {
        made[count] = a_rank("n1", 0, -1 - i, 0);
        made[count].is_of_job = true;
        made[count].start_ms = -100 + 5000 * i;
        made[count++].rows = 50;
    }
    struct resmon_run *run = merged(made, count);
    double sum = 0.0;
    for (size_t i = 5; i < 7; i++) {
        struct resmon_run *part = make(&made[i]);
        sum += column_of(part, RM_TREE_CPU_TIME, NULL)->last;
        rm_run_free(part);
    }
    assert_int_equal(run->nodes[0].has_job, 1);
    assert_close(column_of(run, RM_TREE_CPU_TIME, "n1")->last, sum);
    const struct made other[7] = {made[6], made[3], made[0], made[4], made[5], made[2], made[1]};
    struct resmon_run *again = merged(other, count);
    assert_same(again, run);
    rm_run_free(again);
    rm_run_free(run);
}
