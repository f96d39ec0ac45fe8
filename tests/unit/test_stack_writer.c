/* SPDX-License-Identifier: MIT */
/*
 * store/stack_writer and run/decode_profile: stacks into a run block, and out of it again; also of
 * blocks that are full, or of outside origin.
 */
#include "test.h"

#include <pthread.h>

#include "base/compiler.h"
#include "made_block.h"
#include "random.h"
#include "run/run.h"
#include "stack/named_sources.h"
#include "store/stack_writer.h"

static struct rm_block made(uint64_t stacks)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.stacks = stacks;
    return made_block(&sizes);
}

static struct resmon_run *decoded(const struct rm_block *block)
{
    struct resmon_run *run = NULL;
    const struct rm_decode how = {.parts = RM_PART_ALL};
    assert_ok(rm_run_decode(block, &how, &run));
    return run;
}

static struct rm_stack_sample sample_of(const uint64_t *addresses, uint32_t depth, int32_t kind,
                                        uint64_t weight)
{
    return (struct rm_stack_sample){
        .addresses = addresses, .depth = depth, .kind = kind, .count = 1, .weight = weight};
}

TEST(stacks_come_out_as_they_went_in)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    const uint64_t deep[] = {0x1010, 0x2020, 0x3030};
    const uint64_t other[] = {0x1018, 0x2020, 0x3030};
    assert_ok(rm_stack_writer_open(&writer, &block));
    struct rm_stack_sample sample = sample_of(deep, 3, RESMON_STACK_CPU, 10);
    rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_add(&writer, &sample);
    sample.kind = RESMON_STACK_MEMORY;
    sample.weight = 4096;
    rm_stack_writer_add(&writer, &sample);
    sample = sample_of(other, 3, RESMON_STACK_CPU, 5);
    sample.is_cut = 1;
    rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_lose(&writer, RM_LOSS_BLOCKED, 7);
    rm_stack_writer_set_kind(&writer, RESMON_STACK_FILE, RESMON_EACCES, "no leave");
    rm_stack_writer_set_total(&writer, RESMON_STACK_CPU, 99);
    rm_stack_writer_close(&writer);

    struct resmon_run *run = decoded(&block);
    const struct rm_run_profile *profile = &run->profile;
    assert_int_equal(profile->stack_count, 2);
    assert_int_equal(profile->place_count, 4);
    const struct rm_run_stack *stack = &profile->stacks[0];
    assert_int_equal(stack->depth, 3);
    assert_int_equal(stack->scope, -1);
    assert_int_equal(stack->is_cut, 0);
    assert_int_equal(stack->samples[RESMON_STACK_CPU], 2);
    assert_near(stack->weight[RESMON_STACK_CPU], 20, 0);
    assert_int_equal(stack->samples[RESMON_STACK_MEMORY], 1);
    assert_near(stack->weight[RESMON_STACK_MEMORY], 4096, 0);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t place = profile->frames[stack->first + i];
        assert_int_equal(profile->places[place].address, deep[i]);
        assert_int_equal(profile->places[place].module, -1);
    }
    assert_int_equal(profile->stacks[1].is_cut, 1);
    assert_int_equal(profile->lost[RM_LOSS_BLOCKED], 7);
    assert_int_equal(profile->kinds[RESMON_STACK_FILE].status, RESMON_EACCES);
    assert_string_equal(profile->kinds[RESMON_STACK_FILE].reason, "no leave");
    assert_near(profile->kinds[RESMON_STACK_CPU].total, 99, 0);
    assert_true(isnan(profile->kinds[RESMON_STACK_MEMORY].total));
    rm_run_free(run);
    free_block(&block);
}

