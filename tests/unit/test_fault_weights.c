/* SPDX-License-Identifier: MIT */
/*
 * stack/faults: what samples of page faults weigh, by an RSS that is made up here: pages of
 * files that come in groups, huge pages that few samples fell on, memory that comes without faults.
 */
#include "test.h"

#include "base/compiler.h"
#include "stack/faults.h"

#define KIB    UINT64_C(1024)
#define MIB    (KIB * 1024)
#define PAGE   (4 * KIB)
#define HUGE   (2 * MIB)
#define PERIOD 64

struct made {
    struct rm_fault_weights weights;
    struct rm_stack_entry entries[RM_HELD_FAULTS + 1];
    uint64_t rss[RM_RSS_PARTS];
};

static struct made *made(void)
{
    struct made *made = test_calloc(1, sizeof *made);
    assert_non_null(made);
    made->rss[RM_RSS_ANON] = 10 * MIB;
    made->rss[RM_RSS_FILE] = 5 * MIB;
    rm_fault_weights_begin(&made->weights, PAGE, PERIOD, made->rss);
    return made;
}

static void hold(struct made *made, enum rm_rss_part part, size_t entry, uint64_t faults,
                 uint64_t page_bytes)
{
    const struct rm_held_fault held = {&made->entries[entry], faults, 1, page_bytes, 0};
    assert_true(rm_fault_weights_hold(&made->weights, part, &held));
}

/* Looks after the RSS has changed by so much. */
static bool look(struct made *made, enum rm_rss_part part, int64_t change)
{
    made->rss[part] += (uint64_t)change;
    return rm_fault_weights_settle(&made->weights, made->rss);
}

static double weight_of(const struct made *made, enum rm_rss_part part, size_t entry)
{
    return (double)made->entries[entry]
        .weight[part == RM_RSS_ANON ? RESMON_STACK_MEMORY : RESMON_STACK_FILE];
}

/* A file of 159 MiB of which each fault mapped some 200 KiB, as 12 samples told: 3 MiB by them. */
TEST(pages_of_files_weigh_what_came)
{
    struct made *run = made();
    for (size_t i = 0; i < 12; i++) {
        hold(run, RM_RSS_FILE, i % 2, PERIOD, PAGE);
        (void)look(run, RM_RSS_FILE, 13 * (int64_t)MIB);
    }
    assert_near(weight_of(run, RM_RSS_FILE, 0), 78.0 * (double)MIB, 1.0);
    assert_near(weight_of(run, RM_RSS_FILE, 1), 78.0 * (double)MIB, 1.0);
    assert_int_equal(run->weights.rises[RM_RSS_FILE].risen, 156 * MIB);
    assert_int_equal(run->weights.rises[RM_RSS_FILE].open, 0);
    assert_near(weight_of(run, RM_RSS_ANON, 0), 0.0, 0);
    test_free(run);
}

/* 4 samples of huge pages and of others: 209 MiB by their numbers. */
TEST(huge_pages_of_files_weigh_no_more)
{
    struct made *run = made();
    hold(run, RM_RSS_FILE, 0, PERIOD, HUGE);
    hold(run, RM_RSS_FILE, 1, 4, HUGE);
    hold(run, RM_RSS_FILE, 1, 4, PAGE);
    (void)look(run, RM_RSS_FILE, 144 * (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_FILE, 0), 128.0 * (double)MIB, 1.0);
    assert_near(weight_of(run, RM_RSS_FILE, 1), 16.0 * (double)MIB, 1.0);
    test_free(run);
}

/* A write to a page of a shared mapping that was clean is a fault, and brings nothing. */
TEST(faults_without_pages_weigh_nothing)
{
    struct made *run = made();
    hold(run, RM_RSS_FILE, 0, PERIOD, PAGE);
    (void)look(run, RM_RSS_FILE, 0);
    hold(run, RM_RSS_FILE, 0, PERIOD, PAGE);
    (void)look(run, RM_RSS_FILE, -(int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_FILE, 0), 0.0, 0);
    test_free(run);
}

/* mmap(MAP_POPULATE), and then some pages by faults: these have what rose when they came, and what
 * one period of faults without a sample may have brought before. */
TEST(what_comes_without_faults_is_nobodys)
{
    struct made *run = made();
    (void)look(run, RM_RSS_FILE, 159 * (int64_t)MIB);
    hold(run, RM_RSS_FILE, 0, PERIOD, PAGE);
    (void)look(run, RM_RSS_FILE, (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_FILE, 0), 5.0 * (double)MIB, 1.0);
    assert_int_equal(run->weights.rises[RM_RSS_FILE].risen, 160 * MIB);
    /* What was given back need not be explained. */
    (void)look(run, RM_RSS_FILE, -160 * (int64_t)MIB);
    assert_int_equal(run->weights.rises[RM_RSS_FILE].open, 0);
    assert_int_equal(run->weights.rises[RM_RSS_FILE].risen, 160 * MIB);
    test_free(run);
}

