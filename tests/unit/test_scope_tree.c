/* SPDX-License-Identifier: MIT */
/*
 * store/scope_tree and run/decode_scopes: merging keeps the variance, and a tree that moves counts
 * each call once, at every instant at which the program may be killed.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test.h"

#include "base/text.h"
#include "made_block.h"
#include "random.h"
#include "run/record.h"
#include "run/run.h"
#include "single_step.h"
#include "store/events.h"
#include "store/layout.h"
#include "store/scope_energy.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"

/* ---- a block with trees --------------------------------------------------------------------- */

/* Node 1: root of the retired; nodes 2 and 3: roots of threads 0 and 1. */
static void lay_out_roots(struct rm_block *block)
{
    block->header->has_scopes = 1;
    block->header->node_count = block->header->sizes.nodes;
    block->header->retired_root = rm_node_ref_of(1);
    for (uint64_t i = 0; i < 2; i++) {
        struct rm_scope_thread_record *thread = rm_block_record(block, RM_SECTION_THREADS, i);
        thread->state = RM_THREAD_LIVE;
        thread->root = rm_node_ref_of(2 + i);
        thread->frames[0].token = RM_ROOT_TOKEN;
    }
    for (uint64_t i = 1; i < block->header->sizes.sites; i++) {
        struct rm_site_record *site = rm_block_record(block, RM_SECTION_SITES, i);
        (void)snprintf(site->name, sizeof site->name, "site %u", (unsigned)i);
        site->is_set = 1;
    }
}

static struct rm_block block_with_roots(void)
{
    struct rm_block_sizes sizes = small_sizes();
    struct rm_block block = made_block(&sizes);
    lay_out_roots(&block);
    return block;
}

static struct rm_scope_node *add_child(struct rm_block *block, uint64_t parent, uint64_t index,
                                       uint32_t site)
{
    struct rm_scope_node *above = rm_block_record(block, RM_SECTION_NODES, parent);
    struct rm_scope_node *node = rm_block_record(block, RM_SECTION_NODES, index);
    node->site = site;
    node->next = above->first_child;
    node->meters[0].threads = 1;
    node->min = UINT64_MAX;
    above->first_child = rm_node_ref_of(index);
    return node;
}

/* As the scope's writer does. */
static void record(struct rm_scope_node *node, uint64_t ticks)
{
    struct rm_wall_sums *sums = &node->sums[node->wall_version & 1];
    sums->calls++;
    sums->total += ticks;
    sums->squares = rm_wide_add(sums->squares, rm_wide_product(ticks, ticks));
    node->min = ticks < node->min ? ticks : node->min;
    node->max = ticks > node->max ? ticks : node->max;
}

static resmon_run *decoded(const struct rm_block *block)
{
    const struct rm_decode how = {.parts = RM_PART_SCOPES};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    rm_run_decode_scopes(block, &how, 1.0, run); /* a tick is a nanosecond */
    assert_ok(rm_run_check_memory(run));
    return run;
}

/* ---- variance ------------------------------------------------------------------------------- */

/* Two passes, in long double: the definition. */
static double exact_deviation(const uint64_t *durations, size_t count)
{
    long double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (long double)durations[i];
    }
    long double mean = sum / (long double)count;
    for (size_t i = 0; i < count; i++) {
        long double apart = (long double)durations[i] - mean;
        squares += apart * apart;
    }
    return (double)sqrtl(squares / (long double)(count - 1));
}

TEST(the_deviation_of_long_scopes_that_hardly_differ)
{
    enum { COUNT = 30000 };
    static uint64_t durations[COUNT];
    struct random random = {31};
    static const uint64_t levels[] = {1000, 1000000000, 1000000000000};
    for (size_t l = 0; l < 3; l++) {
        struct rm_block block = block_with_roots();
        /* The same path among the retired and in two threads, each about its own first duration. */
        struct rm_scope_node *nodes[] = {add_child(&block, 1, 4, 1), add_child(&block, 2, 5, 1),
                                         add_child(&block, 3, 6, 1)};
        for (size_t i = 0; i < COUNT; i++) {
            durations[i] = levels[l] + random_below(&random, 21) - 10;
            record(nodes[i % 7 == 0 ? 0 : i % 3 == 0 ? 1 : 2], durations[i]);
        }
        resmon_run *run = decoded(&block);
        double exact = exact_deviation(durations, COUNT);
        assert_int_equal(run->scope_count, 1);
        assert_int_equal(run->scopes[0].calls, COUNT);
        assert_near(run->scopes[0].wall_stddev_ns, exact, 1e-6 * exact);
        assert_true(run->scopes[0].wall_min_ns >= (double)levels[l] - 10);
        resmon_run_free(run);
        free_block(&block);
    }
}

TEST(the_deviation_survives_a_slow_first_call)
{
    enum { COUNT = 10000 };
    static uint64_t durations[COUNT];
    struct random random = {32};
    struct rm_block block = block_with_roots();
    struct rm_scope_node *node = add_child(&block, 2, 4, 1);
    for (size_t i = 0; i < COUNT; i++) {
        durations[i] = (i == 0 ? 1000000000 : 1000000) + random_below(&random, 1000);
        record(node, durations[i]);
    }
    resmon_run *run = decoded(&block);
    double exact = exact_deviation(durations, COUNT);
    assert_near(run->scopes[0].wall_stddev_ns, exact, 1e-6 * exact);
    resmon_run_free(run);
    free_block(&block);
}

