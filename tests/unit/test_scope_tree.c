/* SPDX-License-Identifier: MIT */
/*
 * store/scope_tree and store/run_scopes: merging keeps the variance, and a tree that moves counts
 * each call once, at every instant at which the program may be killed.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test.h"

#include "base/text.h"
#include "made_block.h"
#include "random.h"
#include "single_step.h"
#include "store/events.h"
#include "store/run.h"
#include "store/scope_counts.h"
#include "store/scope_end.h"
#include "store/scope_energy.h"
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
    node->wall[0].min = UINT64_MAX;
    above->first_child = rm_node_ref_of(index);
    return node;
}

/* As the scope's writer does. */
static void record(struct rm_scope_node *node, uint64_t ticks)
{
    struct rm_scope_wall *wall = &node->wall[node->wall_version & 1];
    if (wall->calls == 0) {
        node->first_ticks = ticks;
    }
    double apart = (double)(int64_t)(ticks - node->first_ticks);
    wall->calls++;
    wall->total += ticks;
    wall->min = ticks < wall->min ? ticks : wall->min;
    wall->max = ticks > wall->max ? ticks : wall->max;
    wall->square_sum += apart * apart;
}

static resmon_run *decoded(const struct rm_block *block)
{
    const struct rm_decode how = {.parts = RM_PART_SCOPES};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    assert_ok(rm_run_decode_scopes(block, &how, 1.0, run)); /* a tick is a nanosecond */
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

static void test_the_deviation_of_long_scopes_that_hardly_differ(void **state)
{
    (void)state;
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
        assert_near(run->scopes[0].stddev_ns, exact, 1e-6 * exact);
        assert_true(run->scopes[0].min_ns >= (double)levels[l] - 10);
        resmon_run_free(run);
        free_block(&block);
    }
}

static void test_the_deviation_survives_a_slow_first_call(void **state)
{
    (void)state;
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
    assert_near(run->scopes[0].stddev_ns, exact, 1e-6 * exact);
    resmon_run_free(run);
    free_block(&block);
}