/* Slow reading: the sample comes long after the pages that it stands for. */
TEST(a_sample_stands_for_what_came_before_it)
{
    struct made *run = made();
    for (int i = 0; i < 63; i++) {
        (void)look(run, RM_RSS_FILE, 64 * (int64_t)KIB);
    }
    hold(run, RM_RSS_FILE, 0, PERIOD, PAGE);
    (void)look(run, RM_RSS_FILE, 64 * (int64_t)KIB);
    assert_near(weight_of(run, RM_RSS_FILE, 0), 4.0 * (double)MIB, 1.0);
    test_free(run);
}

/* One sample of 64 faults, and they brought an array of 152 MiB, not 128 MiB; another brought less
 * than it might have. */
TEST(huge_pages_of_memory_weigh_what_came)
{
    struct made *run = made();
    hold(run, RM_RSS_ANON, 0, PERIOD, HUGE);
    (void)look(run, RM_RSS_ANON, 152 * (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_ANON, 0), 152.0 * (double)MIB, 1.0);
    hold(run, RM_RSS_ANON, 1, PERIOD, HUGE);
    rm_fault_weights_count(&run->weights, MIB); /* small pages beside it */
    (void)look(run, RM_RSS_ANON, 21 * (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_ANON, 1), 20.0 * (double)MIB, 1.0);
    assert_int_equal(run->weights.huge_bytes, 172 * MIB);
    test_free(run);
}

/* It was given back before anybody looked: each sample saw one come. */
TEST(huge_pages_that_were_seen_weigh_something)
{
    struct made *run = made();
    for (size_t i = 0; i < 10; i++) {
        hold(run, RM_RSS_ANON, 0, 1, HUGE); /* every one is sampled */
        hold(run, RM_RSS_ANON, 1, PERIOD, HUGE);
    }
    (void)look(run, RM_RSS_ANON, 0);
    assert_near(weight_of(run, RM_RSS_ANON, 0), 20.0 * (double)MIB, 0);
    assert_near(weight_of(run, RM_RSS_ANON, 1), 20.0 * (double)MIB, 0);
    /* No more than there are, however much rose by other means. */
    hold(run, RM_RSS_ANON, 2, 1, HUGE);
    hold(run, RM_RSS_ANON, 2, 1, HUGE);
    (void)look(run, RM_RSS_ANON, 500 * (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_ANON, 2), 4.0 * (double)MIB, 0);
    assert_near(run->entries[2].square[RESMON_STACK_MEMORY], 0.0, 0);
    test_free(run);
}

TEST(errors_are_those_of_the_weights)
{
    struct made *run = made();
    hold(run, RM_RSS_FILE, 0, 4, PAGE);
    hold(run, RM_RSS_FILE, 1, 12, PAGE);
    (void)look(run, RM_RSS_FILE, 16 * (int64_t)MIB);
    const double mib = (double)MIB;
    assert_near(run->entries[0].square[RESMON_STACK_FILE], 16.0 * mib * mib * 3.0 / 4.0, 1.0);
    assert_near(run->entries[1].square[RESMON_STACK_FILE], 144.0 * mib * mib * 11.0 / 12.0, 1.0);
    test_free(run);
}

TEST(much_memory_and_few_faults_are_huge_pages)
{
    struct made *run = made();
    assert_true(look(run, RM_RSS_ANON, 40 * (int64_t)MIB));
    rm_fault_weights_count(&run->weights, 40 * MIB);
    assert_false(look(run, RM_RSS_ANON, 40 * (int64_t)MIB));
    assert_false(look(run, RM_RSS_ANON, 4 * (int64_t)MIB));
    assert_false(look(run, RM_RSS_FILE, 40 * (int64_t)MIB));
    assert_false(rm_fault_weights_settle(&run->weights, NULL)); /* it cannot be read just now */
    test_free(run);
}

TEST(no_more_are_held_than_there_is_room_for)
{
    struct made *run = made();
    const struct rm_held_fault held = {&run->entries[0], 1, 1, PAGE, 0};
    for (size_t i = 0; i < RM_HELD_FAULTS; i++) {
        assert_true(rm_fault_weights_hold(&run->weights, RM_RSS_FILE, &held));
    }
    assert_false(rm_fault_weights_hold(&run->weights, RM_RSS_FILE, &held));
    (void)look(run, RM_RSS_FILE, (int64_t)MIB);
    assert_near(weight_of(run, RM_RSS_FILE, 0), (double)MIB, 128.0);
    assert_true(rm_fault_weights_hold(&run->weights, RM_RSS_FILE, &held));
    const struct rm_held_fault none = {&run->entries[1], 0, 1, HUGE, 0}; /* charged already */
    assert_true(rm_fault_weights_hold(&run->weights, RM_RSS_ANON, &none));
    (void)look(run, RM_RSS_ANON, 0);
    assert_near(weight_of(run, RM_RSS_ANON, 1), 0.0, 0);
    test_free(run);
}