TEST(merging_keeps_the_variance)
{
    static const uint64_t durations[] = {1000000003, 999999990,  1000000010,
                                         1000000000, 1000000007, 999999995};
    enum { COUNT = sizeof durations / sizeof durations[0] };
    for (size_t first = 0; first <= COUNT;
         first++) { /* so many in the one, the rest in the other */
        struct rm_scope_node a = {.min = UINT64_MAX}, b = a;
        for (size_t i = 0; i < COUNT; i++) {
            record(i < first ? &a : &b, durations[i]);
        }
        struct rm_scope_wall of_a = rm_node_wall(&a), of_b = rm_node_wall(&b);
        struct rm_scope_wall sum = rm_scope_wall_merge(&of_a, &of_b);
        double exact = exact_deviation(durations, COUNT);
        assert_int_equal(sum.sums.calls, COUNT);
        assert_int_equal(sum.sums.total, UINT64_C(6000000005));
        assert_int_equal(sum.min, 999999990);
        assert_int_equal(sum.max, 1000000010);
        assert_near(rm_scope_wall_variance(&sum), exact * exact, 1e-12 * exact * exact);
    }
}

/* Months of ticks, a difference of one: no digit is lost. */
TEST(the_variance_of_long_durations)
{
    const uint64_t ticks = UINT64_C(1) << 54;
    struct rm_scope_node node = {.min = UINT64_MAX};
    record(&node, ticks);
    struct rm_scope_wall wall = rm_node_wall(&node);
    assert_true(isnan(rm_scope_wall_variance(&wall)));
    record(&node, ticks + 2);
    wall = rm_node_wall(&node);
    assert_true(rm_scope_wall_variance(&wall) == 2.0);
    record(&node, ticks + 1);
    wall = rm_node_wall(&node);
    assert_true(rm_scope_wall_variance(&wall) == 1.0);
    wall.sums.squares = (struct rm_wide){0, 0}; /* of a damaged file: no number below 0 */
    (void)rm_scope_wall_variance(&wall);
}

TEST(merging_with_nothing_changes_nothing)
{
    struct rm_scope_wall some = {
        .sums = {.calls = 2, .total = 30, .squares = {500, 0}}, .min = 10, .max = 20};
    struct rm_scope_wall none = {.min = UINT64_MAX};
    struct rm_scope_wall merged = rm_scope_wall_merge(&some, &none);
    assert_memory_equal(&merged, &some, sizeof merged);
    merged = rm_scope_wall_merge(&none, &some);
    assert_memory_equal(&merged, &some, sizeof merged);
    struct rm_scope_meters meters = {
        .threads = 1, .rss_calls = 6, .rss_peak = 7, .rss_sampled = 8, .cost_ticks = 9};
    struct rm_scope_meters nothing = {0};
    struct rm_scope_meters same = rm_scope_meters_merge(&meters, &nothing);
    assert_memory_equal(&same, &meters, sizeof same);
    struct rm_scope_meters twice = rm_scope_meters_merge(&meters, &meters);
    assert_int_equal(twice.threads, 2);
    assert_int_equal(twice.rss_calls, 12);
    assert_int_equal(twice.rss_peak, 7); /* a maximum, no sum */
}

/* ---- counters ------------------------------------------------------------------------------- */

TEST(the_share_of_time_in_which_counters_ran)
{
    static const struct {
        bool is_counted;
        uint64_t enabled, running;
        double share, count;
    } cases[] = {
        {true, 10, 10, 1.0, 6.0},        {true, 10, 5, 0.5, 12.0},
        {true, 0, 0, 1.0, 6.0}, /* RDPMC, and a page without a clock */
        {true, 10, 0, 0.0, (double)NAN}, {false, 0, 0, (double)NAN, (double)NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_block block = block_with_roots();
        record(add_child(&block, 2, 5, 1), 50);
        rm_scope_counter_at(&block, 0)->scale = 1.0;
        const struct rm_counted_call call = {.call = {1.0, 50, {1, 50}},
                                             .enabled = cases[i].enabled,
                                             .running = cases[i].running,
                                             .values = {6}};
        if (cases[i].is_counted) {
            rm_scope_counts_add(&block, rm_node_ref_of(5), &call);
        }
        resmon_run *run = decoded(&block);
        const resmon_run_scope *scope = &run->scopes[0];
        static const resmon_estimate none = {RM_NAN, RM_NAN, RM_NAN};
        const resmon_estimate *count = scope->counters != NULL ? scope->counters : &none;
        assert_true(isnan(cases[i].share) == isnan(scope->counter_running));
        assert_true(isnan(cases[i].count) == isnan(count->value));
        if (!isnan(cases[i].share)) {
            assert_near(scope->counter_running, cases[i].share, 1e-12);
        }
        if (!isnan(cases[i].count)) {
            assert_near(count->value, cases[i].count, 1e-12);
            assert_true(count->low == count->value && count->high == count->value);
        }
        resmon_run_free(run);
        free_block(&block);
    }
}

static void set_counts(struct rm_block *block, uint64_t node, const struct rm_scope_counts *counts)
{
    struct rm_scope_counts_record *record = rm_scope_counts_record(block, rm_node_ref_of(node));
    record->copies[++record->version & 1] = *counts;
}

/* 2 of 5 calls, 300 of 500 ticks, in half of which the counters ran. */
TEST(what_some_calls_counted_stands_for_all)
{
    struct rm_block block = block_with_roots();
    struct rm_scope_node *node = add_child(&block, 2, 4, 1);
    for (int i = 0; i < 5; i++) {
        record(node, 100);
    }
    struct rm_scope_counts counts = {
        .enabled = 80,
        .running = 80,
        .tally = {.calls = 2, .drawn = 1, .seen = 300, .extent = 300.0},
        .fields = {{.sum = 20, .total = 30.0, .variance = 4.0, .squares = 16.0, .rate = 0.1}}};
    rm_scope_counter_at(&block, 0)->scale = 0.5;
    rm_scope_counter_at(&block, 1)->status = RESMON_ENODEV;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        counts.running = is_shared ? 40 : 80;
        set_counts(&block, 4, &counts);
        resmon_run *run = decoded(&block);
        const resmon_run_scope *scope = &run->scopes[0];
        double whole = is_shared ? 2.0 : 1.0;
        assert_int_equal(scope->counter_calls, 2);
        assert_int_equal(scope->counter_provenance, RESMON_PROVENANCE_SAMPLED);
        assert_near(scope->counters[0].value, 0.5 * whole * (30.0 + 0.1 * 200.0), 1e-12);
        assert_near(scope->counters[0].low, 0.5 * whole * 20.0, 1e-12); /* certain */
        assert_true(isnan(scope->counters[0].high));                    /* too few were drawn */
        assert_true(isnan(scope->counters[1].value) && isnan(scope->counters[1].low));
        resmon_run_free(run);
    }
    counts.tally.drawn = 40;
    set_counts(&block, 4, &counts);
    resmon_run *run = decoded(&block);
    double low = run->scopes[0].counters[0].low, high = run->scopes[0].counters[0].high;
    assert_near(high - 50.0, 50.0 - low, 1e-9);
    assert_true(high > 50.0 + 2.0 * 1.96 && low >= 20.0);
    resmon_run_free(run);
    free_block(&block);
}