TEST(errors_and_levels_come_out_as_they_went_in)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    const uint64_t address = 0x1010;
    assert_ok(rm_stack_writer_open(&writer, &block));
    struct rm_stack_sample sample = sample_of(&address, 1, RESMON_STACK_MEMORY, 0);
    sample.square = 9.0;
    struct rm_stack_entry *entry = rm_stack_writer_add(&writer, &sample);
    assert_non_null(entry);
    rm_stack_entry_weigh(entry, RESMON_STACK_MEMORY, 40, 16.0);
    rm_stack_writer_set_levels(&writer, RESMON_STACK_MEMORY, 5, 77);
    rm_stack_writer_set_highest(&writer, 4711, 12);
    rm_stack_writer_close(&writer);
    struct resmon_run *run = decoded(&block);
    const struct rm_run_stack *stack = &run->profile.stacks[0];
    assert_near(stack->weight[RESMON_STACK_MEMORY], 40, 0);
    assert_near(stack->error[RESMON_STACK_MEMORY], 5, 1e-12);
    assert_near(stack->error[RESMON_STACK_CPU], 0, 0);
    assert_near(run->profile.kinds[RESMON_STACK_MEMORY].first_bytes, 5, 0);
    assert_near(run->profile.kinds[RESMON_STACK_MEMORY].last_bytes, 77, 0);
    assert_true(isnan(run->profile.kinds[RESMON_STACK_FILE].first_bytes));
    assert_near(run->profile.peak.highest_rss_bytes, 4711, 0);
    assert_int_equal(run->profile.peak.highest_t_ns, 12);
    rm_run_free(run);
    free_block(&block);
}

static const struct rm_run_named_source *source_of(const struct resmon_run *run, const char *file)
{
    for (size_t i = 0; i < run->profile.source_count; i++) {
        if (strcmp(run->profile.sources[i].file, file) == 0) {
            return &run->profile.sources[i];
        }
    }
    return NULL;
}

/* Code that is in no file, with a name and a text that the program gave. */
TEST(named_sources_are_in_the_run)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.stacks = 16;
    sizes.stack_texts = 4096;
    struct rm_block block = made_block(&sizes);
    struct rm_stack_writer writer;
    bool is_named;
    char name[32];
    assert_int_equal(resmon_name_source(NULL, "x", ""), RESMON_EINVAL);
    assert_int_equal(resmon_name_source("/x", "", ""), RESMON_EINVAL);
    assert_int_equal(resmon_name_source("/x", "a\nb", ""), RESMON_EINVAL);
    for (int i = 0; i < 1100; i++) { /* the oldest are forgotten */
        (void)snprintf(name, sizeof name, "/old/%d.py", i);
        assert_ok(resmon_name_source(name, "old", NULL));
    }
    assert_ok(resmon_name_source("/cell/1.py", "In [1]", "x"));
    assert_ok(resmon_name_source("/cell/1.py", "In [7]", "def f():\n\n    return\t1\n"));
    assert_ok(resmon_name_source("/cell/2.py", "In [8]", NULL));
    assert_ok(rm_stack_writer_open(&writer, &block));
    const uint64_t values[] = {
        rm_stack_name_at(rm_named_source_value(&writer, "f\t/cell/1.py", &is_named), 3),
        rm_named_source_value(&writer, "g\t/cell/2.py", &is_named),
    };
    assert_true(is_named);
    assert_string_equal(
        (const char *)rm_block_record(
            &block, RM_SECTION_STACK_TEXTS,
            rm_named_source_value(&writer, "<module>\t/cell/2.py", &is_named) & UINT32_MAX),
        "In [8]\tIn [8]");
    const uint64_t other = rm_named_source_value(&writer, "h\t/old/3.py", &is_named);
    assert_false(is_named);
    struct rm_stack_sample sample = sample_of(values, 2, RESMON_STACK_CPU, 10);
    assert_non_null(rm_stack_writer_add(&writer, &sample));
    sample = sample_of(&other, 1, RESMON_STACK_CPU, 10);
    assert_non_null(rm_stack_writer_add(&writer, &sample));
    rm_stack_writer_close(&writer);

    struct resmon_run *run = decoded(&block);
    assert_int_equal(run->profile.source_count, 1);
    const struct rm_run_named_source *source = source_of(run, "In [7]");
    assert_non_null(source);
    assert_int_equal(source->line_count, 3);
    assert_string_equal(source->lines[0], "def f():");
    assert_string_equal(source->lines[1], "");
    char *text = NULL;
    assert_ok(resmon_run_document(run, &text));
    struct resmon_run *again = NULL;
    assert_ok(resmon_run_parse(text, strlen(text), &again));
    assert_int_equal(source_of(again, "In [7]")->line_count, 3);
    assert_string_equal(source_of(again, "In [7]")->lines[2], source->lines[2]);
    free(text);
    resmon_run_free(again);
    rm_run_free(run);
    free_block(&block);
}

