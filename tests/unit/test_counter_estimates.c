/* SPDX-License-Identifier: MIT */
/*
 * Counters of a scope whose meter is taken at some of the calls: the meter itself, on counters that
 * are made, in calls that last as long as the test says; and what accessors, documents and the
 * summary say of such counts.
 */
#define _GNU_SOURCE
#include "report_in_full.h"
#include "test.h"

#include <unistd.h>

#include "base/text.h"
#include "format/json.h"
#include "made_block.h"
#include "os/perf.h"
#include "random.h"
#include "run/record.h"
#include "run/run.h"
#include "run/scope_sums.h"
#include "scope/meter.h"
#include "store/scope_records.h"

#define CALLS 3000

/* A node of a thread, and counters that are read from a pipe: the beginning of a call waits there,
 * nothing having been counted. */
struct made {
    struct rm_block block;
    struct rm_scope_node *node;
    struct rm_metering metering;
    struct rm_thread_counters counters;
    struct rm_meter_frame frame;
    int feed;
};

static void feed(const struct made *made, uint64_t faults, uint64_t running)
{
    const uint64_t words[] = {1, running, running, faults}; /* as rm_perf_group */
    assert_int_equal(write(made->feed, words, sizeof words), (ssize_t)sizeof words);
}

static struct made *new_made(double share)
{
    struct rm_block_sizes sizes = small_sizes();
    struct made *made = calloc(1, sizeof *made);
    int ends[2];
    assert_non_null(made);
    assert_int_equal(pipe(ends), 0);
    made->block = made_block(&sizes);
    made->block.header->has_scopes = 1;
    made->block.header->node_count = 3;
    struct rm_scope_thread_record *thread = rm_block_record(&made->block, RM_SECTION_THREADS, 0);
    struct rm_site_record *site = rm_block_record(&made->block, RM_SECTION_SITES, 1);
    *rm_scope_counter_at(&made->block, 0) = (struct rm_counter_record){.scale = 1.0};
    rm_scope_counter_at(&made->block, 1)->status = RESMON_ENODEV;
    (void)rm_text_set(site->name, sizeof site->name, "call");
    site->is_set = 1;
    thread->state = RM_THREAD_LIVE;
    thread->root = rm_node_ref_of(1);
    thread->frames[0].token = RM_ROOT_TOKEN;
    rm_node_at(&made->block, rm_node_ref_of(1))->first_child = rm_node_ref_of(2);
    made->node = rm_node_at(&made->block, rm_node_ref_of(2));
    made->node->site = 1;
    made->node->min = UINT64_MAX;
    made->metering = (struct rm_metering){
        .meters = (uint32_t)RESMON_METER_PERF,
        .terms = {.share = share},
        .block = made->block,
        .plan = {.trust_ticks = UINT64_MAX, .count = 1},
    };
    made->counters = (struct rm_thread_counters){
        .is_tried = true, .is_open = true, .count = 1, .fds = {ends[0]}};
    made->frame.counters = &made->counters;
    made->feed = ends[1];
    feed(made, 0, 0);
    return made;
}

static void free_made(struct made *made)
{
    (void)close(made->counters.fds[0]);
    (void)close(made->feed);
    free_block(&made->block);
    free(made);
}

static void call(struct made *made, uint64_t ticks, uint64_t faults)
{
    (void)rm_meters_begin(&made->metering, made->node, &made->frame, 0);
    if (made->frame.taken != 0) {
        feed(made, faults, ticks);
        feed(made, 0, 0); /* of the call after it */
    }
    rm_node_add_instance(made->node, ticks);
    rm_meters_end(&made->metering, made->node, &made->frame, ticks);
}

static resmon_run *decoded(const struct made *made)
{
    const struct rm_decode how = {.parts = RM_PART_SCOPES};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    rm_run_decode_scopes(&made->block, &how, 1.0, run); /* a tick is a nanosecond */
    assert_ok(rm_run_check_memory(run));
    assert_int_equal(run->scope_count, 1);
    return run;
}