/* A thread may have no descriptor left for counters; and it may end. */
TEST(threads_without_counters_go_with_their_time)
{
    struct rm_block block = block_with_roots();
    struct rm_scope_node *nodes[] = {add_child(&block, 1, 4, 1), add_child(&block, 2, 5, 1),
                                     add_child(&block, 3, 6, 1)};
    const struct rm_scope_counts counts = {.tally = {.calls = 10, .seen = 1000, .extent = 1000.0},
                                           .fields = {{.sum = 60, .total = 60.0, .rate = 0.06}}};
    for (int i = 0; i < 10; i++) {
        record(nodes[1], 100);
        record(nodes[2], 200);
    }
    rm_scope_counter_at(&block, 0)->scale = 1.0;
    set_counts(&block, 5, &counts);
    for (uint64_t moved = 4; moved < 7; moved++) {
        if (moved > 4) {
            rm_node_move(&block, rm_node_ref_of(moved), rm_node_ref_of(4));
        }
        resmon_run *run = decoded(&block);
        const resmon_run_scope *scope = &run->scopes[0];
        assert_int_equal(scope->calls, 20);
        assert_int_equal(scope->counter_calls, 10);
        assert_int_equal(scope->counter_provenance, RESMON_PROVENANCE_SAMPLED);
        assert_near(scope->counters[0].value, 180.0, 1e-9);
        assert_near(scope->counters[0].low, 60.0, 0.0);
        assert_true(isnan(scope->counters[0].high));
        resmon_run_free(run);
    }
    free_block(&block);
}

/* ---- moving --------------------------------------------------------------------------------- */

struct move {
    struct rm_block block;
    rm_node_ref source, target;
    resmon_run_scope before;
    resmon_estimate counters[RM_SCOPE_COUNTERS]; /* of `before` */
};

static void set_energy(struct rm_block *block, uint64_t node, double joules, double doubt)
{
    struct rm_scope_energy_record *energy = rm_block_record(block, RM_SECTION_SCOPE_ENERGY, node);
    energy->seen = 1000 * node;
    energy->sums[energy->version & 1] = (struct rm_scope_energy){joules, doubt};
}

/* Two calls of eight, with a prediction for the others that moves along. */
static const struct rm_scope_counts source_counts = {
    .enabled = 10,
    .running = 10,
    .tally = {.calls = 2, .drawn = 1, .seen = 5000000000, .extent = 5e9},
    .fields = {{.sum = 12, .total = 20.0, .variance = 4.0, .squares = 16.0, .rate = 1e-8},
               {.sum = 24, .total = 40.0, .variance = 8.0, .squares = 64.0, .rate = 2e-8}}};

/* Settled. */
static const struct rm_scope_counts target_counts = {
    .enabled = 10,
    .running = 10,
    .tally = {.calls = 5, .seen = 5000000030, .extent = 5e9},
    .fields = {{.sum = 30, .total = 30.0}, {.sum = 60, .total = 60.0}}};

static void set_tallies(struct rm_block *block, uint64_t node, const struct rm_tallies *tallies)
{
    rm_scope_tallies_publish(rm_scope_tallies_record(block, rm_node_ref_of(node)), tallies,
                             RM_TALLIES - 1);
}

