/* SPDX-License-Identifier: MIT */
/*
 * base/map, the table and the numbering of keys: against a model that looks
 * through a list, with hashes that collide; and each allocation fails once.
 */
#include "test.h"

#include "base/fault.h"
#include "base/map.h"
#include "random.h"

#define MOST 3000

/* Keys by number. */
struct model {
    uint64_t keys[MOST];
    uint32_t count;
};

typedef uint64_t (*hash_fn)(uint64_t key);

static uint64_t hash_well(uint64_t key)
{
    return rm_hash_u64(RM_HASH_START, key);
}

static uint64_t hash_to_few(uint64_t key)
{
    return key % 7;
}

/* One slot behind the other, over the end of the table. */
static uint64_t hash_to_the_end(uint64_t key)
{
    return UINT32_MAX - key % 3;
}

/* Apart in the upper half only. */
static uint64_t hash_high(uint64_t key)
{
    return key << 32;
}

static int64_t find_in_model(const struct model *model, uint64_t key)
{
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->keys[i] == key) {
            return i;
        }
    }
    return -1;
}

static int64_t find_in_map(const struct rm_map *map, const struct model *model, hash_fn hash,
                           uint64_t key)
{
    struct rm_map_search search = {.hash = hash(key)};
    for (uint32_t number; rm_map_next(map, &search, &number);) {
        assert_true(number < model->count);
        if (model->keys[number] == key) {
            return number;
        }
    }
    return -1;
}

static void add(struct rm_map *map, struct model *model, hash_fn hash, uint64_t key)
{
    assert_true(rm_map_reserve(map, (uint64_t)map->count + 1));
    model->keys[model->count] = key;
    rm_map_add(map, hash(key), model->count++);
}

/* As the tree of processes does: numbers move up, and the map is filled again. */
static void remove_some(struct rm_map *map, struct model *model, hash_fn hash,
                        struct random *random)
{
    uint32_t kept = 0;
    rm_map_clear(map);
    for (uint32_t i = 0; i < model->count; i++) {
        if (random_below(random, 3) > 0) {
            model->keys[kept] = model->keys[i];
            rm_map_add(map, hash(model->keys[kept]), kept);
            kept++;
        }
    }
    model->count = kept;
}

static void compare(hash_fn hash, uint64_t distinct, uint32_t most, int operations)
{
    static struct model model;
    struct rm_map map = {.slots = NULL};
    struct random random = {0x9e3779b97f4a7c15U ^ distinct};
    model.count = 0;
    for (int i = 0; i < operations; i++) {
        uint64_t key = random_below(&random, distinct);
        int64_t found = find_in_map(&map, &model, hash, key);
        assert_int_equal(found, find_in_model(&model, key));
        if (found < 0) {
            add(&map, &model, hash, key);
        }
        if (model.count == most) {
            remove_some(&map, &model, hash, &random);
        }
        assert_int_equal(map.count, model.count);
        assert_true(map.count <= map.room / 2 && (map.room & (map.room - 1)) == 0);
    }
    rm_map_free(&map);
}

TEST(a_map_finds_what_a_list_finds)
{
    compare(hash_well, 100, 100, 3000);
    compare(hash_well, 100000, MOST, 20000);
    compare(hash_to_few, 300, 200, 5000);
    compare(hash_to_the_end, 60, 50, 3000);
    compare(hash_high, 5000, 1000, 10000);
}

TEST(hashes_of_numbers_are_spread)
{
    /* Pids, addresses on pages, and pairs: of 4096 in 8192 slots, some 3225 differ by chance. */
    for (unsigned shift = 0; shift <= 20; shift += 4) {
        static unsigned char is_taken[8192];
        int taken = 0;
        memset(is_taken, 0, sizeof is_taken);
        for (uint64_t i = 0; i < 4096; i++) {
            uint64_t hash = rm_hash_u64(RM_HASH_START, i << shift);
            unsigned char *slot = &is_taken[(hash ^ hash >> 32) % sizeof is_taken];
            taken += *slot == 0 ? 1 : 0;
            *slot = 1;
        }
        assert_true(taken > 3000);
    }
}

TEST(an_empty_map_is_of_use)
{
    struct rm_map map = {.slots = NULL};
    struct rm_map_search search = {.hash = 1};
    uint32_t number;
    assert_false(rm_map_next(&map, &search, &number));
    assert_true(rm_map_reserve(&map, 0));
    rm_map_clear(&map);
    rm_map_free(&map);
    assert_false(rm_map_reserve(&map, UINT64_MAX));
    assert_false(rm_map_reserve(&map, (UINT64_C(1) << 29) + 1));
    assert_null(map.slots);
}

TEST(room_that_was_reserved_is_enough)
{
    struct rm_map map = {.slots = NULL};
    assert_true(rm_map_reserve(&map, 1000));
    const struct rm_map_slot *slots = map.slots;
    for (uint32_t i = 0; i < 1000; i++) {
        rm_map_add(&map, hash_well(i), i);
    }
    assert_ptr_equal(map.slots, slots);
    rm_map_free(&map);
}

TEST(a_map_is_whole_after_an_allocation_failed)
{
    static struct model model;
    struct rm_map map = {.slots = NULL};
    int failures = 0;
    int64_t before = rm_fault_live(0);
    model.count = 0;
    for (uint64_t key = 0; key < 500; key++) {
        rm_fault_arm(RM_FAULT_ALLOC, 0);
        bool has_room = rm_map_reserve(&map, (uint64_t)map.count + 1);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        failures += has_room ? 0 : 1;
        add(&map, &model, hash_well, key);
        for (uint64_t old = 0; old <= key; old++) {
            assert_int_equal(find_in_map(&map, &model, hash_well, old), old);
        }
    }
    assert_int_equal(failures, 6); /* 32 ... 1024 slots */
    rm_map_free(&map);
    assert_int_equal(rm_fault_live(0), before);
}

/* ---- the numbering of keys ------------------------------------------------------------------ */

TEST(equal_keys_have_one_number)
{
    struct rm_intern table = {.count = 0};
    char key[16];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            int length = snprintf(key, sizeof key, "%u", i);
            assert_int_equal(rm_intern(&table, key, (size_t)length), i);
            assert_string_equal(table.keys[i].bytes, key);
        }
    }
    assert_int_equal(rm_intern(&table, "a\0b", 3), 1000);
    assert_int_equal(rm_intern(&table, "a", 1), 1001);
    assert_int_equal(rm_intern(&table, "", 0), 1002);
    assert_int_equal(rm_intern_text(&table, ""), 1002);
    assert_int_equal(table.count, 1003);
    assert_false(table.is_broken);
    rm_intern_free(&table);
}

TEST(a_key_without_memory_is_said)
{
    int64_t before = rm_fault_live(0);
    int failed = 0;
    for (int k = 0; k < 100; k++) {
        struct rm_intern table = {.count = 0};
        rm_fault_arm(RM_FAULT_ALLOC, k);
        for (uint32_t i = 0; i < 100 && !table.is_broken; i++) {
            uint32_t number = rm_intern(&table, &i, sizeof i);
            assert_int_equal(number, table.is_broken ? 0 : i);
            assert_int_equal(table.count, table.is_broken ? i : i + 1);
        }
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        failed += table.is_broken ? 1 : 0;
        rm_intern_free(&table);
        assert_int_equal(rm_fault_live(0), before);
    }
    assert_true(failed >= 8);
}