static const struct {
    resmon_status status;
    const char *reason;
} states[] = {{RESMON_OK, "not of all threads: of a fault"}, {RESMON_EBUSY, "a signal"}};
static bool is_over;

static void *set_in_turn(void *writer)
{
    for (size_t i = 0; !RM_LOAD(&is_over); i++) {
        rm_stack_writer_set_kind(writer, RESMON_STACK_CPU, states[i % 2].status,
                                 states[i % 2].reason);
        rm_stack_writer_set_period(writer, RESMON_STACK_CPU, i);
    }
    return NULL;
}

/* A thread for which there is no event is met at any time. */
TEST(a_state_that_changes_while_it_is_read_is_one_of_them)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    pthread_t thread;
    assert_ok(rm_stack_writer_open(&writer, &block));
    rm_stack_writer_set_kind(&writer, RESMON_STACK_CPU, states[0].status, states[0].reason);
    RM_STORE(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, set_in_turn, &writer), 0);
    for (int i = 0; i < 500; i++) {
        struct resmon_run *run = decoded(&block);
        const struct rm_run_stack_kind *kind = &run->profile.kinds[RESMON_STACK_CPU];
        assert_string_equal(kind->reason, states[kind->status == states[1].status].reason);
        rm_run_free(run);
    }
    RM_STORE(&is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rm_stack_writer_close(&writer);
    free_block(&block);
}

/* 0 B and all is well would be a lie. */
TEST(growth_that_no_sample_tells_of_is_not_there)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    const uint64_t address = 0x1010;
    assert_ok(rm_stack_writer_open(&writer, &block));
    for (int32_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        rm_stack_writer_set_kind(&writer, kind, RESMON_OK, kind == 2 ? "a remark" : "");
        rm_stack_writer_set_period(&writer, kind, kind == RESMON_STACK_CPU ? 10000000 : 64);
        rm_stack_writer_set_total(&writer, kind, kind == 1 ? 200000 : UINT64_C(166723584));
    }
    struct resmon_run *run = decoded(&block);
    const struct rm_run_stack_kind *kinds = run->profile.kinds;
    assert_int_equal(kinds[RESMON_STACK_CPU].status, RESMON_ENOENT);
    assert_string_equal(
        kinds[RESMON_STACK_CPU].reason,
        "166.7 ms of CPU time were used without a sample: a thread is sampled once per 10.00 ms; "
        "threads that used less, or ended before they were found, have none");
    assert_int_equal(kinds[RESMON_STACK_MEMORY].status, RESMON_ENOENT);
    assert_string_equal(
        kinds[RESMON_STACK_MEMORY].reason,
        "RssAnon rose by 195.3 KiB without a sample: a thread is sampled once per 64 page faults");
    assert_int_equal(kinds[RESMON_STACK_FILE].status, RESMON_ENOENT);
    assert_string_equal(kinds[RESMON_STACK_FILE].reason,
                        "a remark; RssFile rose by 159.0 MiB without a sample: a thread is sampled "
                        "once per 64 page faults; threads with fewer have none, and "
                        "mmap(MAP_POPULATE), mlock() and the like add pages without faults");
    rm_run_free(run);
    /* A single sample, and that nothing rose, are as they are. */
    struct rm_stack_sample sample = sample_of(&address, 1, RESMON_STACK_FILE, 4096);
    (void)rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_set_total(&writer, RESMON_STACK_MEMORY, 0);
    rm_stack_writer_set_total(&writer, RESMON_STACK_CPU, 19000000); /* threads that only wait */
    rm_stack_writer_close(&writer);
    run = decoded(&block);
    assert_int_equal(run->profile.kinds[RESMON_STACK_CPU].status, RESMON_OK);
    assert_int_equal(run->profile.kinds[RESMON_STACK_MEMORY].status, RESMON_OK);
    assert_int_equal(run->profile.kinds[RESMON_STACK_FILE].status, RESMON_OK);
    assert_string_equal(run->profile.kinds[RESMON_STACK_FILE].reason, "a remark");
    rm_run_free(run);
    free_block(&block);
}