/* The I/O of the source at half of its calls, with predictions for the others that move along. */
static const struct rm_tallies source_tallies = {
    .tallies = {[RM_TALLY_CPU] = {.calls = 8, .seen = 8000000604},
                [RM_TALLY_IO] = {.calls = 4, .drawn = 2, .seen = 5, .extent = 6.0}},
    .fields = {
        [RM_FIELD_CPU_NS] = {.sum = 500, .total = 500.0},
        [RM_FIELD_IO] = {.sum = 40, .total = 50.0, .variance = 9.0, .squares = 9.0, .rate = 10.0}}};

/* Settled. */
static const struct rm_tallies target_tallies = {
    .tallies = {[RM_TALLY_CPU] = {.calls = 5}, [RM_TALLY_IO] = {.calls = 2, .drawn = 1, .seen = 5}},
    .fields = {[RM_FIELD_CPU_NS] = {.sum = 100, .total = 100.0},
               [RM_FIELD_IO] = {.sum = 20, .total = 55.0, .variance = 4.0, .squares = 4.0}}};

/* One path: node 4 among the retired, node 5 in the tree of thread 0. */
static void prepare_move(struct move *move, int target_is_empty)
{
    struct rm_scope_node *target = add_child(&move->block, 1, 4, 1);
    struct rm_scope_node *source = add_child(&move->block, 2, 5, 1);
    struct rm_scope_meters meters = {.threads = 1,
                                     .rss_calls = 8,
                                     .rss_peak = 4096,
                                     .away = 300,
                                     .tasks_open = 2,
                                     .task_starts = 7};
    target->meters[0].threads = target_is_empty ? 0 : 3;
    for (uint64_t i = 0; i < 5 && !target_is_empty; i++) {
        record(target, 1000000000 + 3 * i);
    }
    for (uint64_t i = 0; i < 8; i++) {
        record(source, 1000000100 - 7 * i);
    }
    meters.folded = 2;
    rm_node_publish_meters(source, &meters);
    set_tallies(&move->block, 5, &source_tallies);
    if (!target_is_empty) {
        set_tallies(&move->block, 4, &target_tallies);
    }
    set_energy(&move->block, 4, target_is_empty ? 0.0 : 11.0, target_is_empty ? 0.0 : 1.0);
    set_energy(&move->block, 5, 7.0, 0.25);
    rm_scope_counter_at(&move->block, 0)->scale = 1.0;
    rm_scope_counter_at(&move->block, 1)->scale = 0.5;
    if (!target_is_empty) {
        set_counts(&move->block, 4, &target_counts);
    }
    set_counts(&move->block, 5, &source_counts);
    move->block.header->energy_divisions = 2;
    move->source = rm_node_ref_of(5);
    move->target = rm_node_ref_of(4);
    resmon_run *run = decoded(&move->block);
    assert_int_equal(run->scope_count, 1);
    move->before = run->scopes[0]; /* its numbers; its texts go with the run */
    memcpy(move->counters, run->scopes[0].counters, run->counter_count * sizeof *move->counters);
    move->before.counters = move->counters;
    resmon_run_free(run);
}

static void assert_nothing_lost(void *context)
{
    const struct move *move = context;
    resmon_run *run = decoded(&move->block);
    assert_int_equal(run->scope_count, 1);
    const resmon_run_scope *now = &run->scopes[0], *before = &move->before;
    assert_int_equal(now->calls, before->calls);
    assert_int_equal(now->folded, before->folded);
    assert_int_equal(now->threads, before->threads);
    assert_int_equal(now->open, 2);
    assert_true(now->self_ns == now->wall_ns - 300.0);
    assert_true(now->wall_ns == before->wall_ns);
    assert_true(now->wall_min_ns == before->wall_min_ns && now->wall_max_ns == before->wall_max_ns);
    assert_near(now->wall_stddev_ns, before->wall_stddev_ns, 1e-6 * before->wall_stddev_ns);
    assert_int_equal(now->cpu_calls, before->cpu_calls);
    assert_near(now->cpu_ns.value, before->cpu_ns.value, 0.0);
    assert_true(now->cpu_ns.value >= 500.0);
    assert_int_equal(now->io_calls, before->io_calls);
    assert_near(now->io_read_chars.value, before->io_read_chars.value, 0.0);
    assert_near(now->io_read_chars.low, before->io_read_chars.low, 0.0);
    assert_true(now->io_read_chars.value >= 80.0); /* 50, and 3 calls that were not metered */
    assert_int_equal(now->rss_calls, before->rss_calls);
    assert_near(now->rss_peak_bytes, before->rss_peak_bytes, 0.0);
    assert_near(now->energy_j, before->energy_j, 0.0);
    assert_near(now->energy_uncertainty_j, before->energy_uncertainty_j, 0.0);
    assert_true(now->energy_j >= 7.0);
    assert_int_equal(now->counter_calls, before->counter_calls);
    for (size_t i = 0; i < 2; i++) {
        assert_near(now->counters[i].value, before->counters[i].value, 0.0);
        assert_near(now->counters[i].low, before->counters[i].low, 0.0);
    }
    assert_true(now->counters[0].value >= 50.0); /* 20, and 3 s that were not counted */
    resmon_run_free(run);
}

static void do_move(void *context)
{
    struct move *move = context;
    rm_node_move(&move->block, move->source, move->target);
}

static bool is_any_moved(const struct rm_node_moved *moved)
{
    bool is_any = moved->wall || moved->meters;
    for (int kind = 0; kind < RM_FACETS; kind++) {
        is_any = is_any || moved->facets[kind];
    }
    return is_any;
}