static void test_merging_about_any_point_keeps_the_sum_of_squares(void **state)
{
    (void)state;
    static const uint64_t a_durations[] = {1000000003, 999999990, 1000000010, 1000000000};
    static const uint64_t b_durations[] = {1000000007, 999999995};
    struct rm_scope_node a = {.wall = {{.min = UINT64_MAX}}}, b = a;
    for (size_t i = 0; i < 4; i++) {
        record(&a, a_durations[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        record(&b, b_durations[i]);
    }
    static const uint64_t points[] = {1000000000, 999999990, 1000000012};
    for (size_t p = 0; p < 3; p++) {
        struct rm_scope_wall sum =
            rm_scope_wall_merge(&a.wall[0], a.first_ticks, &b.wall[0], b.first_ticks, points[p]);
        double squares = 0.0;
        for (size_t i = 0; i < 6; i++) {
            uint64_t duration = i < 4 ? a_durations[i] : b_durations[i - 4];
            double apart = (double)duration - (double)points[p];
            squares += apart * apart;
        }
        assert_int_equal(sum.calls, 6);
        assert_int_equal(sum.total, a.wall[0].total + b.wall[0].total);
        assert_int_equal(sum.min, 999999990);
        assert_int_equal(sum.max, 1000000010);
        assert_near(sum.square_sum, squares, 1e-6);
    }
}

static void test_merging_with_nothing_changes_nothing(void **state)
{
    (void)state;
    struct rm_scope_wall some = {
        .calls = 2, .folded = 1, .total = 30, .min = 10, .max = 20, .square_sum = 100.0};
    struct rm_scope_wall none = {0};
    struct rm_scope_wall fresh = {.min = UINT64_MAX};
    struct rm_scope_wall merged = rm_scope_wall_merge(&some, 10, &none, 0, 10);
    assert_memory_equal(&merged, &some, sizeof merged);
    merged = rm_scope_wall_merge(&none, 0, &some, 10, 10);
    assert_memory_equal(&merged, &some, sizeof merged);
    merged = rm_scope_wall_merge(&fresh, 999, &some, 10, 10);
    assert_memory_equal(&merged, &some, sizeof merged);
    struct rm_scope_meters meters = {.threads = 1,
                                     .cpu_calls = 1,
                                     .cpu_ns = 2,
                                     .io_calls = 3,
                                     .io = {4, 5},
                                     .rss_calls = 6,
                                     .rss_peak = 7,
                                     .rss_sampled = 8,
                                     .cost_ticks = 9};
    struct rm_scope_meters nothing = {0};
    struct rm_scope_meters same = rm_scope_meters_merge(&meters, &nothing);
    assert_memory_equal(&same, &meters, sizeof same);
    struct rm_scope_meters twice = rm_scope_meters_merge(&meters, &meters);
    assert_int_equal(twice.threads, 2);
    assert_int_equal(twice.cpu_ns, 4);
    assert_int_equal(twice.io[1], 10);
    assert_int_equal(twice.rss_peak, 7); /* a maximum, no sum */
}

/* ---- counters ------------------------------------------------------------------------------- */

static void test_the_share_of_time_in_which_counters_ran(void **state)
{
    (void)state;
    static const struct {
        struct rm_scope_counts counts;
        double share, count;
    } cases[] = {
        {{.calls = 1, .enabled = 10, .running = 10, .values = {6}}, 1.0, 6.0},
        {{.calls = 1, .enabled = 10, .running = 5, .values = {6}}, 0.5, 12.0},
        {{.calls = 1, .values = {6}}, 1.0, 6.0}, /* RDPMC, and a page without a clock */
        {{.calls = 1, .enabled = 10}, 0.0, (double)NAN},
        {{.calls = 0}, (double)NAN, (double)NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_block block = block_with_roots();
        record(add_child(&block, 2, 5, 1), 50);
        rm_scope_counter_at(&block, 0)->scale = 1.0;
        struct rm_scope_counts counts = cases[i].counts;
        counts.wall = 50 * counts.calls;
        rm_scope_counts_add(&block, rm_node_ref_of(5), &counts);
        resmon_run *run = decoded(&block);
        const struct rm_run_scope *scope = &run->scopes[0];
        assert_true(isnan(cases[i].share) == isnan(scope->counter_running));
        assert_true(isnan(cases[i].count) == isnan(scope->counts[0]));
        if (!isnan(cases[i].share)) {
            assert_near(scope->counter_running, cases[i].share, 1e-12);
        }
        if (!isnan(cases[i].count)) {
            assert_near(scope->counts[0], cases[i].count, 1e-12);
        }
        resmon_run_free(run);
        free_block(&block);
    }
}

/* ---- moving --------------------------------------------------------------------------------- */

struct move {
    struct rm_block block;
    rm_node_ref source, target;
    struct rm_run_scope before;
};

static void set_energy(struct rm_block *block, uint64_t node, double joules, double doubt)
{
    struct rm_scope_energy_record *energy = rm_block_record(block, RM_SECTION_SCOPE_ENERGY, node);
    energy->seen = 1000 * node;
    energy->sums[energy->version & 1] = (struct rm_scope_energy){joules, doubt};
}

static void add_counts(struct rm_block *block, uint64_t node, uint64_t count)
{
    const struct rm_scope_counts counts = {
        .calls = 2, .wall = 50, .enabled = 10, .running = 10, .values = {count, 2 * count}};
    rm_scope_counts_add(block, rm_node_ref_of(node), &counts);
    rm_scope_counter_at(block, 0)->scale = 1.0;
    rm_scope_counter_at(block, 1)->scale = 0.5;
}

/* One path: node 4 among the retired, node 5 in the tree of thread 0. */
static void prepare_move(struct move *move, int target_is_empty)
{
    struct rm_scope_node *target = add_child(&move->block, 1, 4, 1);
    struct rm_scope_node *source = add_child(&move->block, 2, 5, 1);
    struct rm_scope_meters meters = {
        .threads = 1, .cpu_calls = 8, .cpu_ns = 500, .rss_calls = 8, .rss_peak = 4096};
    target->meters[0].threads = target_is_empty ? 0 : 3;
    for (uint64_t i = 0; i < 5 && !target_is_empty; i++) {
        record(target, 1000000000 + 3 * i);
    }
    for (uint64_t i = 0; i < 8; i++) {
        record(source, 1000000100 - 7 * i);
    }
    source->wall[source->wall_version & 1].folded = 2;
    rm_node_publish_meters(source, &meters);
    set_energy(&move->block, 4, target_is_empty ? 0.0 : 11.0, target_is_empty ? 0.0 : 1.0);
    set_energy(&move->block, 5, 7.0, 0.25);
    if (!target_is_empty) {
        add_counts(&move->block, 4, 30);
    }
    add_counts(&move->block, 5, 12);
    move->block.header->energy_divisions = 2;
    move->source = rm_node_ref_of(5);
    move->target = rm_node_ref_of(4);
    resmon_run *run = decoded(&move->block);
    assert_int_equal(run->scope_count, 1);
    move->before = run->scopes[0]; /* its numbers; its texts go with the run */
    resmon_run_free(run);
}

static void assert_nothing_lost(void *context)
{
    const struct move *move = context;
    resmon_run *run = decoded(&move->block);
    assert_int_equal(run->scope_count, 1);
    const struct rm_run_scope *now = &run->scopes[0], *before = &move->before;
    assert_int_equal(now->calls, before->calls);
    assert_int_equal(now->folded, before->folded);
    assert_int_equal(now->threads, before->threads);
    assert_true(now->total_ns == before->total_ns);
    assert_true(now->min_ns == before->min_ns && now->max_ns == before->max_ns);
    assert_near(now->stddev_ns, before->stddev_ns, 1e-6 * before->stddev_ns);
    assert_int_equal(now->cpu_calls, before->cpu_calls);
    assert_near(now->cpu_ns, before->cpu_ns, 0.0);
    assert_int_equal(now->rss_calls, before->rss_calls);
    assert_near(now->rss_peak_bytes, before->rss_peak_bytes, 0.0);
    assert_near(now->energy_j, before->energy_j, 0.0);
    assert_near(now->energy_doubt_j, before->energy_doubt_j, 0.0);
    assert_true(now->energy_j >= 7.0);
    assert_int_equal(now->counter_calls, before->counter_calls);
    assert_near(now->counts[0], before->counts[0], 0.0);
    assert_near(now->counts[1], before->counts[1], 0.0);
    assert_true(now->counts[0] >= 12.0);
    resmon_run_free(run);
}

static void do_move(void *context)
{
    struct move *move = context;
    rm_node_move(&move->block, move->source, move->target);
}

static void assert_moved(const struct move *move)
{
    const struct rm_scope_node *source = rm_node_at(&move->block, move->source);
    const struct rm_scope_node *target = rm_node_at(&move->block, move->target);
    assert_int_equal(rm_node_wall(target).calls, move->before.calls);
    assert_int_equal(rm_node_wall(source).calls, 0);
    assert_int_equal(rm_node_wall(source).total, 0);
    assert_int_equal(rm_node_meters(target).cpu_ns, 500);
    assert_int_equal(rm_node_meters(source).cpu_ns, 0);
    struct rm_node_moved moved = rm_node_moved_of(&move->block, move->source);
    assert_false(moved.wall || moved.meters || moved.energy ||
                 moved.counts); /* the journal is closed */
    assert_near(rm_scope_energy_of(&move->block, move->target).joules, move->before.energy_j, 0.0);
    assert_near(rm_scope_energy_of(&move->block, move->source).joules, 0.0, 0.0);
    const struct rm_scope_energy_record *records =
        rm_block_record(&move->block, RM_SECTION_SCOPE_ENERGY, 0);
    assert_int_equal(records[4].seen, 9000); /* what had its energy is not given it again */
    assert_int_equal(records[5].seen, 0);
    assert_int_equal(rm_scope_counts_of(&move->block, move->target).calls,
                     move->before.counter_calls);
    assert_int_equal(rm_scope_counts_of(&move->block, move->source).calls, 0);
    assert_int_equal(rm_scope_counts_of(&move->block, move->source).values[0], 0);
}

static void test_a_move_takes_everything_along(void **state)
{
    (void)state;
    for (int is_empty = 0; is_empty < 2; is_empty++) {
        struct move move = {.block = block_with_roots()};
        prepare_move(&move, is_empty);
        do_move(&move);
        assert_moved(&move);
        assert_nothing_lost(&move);
        free_block(&move.block);
    }
}

static void assert_journal(const struct move *move, int wall, int meters, int energy, int counts)
{
    struct rm_node_moved moved = rm_node_moved_of(&move->block, move->source);
    assert_int_equal(moved.wall, wall);
    assert_int_equal(moved.meters, meters);
    assert_int_equal(moved.energy, energy);
    assert_int_equal(moved.counts, counts);
    moved = rm_node_moved_of(&move->block, move->target);
    assert_false(moved.wall || moved.meters || moved.energy || moved.counts);
}

static void test_killed_at_each_step_of_a_move_as_documented(void **state)
{
    (void)state;
    for (int killed_at = 0; killed_at <= 6; killed_at++) {
        struct move move = {.block = block_with_roots()};
        prepare_move(&move, 0);
        struct rm_block_header *header = move.block.header;
        struct rm_scope_node *from = rm_node_at(&move.block, move.source);
        struct rm_scope_node *to = rm_node_at(&move.block, move.target);
        struct rm_scope_wall a = rm_node_wall(to), b = rm_node_wall(from);
        struct rm_scope_meters c = rm_node_meters(to), d = rm_node_meters(from);
        uint32_t wall_version = to->wall_version + 1, meter_version = to->meter_version + 1;
        header->journal.source = move.source;
        header->journal.target = move.target;
        header->journal.meter_version = meter_version;
        header->journal.energy_version = 1;
        header->journal.counts_version = rm_scope_counts_next_version(&move.block, move.target);
        /* The copies that are not current: torn, until their version says otherwise. */
        memset(&to->wall[wall_version & 1], 0xa5, sizeof a);
        memset(&to->meters[meter_version & 1], 0xa5, sizeof c);
        if (killed_at >= 1) {
            header->journal.wall_version = UINT64_C(1) << 32 | wall_version;
            assert_journal(&move, 0, 0, 0, 0);
        }
        if (killed_at >= 2) {
            to->wall[wall_version & 1] =
                rm_scope_wall_merge(&a, to->first_ticks, &b, from->first_ticks, to->first_ticks);
            to->wall_version = wall_version;
            assert_journal(&move, 1, 0, 0, 0);
        }
        if (killed_at >= 3) {
            to->meters[meter_version & 1] = rm_scope_meters_merge(&c, &d);
            to->meter_version = meter_version;
            assert_journal(&move, 1, 1, 0, 0);
        }
        if (killed_at >= 4) {
            rm_scope_energy_move(&move.block, move.source, move.target);
            assert_journal(&move, 1, 1, 1, 0);
        }
        if (killed_at >= 5) {
            rm_scope_counts_move(&move.block, move.source, move.target);
            assert_journal(&move, 1, 1, 1, 1);
        }
        if (killed_at >= 6) {
            from->wall[from->wall_version & 1] = (struct rm_scope_wall){.min = UINT64_MAX};
            from->meters[from->meter_version & 1] = (struct rm_scope_meters){0};
        }
        assert_nothing_lost(&move);
        free_block(&move.block);
    }
}

static void test_killed_at_any_instruction_of_a_move(void **state)
{
    (void)state;
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

static void test_paths_merge_by_name_in_preorder(void **state)
{
    (void)state;
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
        assert_true(run->scopes[i].total_ns == expected[i].total);
        assert_true(run->scopes[i].self_ns == expected[i].self);
    }
    resmon_run_free(run);
    free_block(&block);
}

static void test_meters_of_some_calls_are_scaled_and_say_so(void **state)
{
    (void)state;
    struct rm_block block = block_with_roots();
    struct rm_scope_node *node = add_child(&block, 2, 4, 1);
    for (int i = 0; i < 10; i++) {
        record(node, 100);
    }
    struct rm_scope_meters meters = {.threads = 1,
                                     .cpu_calls = 4,
                                     .cpu_wall = 250, /* of the 1000 that all lasted */
                                     .cpu_ns = 200,
                                     .io_calls = 10,
                                     .io = {1, 2, 3, 4, 5, 6},
                                     .rss_calls = 10,
                                     .rss_peak = 8192,
                                     .rss_sampled = 1};
    rm_node_publish_meters(node, &meters);
    resmon_run *run = decoded(&block);
    const struct rm_run_scope *scope = &run->scopes[0];
    assert_near(scope->cpu_ns, 800.0, 1e-9);
    assert_int_equal(scope->cpu_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_true(scope->io[0] == 1.0 && scope->io[5] == 6.0);
    assert_int_equal(scope->io_provenance, RESMON_PROVENANCE_MEASURED);
    assert_true(scope->rss_peak_bytes == 8192.0);
    assert_int_equal(scope->rss_provenance, RESMON_PROVENANCE_SAMPLED);
    resmon_run_free(run);
    free_block(&block);
}

/* ---- open scopes of a recording ------------------------------------------------------------- */

static void open_frame(struct rm_block *block, uint64_t thread, uint64_t depth, uint64_t node,
                       uint64_t start)
{
    struct rm_scope_thread_record *record = rm_block_record(block, RM_SECTION_THREADS, thread);
    record->frames[depth] =
        (struct rm_scope_frame){.token = 100 + depth, .start = start, .node = rm_node_ref_of(node)};
}

/* Nothing tells when it was killed but what had happened by then. */
static void test_open_scopes_last_as_long_as_what_is_inside_of_them(void **state)
{
    (void)state;
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
    double inside = run->scopes[1].total_ns + run->scopes[2].total_ns;
    assert_true(run->scopes[0].total_ns + run->scopes[0].open_ns >= inside);
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

static void test_a_hostile_tree_has_an_end(void **state)
{
    (void)state;
    struct rm_block block = block_with_roots();
    struct rm_scope_node *circle = add_child(&block, 2, 4, 1);
    circle->first_child = rm_node_ref_of(4);
    circle->next = rm_node_ref_of(4);
    circle->wall[0].total = UINT64_MAX;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_deviation_of_long_scopes_that_hardly_differ),
        cmocka_unit_test(test_the_deviation_survives_a_slow_first_call),
        cmocka_unit_test(test_merging_about_any_point_keeps_the_sum_of_squares),
        cmocka_unit_test(test_merging_with_nothing_changes_nothing),
        cmocka_unit_test(test_the_share_of_time_in_which_counters_ran),
        cmocka_unit_test(test_a_move_takes_everything_along),
        cmocka_unit_test(test_killed_at_each_step_of_a_move_as_documented),
        cmocka_unit_test(test_killed_at_any_instruction_of_a_move),
        cmocka_unit_test(test_paths_merge_by_name_in_preorder),
        cmocka_unit_test(test_meters_of_some_calls_are_scaled_and_say_so),
        cmocka_unit_test(test_open_scopes_last_as_long_as_what_is_inside_of_them),
        cmocka_unit_test(test_a_hostile_tree_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