/* Each tenth call has 300 faults in 200 us, the others 1 in 40 us. */
static double run_program(struct made *made, struct random *random)
{
    double truth = 0.0;
    for (uint64_t i = 0; i < CALLS; i++) {
        bool is_big = i % 10 == 9;
        uint64_t faults = is_big ? 300 : 1;
        truth += (double)faults;
        call(made, (is_big ? 200000 : 40000) + random_below(random, 1000), faults);
    }
    return truth;
}

#define REPETITIONS 200

/* Of all repetitions. */
struct many {
    double errors, squares; /* in shares of the truth */
    double counted;         /* calls */
    double known, covered;  /* intervals */
};

static void add_run(struct many *many, const resmon_run_scope *scope, double truth)
{
    const resmon_estimate *found = &scope->counters[0];
    double error = found->value / truth - 1.0;
    assert_int_equal(scope->counter_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_true(found->low <= found->value && !(found->value > found->high));
    assert_true(isnan(scope->counters[1].value));
    many->errors += error;
    many->squares += error * error;
    many->counted += (double)scope->counter_calls;
    many->known += isnan(found->high) ? 0.0 : 1.0;
    many->covered += found->low <= truth && truth <= found->high ? 1.0 : 0.0;
}

/* What the meter costs is this machine's: how many calls it is taken at hangs on that, and nothing
 * that is tested here.  Five standard errors: what is right fails once in a million. */
TEST(what_some_calls_counted_stands_for_all_without_bias)
{
    struct many many = {0};
    struct random random = {7};
    for (uint64_t i = 0; i < REPETITIONS; i++) {
        struct made *made = new_made(0.001);
        double truth = run_program(made, &random);
        resmon_run *run = decoded(made);
        add_run(&many, &run->scopes[0], truth);
        resmon_run_free(run);
        free_made(made);
    }
    double mean = many.errors / REPETITIONS;
    double error = sqrt((many.squares / REPETITIONS - mean * mean) / REPETITIONS);
    print_message("bias %+.2f %% (%+.1f standard errors), off by %.0f %%, from %.0f of %d calls; "
                  "of %.0f intervals %.0f hold the truth\n",
                  100.0 * mean, mean / error, 100.0 * error * sqrt(REPETITIONS),
                  many.counted / REPETITIONS, CALLS, many.known, many.covered);
    assert_true(fabs(mean) <= 5.0 * error);
    assert_true(many.covered >= 0.95 * many.known - 5.0 * sqrt(0.95 * 0.05 * many.known));
}

TEST(what_each_call_counted_is_exact)
{
    struct random random = {7};
    struct made *made = new_made(1e9);
    double truth = run_program(made, &random);
    resmon_run *run = decoded(made);
    const resmon_run_scope *scope = &run->scopes[0];
    assert_int_equal(scope->counter_calls, CALLS);
    assert_int_equal(scope->counter_provenance, RESMON_PROVENANCE_MEASURED);
    assert_near(scope->counters[0].value, truth, 0.0);
    assert_near(scope->counters[0].low, truth, 0.0);
    assert_near(scope->counters[0].high, truth, 0.0);
    assert_near(scope->counter_running, 1.0, 0.0);
    resmon_run_free(run);
    free_made(made);
}

TEST(few_counted_calls_say_that_they_are_few)
{
    struct made *made = new_made(1e-9);
    struct random random = {7};
    (void)run_program(made, &random);
    resmon_run *run = decoded(made);
    const resmon_estimate *count = &run->scopes[0].counters[0];
    assert_true(run->scopes[0].counter_calls < 30);
    assert_true(isnan(count->high) && rm_estimate_is_vague(count));
    resmon_run_free(run);
    free_made(made);
}

/* ---- what is made of them -------------------------------------------------------------------- */

#define UNKNOWN ((resmon_estimate){(double)NAN, (double)NAN, (double)NAN})

static const resmon_run_counter counters[] = {
    {.name = "instructions", .unit = "1", .reason = ""},
    {.name = "cycles", .unit = "1", .reason = ""},
    {.name = "task-clock", .unit = "s", .reason = ""},
    {.name = "cache-misses", .unit = "1", .reason = "no PMU", .status = RESMON_ENODEV},
};

/* By scope: each call was counted, some were, too few were. */
static const resmon_estimate counted[][RM_SCOPE_COUNTERS] = {
    {{8000.0, 8000.0, 8000.0}, {4000.0, 4000.0, 4000.0}, {0.5, 0.5, 0.5}, UNKNOWN},
    {{6000.0, 5000.0, 7000.0}, {3000.0, 2900.0, 3100.0}, {0.25, 0.2, 0.75}, UNKNOWN},
    {{900.0, 30.0, (double)NAN}, {700.0, 0.0, 1400.0}, {0.125, 0.1, 0.15}, UNKNOWN},
};

#define COUNTED (sizeof counted / sizeof counted[0])

static resmon_run *made_run(void)
{
    static const char *const names[COUNTED] = {"exact", "estimated", "vague"};
    resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->scopes = rm_arena_alloc(&run->strings, COUNTED, sizeof *run->scopes);
    run->counters = rm_arena_alloc(&run->strings, RM_SCOPE_COUNTERS, sizeof *run->counters);
    assert_true(run->scopes != NULL && run->counters != NULL);
    memcpy(run->counters, counters, sizeof counters);
    run->counter_count = sizeof counters / sizeof counters[0];
    run->scope_count = COUNTED;
    for (size_t i = 0; i < COUNTED; i++) {
        resmon_run_scope *scope = &run->scopes[i];
        *scope = (resmon_run_scope){
            .name = names[i],
            .file = "",
            .function = "",
            .parent = -1,
            .calls = 100,
            .wall_ns = 1e9,
            .self_ns = 1e9 - (double)i,
            .counter_calls = i == 0 ? 100 : 40,
            .counter_running = 1.0,
            .counter_provenance = i == 0 ? RESMON_PROVENANCE_MEASURED : RESMON_PROVENANCE_SAMPLED,
        };
        scope->counters = counted[i];
    }
    assert_ok(rm_scope_names_sum(run));
    return run;
}

static void assert_same(double a, double b)
{
    assert_true(isnan(a) == isnan(b) && !(a < b) && !(a > b));
}

static void check_ends(const resmon_run *run)
{
    for (size_t index = 0; index < COUNTED; index++) {
        resmon_run_scope scope = {.struct_size = sizeof scope}, name = scope;
        assert_ok(resmon_run_get_scope(run, index, &scope));
        assert_ok(resmon_run_get_scope_name(run, index, &name));
        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            assert_same(scope.counters[i].low, counted[index][i].low);
            assert_same(scope.counters[i].high, counted[index][i].high);
            assert_same(name.counters[i].low, counted[index][i].low);
            assert_same(name.counters[i].high, counted[index][i].high);
        }
    }
}