static void assert_moved(const struct move *move)
{
    const struct rm_scope_node *source = rm_node_at(&move->block, move->source);
    const struct rm_scope_node *target = rm_node_at(&move->block, move->target);
    assert_int_equal(rm_node_wall(target).sums.calls, move->before.calls - move->before.open);
    assert_int_equal(rm_node_wall(source).sums.calls, 0);
    assert_int_equal(rm_node_wall(source).sums.total, 0);
    struct rm_tallies there = rm_scope_tallies_of(&move->block, move->target);
    struct rm_tallies gone = rm_scope_tallies_of(&move->block, move->source);
    assert_near((double)there.fields[RM_FIELD_CPU_NS].sum, move->before.cpu_ns.value, 0.0);
    assert_near(there.fields[RM_FIELD_IO].total, move->before.io_read_chars.value, 0.0);
    assert_near(there.fields[RM_FIELD_IO].rate, 0.0, 0.0);
    assert_int_equal(gone.fields[RM_FIELD_CPU_NS].sum, 0);
    assert_int_equal(gone.tallies[RM_TALLY_IO].calls, 0);
    struct rm_node_moved moved = rm_node_moved_of(&move->block, move->source);
    assert_false(is_any_moved(&moved)); /* the journal is closed */
    assert_near(rm_scope_energy_of(&move->block, move->target).joules, move->before.energy_j, 0.0);
    assert_near(rm_scope_energy_of(&move->block, move->source).joules, 0.0, 0.0);
    const struct rm_scope_energy_record *records =
        rm_block_record(&move->block, RM_SECTION_SCOPE_ENERGY, 0);
    assert_int_equal(records[4].seen, 9000); /* what had its energy is not given it again */
    assert_int_equal(records[5].seen, 0);
    struct rm_scope_counts counted = rm_scope_counts_of(&move->block, move->target);
    assert_int_equal(counted.tally.calls, move->before.counter_calls);
    assert_near(counted.fields[0].total, move->before.counters[0].value, 0.0);
    assert_near(counted.fields[0].rate, 0.0, 0.0);
    counted = rm_scope_counts_of(&move->block, move->source);
    assert_int_equal(counted.tally.calls, 0);
    assert_int_equal(counted.fields[0].sum, 0);
}

TEST(a_move_takes_everything_along)
{
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        struct move move = {.block = block_with_roots()};
        prepare_move(&move, is_empty);
        do_move(&move);
        assert_moved(&move);
        assert_nothing_lost(&move);
        free_block(&move.block);
    }
}