/* Exact limits of a Poisson variable, by chi-squared: n = 1, 3, 10, 100. */
TEST(intervals_are_those_of_poisson)
{
    static const struct {
        double n, low, high;
    } exact[] = {{1, 0.0253, 5.572}, {3, 0.6187, 8.767}, {10, 4.795, 18.390}, {100, 81.36, 121.6}};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        double weight = 8.0 * exact[i].n;
        double error = weight / sqrt(exact[i].n);
        struct rm_stack_interval interval = rm_stack_interval_of(weight, error, RM_NAN);
        assert_near(interval.low / 8.0, exact[i].low, 0.016);
        assert_near(interval.high / 8.0 / exact[i].high, 1.0, 0.003);
        interval = rm_stack_interval_of(weight, error, weight * 1.01);
        assert_near(interval.high, weight * 1.01, 1e-9);
        interval = rm_stack_interval_of(weight, error, weight / 2.0); /* it came and went */
        assert_true(interval.high > weight);
    }
    struct rm_stack_interval interval = rm_stack_interval_of(7.0, 0.0, RM_NAN);
    assert_near(interval.low, 7.0, 0);
    assert_near(interval.high, 7.0, 0);
    double low = 0, high = 0;
    assert_ok(resmon_stack_interval(80.0, 80.0 / sqrt(10.0), 90.0, &low, &high));
    assert_near(high, 90.0, 1e-9);
    assert_near(low, 38.2, 0.2);
    assert_status(RESMON_EINVAL, resmon_stack_interval(1, 1, 1, NULL, &high));
}

TEST(modules_are_found_by_address)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    struct rm_module_entry module = {
        .path = "/usr/lib/b.so",
        .build_id = {0xab, 0x01},
        .build_id_length = 2,
        .start = 0x2000,
        .end = 0x3000,
        .bias = 0x1000,
    };
    const uint64_t addresses[] = {0x2000, 0x2fff, 0x3000, 0x1fff};
    assert_ok(rm_stack_writer_open(&writer, &block));
    assert_true(rm_stack_writer_add_module(&writer, &module));
    assert_true(rm_stack_writer_add_module(&writer, &module)); /* known */
    module.build_id[0] = 0xcd; /* another build at the same place later */
    assert_true(rm_stack_writer_add_module(&writer, &module));
    struct rm_stack_sample sample = sample_of(addresses, 4, RESMON_STACK_CPU, 1);
    rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_close(&writer);

    struct resmon_run *run = decoded(&block);
    const struct rm_run_profile *profile = &run->profile;
    assert_int_equal(profile->module_count, 2);
    int with = 0;
    for (size_t i = 0; i < profile->place_count; i++) {
        with += profile->places[i].module >= 0;
    }
    assert_int_equal(with, 2);
    char name[RM_PLACE_NAME_BYTES];
    rm_place_name(profile, &profile->places[profile->frames[profile->stacks[0].first]], name);
    assert_string_equal(name, "b.so");
    rm_run_free(run);
    free_block(&block);
}