TEST(ends_are_told)
{
    resmon_run *run = made_run(), *read = NULL;
    char *text = NULL;
    check_ends(run);
    assert_ok(resmon_run_document(run, &text));
    assert_non_null(strstr(text, "\"counters_low\":[5000,2900,0.2,null]"));
    assert_non_null(strstr(text, "\"counters_high\":[null,1400,0.15,null]"));
    assert_null(strstr(text, "\"counters_low\":[8000"));
    if (rm_json_check() == RESMON_OK) {
        assert_ok(resmon_run_parse(text, strlen(text), &read));
        check_ends(read);
        resmon_run_free(read);
    }
    resmon_text_free(text);
    rm_run_free(run);
}

TEST(the_summary_leaves_out_what_is_vague)
{
    resmon_run *run = made_run();
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    const char *table = strstr(text, "\nCounters of scopes\n");
    assert_non_null(table);
    assert_non_null(strstr(table,
                           "  exact              8000    4000    500.0 ms  2.00  100.0 %\n"
                           "  estimated         ~6000   ~3000           -  2.00   40.0 %\n"
                           "  vague                 -       -   ~125.0 ms     -   40.0 %\n"));
    assert_non_null(strstr(text, "-: unknown, the error may exceed the value\n"));
    resmon_text_free(text);
    run->scope_count = 1;
    assert_ok(report_in_full(run, &text));
    assert_null(strstr(text, "-: unknown"));
    resmon_text_free(text);
    rm_run_free(run);
}
