/* SPDX-License-Identifier: MIT */
/*
 * store/facts: texts and numbers come back as they were put in, and garbage in the arena ends the
 * list.
 */
#include "test.h"

#include "made_block.h"
#include "random.h"
#include "store/run_records.h"

static struct rm_block block_for(uint64_t bytes)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.fact_bytes = bytes;
    return made_block(&sizes);
}

static size_t count_facts(const struct rm_block *block)
{
    struct rm_fact fact;
    uint64_t position = 0;
    size_t count = 0;
    while (rm_facts_next(block, &position, &fact)) {
        assert_true(strlen(fact.group) + strlen(fact.key) + strlen(fact.value) <
                    block->header->sizes.fact_bytes);
        count++;
    }
    return count;
}

TEST(facts_come_back_in_order)
{
    struct rm_fact fact;
    uint64_t position = 0;
    struct rm_block block = block_for(512);
    assert_false(rm_facts_next(&block, &position, &fact));
    rm_facts_add_text(&block, "run", "name", "n");
    rm_facts_add_text(&block, "run", "empty", "");
    rm_facts_add_text(&block, "run", "nothing", NULL); /* no fact */
    rm_facts_add_number(&block, "machine", "cpus", 2.5);
    rm_facts_add_number(&block, "machine", "unknown", NAN);      /* no fact */
    rm_facts_add_number(&block, "machine", "endless", INFINITY); /* no fact */
    rm_facts_add_text(&block, "run", "dirty", "a\nb\xff");
    static const struct rm_fact expected[] = {{"run", "name", "n", RM_FACT_TEXT},
                                              {"run", "empty", "", RM_FACT_TEXT},
                                              {"machine", "cpus", "2.5", RM_FACT_NUMBER},
                                              {"run", "dirty", "a?b?", RM_FACT_TEXT}};
    for (size_t i = 0; i < 4; i++) {
        assert_true(rm_facts_next(&block, &position, &fact));
        assert_string_equal(fact.group, expected[i].group);
        assert_string_equal(fact.key, expected[i].key);
        assert_string_equal(fact.value, expected[i].value);
        assert_int_equal(fact.kind, expected[i].kind);
    }
    assert_false(rm_facts_next(&block, &position, &fact));
    free_block(&block);
}

static double there_and_back(double value)
{
    char text[RM_FACT_NUMBER_BYTES];
    struct rm_fact fact = {"g", "k", text, RM_FACT_NUMBER};
    rm_facts_print_number(value, text);
    return rm_fact_number(&fact);
}

TEST(numbers_are_printed_as_people_write_them)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {1.0, "1"},
        {-1.0, "-1"},
        {0.5, "0.5"},
        {-0.25, "-0.25"},
        {0.01, "0.01"},
        {1e-6, "0.000001"},
        {12.34, "12.34"},
        {0.9999999999, "1"},
        {99.9999999996, "100"},
        {1e-7, "0.0000001"},
        {1e15, "1000000000000000"},
        {8999999999999999.0, "8999999999999999"},
        {1048576.0, "1048576"},
        {100.000001, "100.000001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[RM_FACT_NUMBER_BYTES];
        rm_facts_print_number(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(numbers_come_back)
{
    struct random random = {8};
    for (int i = 0; i < 20000; i++) {
        /* Whole numbers exactly, up to the limit. */
        double whole = floor(random_unit(&random) * pow(10.0, (double)random_below(&random, 16)));
        double sign = i % 2 == 0 ? 1.0 : -1.0;
        assert_true(there_and_back(sign * whole) == sign * whole);
        /* Others to the microunit, and to what a double holds of the sum. */
        double value = sign * random_unit(&random) * pow(10.0, (double)random_below(&random, 9));
        assert_near(there_and_back(value), value, 0.51e-6 + 4e-16 * fabs(value));
    }
}

TEST(text_that_is_no_number_is_none)
{
    static const char *const texts[] = {"", "-", "x", "--1", "nan", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rm_fact fact = {"g", "k", texts[i], RM_FACT_NUMBER};
        assert_true(isnan(rm_fact_number(&fact)));
    }
}

TEST(a_full_arena_drops_facts_whole)
{
    /* "s" "g\0" "k\0" "value\0": 11 bytes. */
    struct rm_block block = block_for(35);
    for (int i = 0; i < 5; i++) {
        rm_facts_add_text(&block, "g", "k", "value");
    }
    assert_int_equal(count_facts(&block), 3);
    assert_int_equal(block.header->fact_length, 33);
    rm_facts_add_text(&block, "", "", ""); /* 4 bytes, where 2 are left */
    assert_int_equal(count_facts(&block), 3);
    free_block(&block);
}

TEST(overlong_parts_are_cut)
{
    static char longest[2000];
    struct rm_fact fact;
    uint64_t position = 0;
    struct rm_block block = block_for(4096);
    memset(longest, 'x', sizeof longest - 1);
    rm_facts_add_text(&block, longest, longest, longest);
    rm_facts_add_text(&block, "g", "k", "v");
    assert_true(rm_facts_next(&block, &position, &fact));
    assert_int_equal(strlen(fact.group), 47);
    assert_int_equal(strlen(fact.key), 47);
    assert_int_equal(strlen(fact.value), 511);
    assert_true(rm_facts_next(&block, &position, &fact));
    assert_string_equal(fact.value, "v");
    free_block(&block);
}

TEST(garbage_ends_the_list)
{
    struct random random = {13};
    struct rm_block block = block_for(64);
    char *arena = rm_block_record(&block, RM_SECTION_FACTS, 0);
    rm_facts_add_text(&block, "g", "k", "value");
    uint64_t whole = block.header->fact_length;
    for (uint64_t length = 0; length < whole; length++) { /* cut anywhere */
        block.header->fact_length = length;
        assert_int_equal(count_facts(&block), 0);
    }
    block.header->fact_length = whole;
    arena[0] = 'x'; /* no such kind */
    assert_int_equal(count_facts(&block), 0);
    block.header->fact_length = UINT64_MAX;
    assert_int_equal(count_facts(&block), 0);
    block.header->fact_length = 65;
    assert_int_equal(count_facts(&block), 0);
    block.header->fact_length = 64;
    memset(arena, 's', 64); /* never an end */
    assert_int_equal(count_facts(&block), 0);
    for (int round = 0; round < 2000; round++) {
        static const char bytes[] = {'s', 'n', '\0', '\0', 'a', '\xff'};
        for (int i = 0; i < 64; i++) {
            arena[i] = bytes[random_below(&random, sizeof bytes)];
        }
        assert_true(count_facts(&block) <= 16); /* a fact has at least 4 bytes */
    }
    free_block(&block);
}