TEST(modules_past_the_bound_are_refused)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    struct rm_module_entry module = {.path = "/usr/lib/b.so"};
    assert_ok(rm_stack_writer_open(&writer, &block));
    for (uint64_t i = 0; i < RM_STACK_MODULES + 3; i++) {
        module.start = 0x1000 * i;
        module.end = module.start + 0x1000;
        assert_int_equal(rm_stack_writer_add_module(&writer, &module), i < RM_STACK_MODULES);
    }
    module.start = 0x1000;
    module.end = 0x2000;
    assert_true(rm_stack_writer_add_module(&writer, &module)); /* known */
    rm_stack_writer_lose(&writer, RM_LOSS_MODULES, 3);
    rm_stack_writer_close(&writer);

    struct resmon_run *run = decoded(&block);
    assert_int_equal(run->profile.module_count, RM_STACK_MODULES);
    assert_int_equal(run->profile.lost[RM_LOSS_MODULES], 3);
    rm_run_free(run);
    free_block(&block);
}

TEST(modules_at_the_same_place_name_nothing)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    struct rm_module_entry module = {
        .path = "/usr/lib/b.so", .start = 0x2000, .end = 0x3000, .bias = 0x2000};
    const uint64_t addresses[] = {0x2000, 0x2fff, 0x3000};
    assert_ok(rm_stack_writer_open(&writer, &block));
    assert_true(rm_stack_writer_add_module(&writer, &module));
    (void)strcpy(module.path, "/usr/lib/c.so");
    module.end = 0x4000;
    assert_true(rm_stack_writer_add_module(&writer, &module));
    struct rm_stack_sample sample = sample_of(addresses, 3, RESMON_STACK_CPU, 1);
    rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_close(&writer);

    struct resmon_run *run = decoded(&block);
    const struct rm_run_profile *profile = &run->profile;
    for (size_t i = 0; i < profile->place_count; i++) {
        assert_int_equal(profile->places[i].module >= 0, profile->places[i].address == 0x3000);
    }
    rm_run_free(run);
    free_block(&block);
}

TEST(a_full_block_counts)
{
    struct rm_block block = made(4);
    struct rm_stack_writer writer;
    assert_ok(rm_stack_writer_open(&writer, &block));
    for (uint64_t i = 0; i < 100; i++) {
        const uint64_t address = 0x1000 + i;
        struct rm_stack_sample sample = sample_of(&address, 1, RESMON_STACK_CPU, 1);
        sample.count = 2;
        rm_stack_writer_add(&writer, &sample);
    }
    for (uint64_t i = 0; i < 4; i++) { /* those that are there go on */
        const uint64_t address = 0x1000 + i;
        struct rm_stack_sample sample = sample_of(&address, 1, RESMON_STACK_CPU, 1);
        rm_stack_writer_add(&writer, &sample);
    }
    rm_stack_writer_close(&writer);
    struct resmon_run *run = decoded(&block);
    assert_int_equal(run->profile.stack_count, 4);
    assert_int_equal(run->profile.lost[RM_LOSS_ROOM], 96 * 2);
    assert_int_equal(run->profile.stacks[3].samples[RESMON_STACK_CPU], 3);
    rm_run_free(run);
    free_block(&block);
}

static void add_thread(struct rm_stack_writer *writer, uint64_t address, uint64_t thread)
{
    const char name[16] = "worker";
    struct rm_stack_sample sample = sample_of(&address, 1, RESMON_STACK_CPU, 1);
    rm_stack_writer_add_peak(writer, &sample, thread, name);
}