TEST(killed_at_any_instruction_of_a_move)
{
    struct rm_block_sizes sizes = small_sizes();
    uint64_t bytes;
    assert_ok(rm_block_measure(&sizes, &bytes));
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        struct move move = {0};
        void *memory = shared_memory(bytes);
        rm_block_format(&move.block, memory, &sizes);
        lay_out_roots(&move.block);
        prepare_move(&move, is_empty);
        size_t looks = single_step(memory, bytes, do_move, assert_nothing_lost, &move);
        assert_true(looks > 10);
        assert_moved(&move);
        (void)munmap(memory, bytes);
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

TEST(paths_merge_by_name_in_preorder)
{
    struct rm_block block = block_with_roots();
    struct rm_site_record *twin = rm_block_record(&block, RM_SECTION_SITES, 2);
    (void)rm_text_set(twin->name, sizeof twin->name, "site 1"); /* another place, the same name */
    record(add_child(&block, 2, 4, 1), 100);
    record(add_child(&block, 4, 5, 3), 60);
    record(add_child(&block, 3, 6, 2), 50);
    record(add_child(&block, 6, 7, 3), 10);
    record(add_child(&block, 6, 8, 4), 20);
    resmon_run *run = decoded(&block);
    static const struct {
        const char *name;
        int64_t parent;
        uint32_t depth, threads;
        uint64_t calls;
        double total, self;
    } expected[] = {
        {"site 1", -1, 0, 2, 2, 150, 60},
        {"site 3", 0, 1, 2, 2, 70, 70},
        {"site 4", 0, 1, 1, 1, 20, 20},
    };
    assert_int_equal(run->scope_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(run->scopes[i].name, expected[i].name);
        assert_int_equal(run->scopes[i].parent, expected[i].parent);
        assert_int_equal(run->scopes[i].depth, expected[i].depth);
        assert_int_equal(run->scopes[i].threads, expected[i].threads);
        assert_int_equal(run->scopes[i].calls, expected[i].calls);
        assert_true(run->scopes[i].wall_ns == expected[i].total);
        assert_true(run->scopes[i].self_ns == expected[i].self);
    }
    resmon_run_free(run);
    free_block(&block);
}

TEST(meters_of_some_calls_stand_for_all_and_say_so)
{
    struct rm_block block = block_with_roots();
    struct rm_scope_node *node = add_child(&block, 2, 4, 1);
    for (int i = 0; i < 10; i++) {
        record(node, 100);
    }
    struct rm_scope_meters meters = {
        .threads = 1, .rss_calls = 10, .rss_peak = 8192, .rss_sampled = 1};
    rm_node_publish_meters(node, &meters);
    struct rm_tallies tallies = {
        .tallies = {[RM_TALLY_CPU] = {.calls = 4, .drawn = 3, .seen = 700, .extent = 700.0},
                    [RM_TALLY_IO] = {.calls = 10, .seen = 10}},
        .fields = {[RM_FIELD_CPU_NS] = {.sum = 200, .total = 560.0, .rate = 0.8}}};
    for (uint64_t i = 0; i < RM_IO_FIELDS; i++) {
        tallies.fields[RM_FIELD_IO + i] = (struct rm_field){.sum = i + 1, .total = 17.0};
    }
    set_tallies(&block, 4, &tallies);
    resmon_run *run = decoded(&block);
    const resmon_run_scope *scope = &run->scopes[0];
    assert_near(scope->cpu_ns.value, 800.0, 1e-9); /* 560 of the first 700 ticks, and 0.8 of 300 */
    assert_near(scope->cpu_ns.low, 200.0, 0.0);
    assert_near(scope->cpu_ns.high, 1000.0, 0.0); /* what all calls lasted; too few were drawn */
    assert_int_equal(scope->cpu_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_true(scope->io_read_chars.value == 1.0 && scope->io_write_bytes.value == 6.0);
    assert_true(scope->io_write_bytes.low == 6.0 && scope->io_write_bytes.high == 6.0);
    assert_int_equal(scope->io_provenance, RESMON_PROVENANCE_MEASURED);
    assert_true(scope->rss_peak_bytes == 8192.0);
    assert_int_equal(scope->rss_provenance, RESMON_PROVENANCE_SAMPLED);
    resmon_run_free(run);
    free_block(&block);
}

/* Each row of store/scope_meters.def: its sum is the member that it names. */
TEST(each_figure_is_of_its_sum)
{
    struct rm_block block = block_with_roots();
    struct rm_tallies tallies = {.cost_ticks = 1};
    record(add_child(&block, 2, 4, 1), 1000000);
    for (size_t i = 0; i < RM_TALLIES; i++) {
        tallies.tallies[i] = (struct rm_tally){.calls = 1, .seen = i == RM_TALLY_IO ? 1 : 1000000};
    }
    for (size_t i = 0; i < RM_FIELDS; i++) {
        tallies.fields[i].sum = 100 + i;
    }
    set_tallies(&block, 4, &tallies);
    resmon_run *run = decoded(&block);
    const resmon_run_scope *scope = &run->scopes[0];
#define RM_METER(token, name, extent)         \
    assert_int_equal(scope->name##_calls, 1); \
    assert_int_equal(scope->name##_provenance, RESMON_PROVENANCE_MEASURED);
#define RM_METER_FIELD(token, field, member) \
    assert_near(scope->member.value, 100.0 + RM_FIELD_##field, 0.0);
#include "store/scope_meters.def"
    resmon_run_free(run);
    free_block(&block);
}

/* Neither where nothing is metered, nor in one without the meter inside of one that has it. */
TEST(what_is_not_metered_is_not_known)
{
    for (uint64_t has_tallies = 0; has_tallies < 2; has_tallies++) {
        struct rm_block_sizes sizes = small_sizes();
        sizes.scope_tallies = has_tallies;
        struct rm_block block = made_block(&sizes);
        lay_out_roots(&block);
        record(add_child(&block, 2, 4, 1), 100);
        record(add_child(&block, 4, 5, 2), 50);
        if (has_tallies) {
            set_tallies(&block, 4,
                        &(struct rm_tallies){.tallies = {[RM_TALLY_CPU] = {.calls = 1}},
                                             .fields = {[RM_FIELD_CPU_NS] = {.sum = 60}}});
        }
        resmon_run *run = decoded(&block);
        const resmon_run_scope *inner = &run->scopes[1];
        assert_true(isnan(run->scopes[0].cpu_ns.value) == !has_tallies);
        assert_true(isnan(inner->cpu_ns.value) && isnan(inner->cpu_ns.low) &&
                    isnan(inner->cpu_ns.high));
        assert_true(isnan(inner->pcpu_ns.value) && isnan(inner->io_read_chars.value));
        resmon_run_free(run);
        free_block(&block);
    }
}

static void open_frame(struct rm_block *block, uint64_t thread, uint64_t depth, uint64_t node,
                       uint64_t start)
{
    struct rm_scope_thread_record *record = rm_block_record(block, RM_SECTION_THREADS, thread);
    record->frames[depth] =
        (struct rm_scope_frame){.token = 100 + depth, .start = start, .node = rm_node_ref_of(node)};
}

static struct rm_tallies io_of(uint64_t calls, uint64_t sum, double total, double variance)
{
    return (struct rm_tallies){
        .tallies = {[RM_TALLY_IO] = {.calls = calls, .drawn = calls, .seen = 10}},
        .fields = {[RM_FIELD_IO] = {
                       .sum = sum, .total = total, .variance = variance, .squares = variance}}};
}

/* What a counter has: the sums of the tally, as the meter of I/O has them. */
static struct rm_scope_counts counts_of(const struct rm_tallies *tallies, uint64_t running)
{
    struct rm_scope_counts counts = {.enabled = 100,
                                     .running = running,
                                     .tally = tallies->tallies[RM_TALLY_IO],
                                     .fields = {tallies->fields[RM_FIELD_IO]}};
    counts.tally.seen = 1000;
    return counts;
}

static void make_estimates(struct rm_block *block, uint64_t running)
{
    const struct rm_tallies exact = io_of(10, 1000, 0.0, 0.0);
    const struct rm_tallies above = io_of(5, 300, 900.0, 1.0), small = io_of(5, 100, 700.0, 1.0);
    const struct rm_tallies below = io_of(5, 10, 5000.0, 1.0);
    struct rm_scope_node *nodes[] = {add_child(block, 2, 4, 1), add_child(block, 4, 5, 2),
                                     add_child(block, 4, 6, 3), add_child(block, 5, 7, 4)};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        for (int k = 0; k < 10; k++) {
            record(nodes[i], 100);
        }
    }
    const struct rm_tallies *const found[] = {&exact, &above, &small, &below};
    rm_scope_counter_at(block, 0)->scale = 2.0;
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        struct rm_scope_counts counts = counts_of(found[i], running);
        set_tallies(block, 4 + i, found[i]);
        set_counts(block, 4 + i, &counts);
    }
}

static const resmon_run_scope *scope_of(const resmon_run *run, const char *name)
{
    size_t i = 0;
    while (i < run->scope_count && strcmp(run->scopes[i].name, name) != 0) {
        i++;
    }
    assert_true(i < run->scope_count);
    return &run->scopes[i];
}

static double read_chars_of(const resmon_run *run, const char *name)
{
    return scope_of(run, name)->io_read_chars.value;
}

static double count_of(const resmon_run *run, const char *name)
{
    return scope_of(run, name)->counters[0].value;
}

/* 900 and 700 in 1000: of what is not certain, 600 of each, there is room for half.  What is inside
 * of one that is an estimate itself has the room of the exact one around. */
TEST(estimates_fit_into_what_is_exact_around_them)
{
    struct rm_block block = block_with_roots();
    make_estimates(&block, 100);
    resmon_run *run = decoded(&block);
    assert_near(read_chars_of(run, "site 1"), 1000.0, 0.0);
    assert_near(read_chars_of(run, "site 2"), 600.0, 1e-9);
    assert_near(read_chars_of(run, "site 3"), 400.0, 1e-9);
    assert_near(read_chars_of(run, "site 4"), 1000.0, 1e-9);
    assert_near(count_of(run, "site 1"), 2.0 * 1000.0, 0.0);
    assert_near(count_of(run, "site 2"), 2.0 * 600.0, 1e-9);
    assert_near(count_of(run, "site 3"), 2.0 * 400.0, 1e-9);
    assert_near(count_of(run, "site 4"), 2.0 * 1000.0, 1e-9);
    assert_near(scope_of(run, "site 4")->counters[0].high, 2.0 * 1000.0, 1e-9);
    resmon_run_free(run);
    /* An instance that is open is not yet in the sums: no bound. */
    open_frame(&block, 0, 1, 4, 5000);
    run = decoded(&block);
    assert_near(read_chars_of(run, "site 1"), 1000.0, 0.0);
    assert_near(read_chars_of(run, "site 2"), 900.0, 0.0);
    assert_near(read_chars_of(run, "site 4"), 5000.0, 0.0);
    assert_near(count_of(run, "site 2"), 2.0 * 900.0, 0.0);
    assert_near(count_of(run, "site 4"), 2.0 * 5000.0, 0.0);
    resmon_run_free(run);
    free_block(&block);
}

/* What counters counted that were shared is itself scaled: it is no bound. */
TEST(shared_counters_bound_nothing)
{
    struct rm_block block = block_with_roots();
    make_estimates(&block, 50);
    resmon_run *run = decoded(&block);
    assert_near(count_of(run, "site 1"), 2.0 * 2.0 * 1000.0, 1e-9);
    assert_near(count_of(run, "site 2"), 2.0 * 2.0 * 900.0, 1e-9);
    assert_near(count_of(run, "site 4"), 2.0 * 2.0 * 5000.0, 1e-9);
    assert_near(read_chars_of(run, "site 2"), 600.0, 1e-9);
    resmon_run_free(run);
    free_block(&block);
}

/* ---- open scopes of a recording ------------------------------------------------------------- */

/* Nothing tells when it was killed but what had happened by then. */
TEST(open_scopes_last_as_long_as_what_is_inside_of_them)
{
    struct rm_block block = block_with_roots();
    struct rm_scope_node *outer = add_child(&block, 2, 4, 1);
    struct rm_scope_node *inner = add_child(&block, 4, 5, 2);
    struct rm_scope_node *other = add_child(&block, 4, 6, 3);
    (void)add_child(&block, 3, 7, 4);
    record(outer, 1000); /* an instance before, with 900 of them inside */
    record(inner, 400);
    record(inner, 500);
    record(inner, 600); /* in the one that is open */
    record(other, 50);
    open_frame(&block, 0, 1, 4, 5000);
    open_frame(&block, 1, 1, 7, 5200);
    assert_int_equal(rm_scope_end_ticks(&block), 5000 + 900 + 650 - 1000);
    resmon_run *run = decoded(&block);
    assert_string_equal(run->scopes[0].name, "site 1");
    assert_true(run->scopes[0].open_ns == 550.0);
    double inside = run->scopes[1].wall_ns + run->scopes[2].wall_ns;
    assert_true(run->scopes[0].wall_ns + run->scopes[0].open_ns >= inside);
    assert_true(run->scopes[0].self_ns == 0.0);
    assert_string_equal(run->scopes[3].name, "site 4");
    assert_true(run->scopes[3].open_ns == 350.0); /* until the same moment */
    resmon_run_free(run);
    open_frame(&block, 0, 2, 6, 9000); /* began after all that */
    assert_int_equal(rm_scope_end_ticks(&block), 9000);
    struct rm_event_writer writer;
    rm_events_open(&writer, &block, 1, 77);
    rm_events_add(&writer, 9500, 20, 4, 1);
    assert_int_equal(rm_scope_end_ticks(&block), 9520);
    free_block(&block);
}

/* Thread 1 has "site 4" open around what it does for "site 1" of thread 0. */
TEST(time_of_hung_scopes_is_where_they_hang)
{
    struct rm_block block = block_with_roots();
    record(add_child(&block, 2, 4, 1), 1000);
    (void)add_child(&block, 3, 5, 1); /* leads to it */
    struct rm_scope_node *hung = add_child(&block, 5, 6, 2);
    struct rm_scope_node *around = add_child(&block, 3, 7, 4);
    hung->kind = RM_NODE_HUNG;
    record(hung, 700);
    record(hung, 900);
    record(add_child(&block, 6, 8, 3), 600);
    block.header->sizes.threads = 2;
    ((struct rm_scope_node *)rm_node_at(&block, rm_node_ref_of(5)))->meters[0].threads = 0;
    rm_node_publish_meters(around, &(struct rm_scope_meters){.threads = 1, .away = 1600});
    open_frame(&block, 1, 1, 7, 5000);
    open_frame(&block, 1, 2, 6, 7000);
    assert_int_equal(rm_scope_end_ticks(&block), 7000);
    open_frame(&block, 1, 3, 8, 7500);
    resmon_run *run = decoded(&block);
    static const struct {
        const char *name;
        int64_t parent;
        uint32_t threads;
        double all, self, concurrent;
    } expected[] = {
        {"site 1", -1, 1, 1000, 1000, 0},
        {"site 2", 0, 1, 1600 + 500, 2100 - 600, 2100},
        {"site 3", 1, 1, 600, 600, 0},
        {"site 4", -1, 1, 2500, 2500 - 2100, 0},
    };
    assert_int_equal(run->scope_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        assert_string_equal(scope->name, expected[i].name);
        assert_int_equal(scope->parent, expected[i].parent);
        assert_int_equal(scope->threads, expected[i].threads);
        assert_true(scope->wall_ns == expected[i].all);
        assert_true(scope->self_ns == expected[i].self);
        assert_true(scope->concurrent_ns == expected[i].concurrent);
    }
    resmon_run_free(run);
    free_block(&block);
}

/* Begun in the tree of one thread and ended in that of another. */
TEST(open_tasks_are_what_all_threads_say_together)
{
    struct rm_block block = block_with_roots();
    (void)add_child(&block, 2, 7, 2);
    (void)add_child(&block, 3, 8, 2);
    struct rm_scope_node *begun = add_child(&block, 7, 4, 1), *ended = add_child(&block, 8, 5, 1);
    begun->kind = ended->kind = RM_NODE_TASK;
    rm_node_open_task(begun, 1000);
    rm_node_open_task(begun, 1200);
    rm_node_open_task(begun, 1500);
    rm_node_close_task(ended, 1200);
    rm_node_add_instance(ended, 100);
    open_frame(&block, 0, 1, 6, 2000); /* the latest that is known of */
    resmon_run *run = decoded(&block);
    assert_int_equal(run->scopes[1].open, 2);
    assert_int_equal(run->scopes[1].calls, 3);
    assert_true(run->scopes[1].open_ns == 1000.0 + 500.0);
    assert_true(run->scopes[1].concurrent_ns == 1600.0);
    assert_true(isnan(run->scopes[1].energy_j));
    resmon_run_free(run);
    rm_node_at(&block, rm_node_ref_of(3))->first_child = rm_node_ref_of(5);
    rm_node_at(&block, rm_node_ref_of(2))->first_child = rm_node_ref_of(4);
    run = decoded(&block);
    assert_int_equal(run->scopes[0].open, 2);
    assert_true(run->scopes[0].concurrent_ns == 0.0); /* beside nothing */
    resmon_run_free(run);
    begun->meters[begun->meter_version & 1] = (struct rm_scope_meters){.threads = 1};
    run = decoded(&block); /* only the end was seen */
    assert_int_equal(run->scopes[0].open, 0);
    assert_true(run->scopes[0].open_ns == 0.0);
    resmon_run_free(run);
    free_block(&block);
}

TEST(a_hostile_tree_has_an_end)
{
    struct rm_block block = block_with_roots();
    struct rm_scope_node *circle = add_child(&block, 2, 4, 1);
    circle->first_child = rm_node_ref_of(4);
    circle->next = rm_node_ref_of(4);
    circle->sums[0].total = UINT64_MAX;
    for (uint64_t i = 1; i <= 4; i++) {
        open_frame(&block, 0, i, 4, UINT64_MAX - i);
        open_frame(&block, 1, i, i == 2 ? 1000 : 4, 7);
    }
    (void)rm_scope_end_ticks(&block);
    struct rm_scope_thread_record *thread = rm_block_record(&block, RM_SECTION_THREADS, 0);
    thread->frames[1].node = rm_node_ref_of(4) + 1;
    (void)rm_scope_end_ticks(&block);
    resmon_run_free(decoded(&block));
    free_block(&block);
}