TEST(the_latest_peak_counts)
{
    struct rm_block block = made(16);
    struct rm_stack_writer writer;
    const struct rm_peak_head first = {.t_ns = 1, .rss_bytes = 100, .headroom_bytes = 50};
    const struct rm_peak_head second = {.t_ns = 2, .rss_bytes = 200, .headroom_bytes = UINT64_MAX};
    assert_ok(rm_stack_writer_open(&writer, &block));
    struct resmon_run *run = decoded(&block);
    assert_int_equal(run->profile.peak.t_ns, -1);
    rm_run_free(run);

    rm_stack_writer_begin_peak(&writer, &first);
    add_thread(&writer, 0x1111, 7);
    add_thread(&writer, 0x2222, 8);
    rm_stack_writer_publish_peak(&writer);
    rm_stack_writer_begin_peak(&writer, &second); /* not finished: the first stays */
    add_thread(&writer, 0x3333, 9);
    run = decoded(&block);
    assert_int_equal(run->profile.peak.t_ns, 1);
    assert_near(run->profile.peak.headroom_bytes, 50, 0);
    assert_int_equal(run->profile.peak.stack_count, 2);
    assert_int_equal(run->profile.peak.stacks[1].thread, 8);
    assert_string_equal(run->profile.peak.stacks[1].thread_name, "worker");
    rm_run_free(run);

    rm_stack_writer_publish_peak(&writer);
    run = decoded(&block);
    assert_near(run->profile.peak.rss_bytes, 200, 0);
    assert_true(isnan(run->profile.peak.headroom_bytes));
    assert_int_equal(run->profile.peak.stack_count, 1);
    rm_run_free(run);
    rm_stack_writer_close(&writer);
    free_block(&block);
}

/* Whatever a file says of stacks: no more than what is there is read, and nothing goes on for ever.
 */
TEST(damaged_stacks_are_survived)
{
    static const enum rm_section_id sections[] = {RM_SECTION_STACK_RECORD, RM_SECTION_STACK_NODES,
                                                  RM_SECTION_STACKS, RM_SECTION_MODULES,
                                                  RM_SECTION_PEAK_STACKS};
    struct rm_block block = made(8);
    struct rm_stack_writer writer;
    const uint64_t addresses[] = {0x1010, 0x2020, 0x3030};
    const uint32_t sites[] = {1, 2};
    const struct rm_peak_head head = {.t_ns = 1};
    assert_ok(rm_stack_writer_open(&writer, &block));
    struct rm_stack_sample sample = sample_of(addresses, 3, RESMON_STACK_CPU, 1);
    sample.sites = sites;
    sample.site_count = 2;
    rm_stack_writer_add(&writer, &sample);
    rm_stack_writer_begin_peak(&writer, &head);
    add_thread(&writer, 0x1111, 7);
    rm_stack_writer_publish_peak(&writer);
    rm_stack_writer_close(&writer);
    uint64_t bytes = block.header->total_bytes;
    unsigned char *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, block.base, bytes);
    struct random random = {.state = 1};
    for (int round = 0; round < 3000; round++) {
        memcpy(block.base, copy, bytes);
        for (int i = 0; i < 4; i++) {
            const struct rm_section *section =
                &block.header->sections[sections[random_below(&random, RM_ARRAY_LEN(sections))]];
            uint64_t size = section->record_bytes * section->count;
            uint64_t at = random_below(&random, size < 600 ? size : 600);
            block.base[section->offset + at] = (unsigned char)random_u64(&random);
        }
        struct resmon_run *run = decoded(&block);
        for (size_t i = 0; i < run->profile.stack_count; i++) {
            const struct rm_run_stack *stack = &run->profile.stacks[i];
            assert_true(stack->first + stack->depth <= run->profile.frame_count);
            assert_true(stack->scope < (int64_t)run->scope_count);
        }
        for (size_t i = 0; i < run->profile.frame_count; i++) {
            assert_true(run->profile.frames[i] < run->profile.place_count);
        }
        rm_run_free(run);
    }
    free(copy);
    free_block(&block);
}
