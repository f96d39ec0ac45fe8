/* SPDX-License-Identifier: MIT */
/*
 * stack/resident: what is still there of sampled memory, by a pagemap that is made here.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "stack/resident.h"

#define PAGE    UINT64_C(4096)
#define PERIOD  UINT64_C(64)
#define EACH    (PERIOD * PAGE) /* bytes of a sample */
#define MIB     UINT64_C(1048576)
#define GIB     (1024 * MIB)
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

static struct rm_root root;
static struct rm_resident resident;
static struct rm_stack_entry a, b;
static int pagemap;

FIXTURE(set_up)
{
    a = b = (struct rm_stack_entry){.node = 1};
    assert_ok(rm_root_open(&root, path_of("")));
    pagemap = open(path_of("pagemap"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    return pagemap < 0 || ftruncate(pagemap, (off_t)(64 * GIB / PAGE * 8)) != 0;
}

FIXTURE(tear_down)
{
    rm_resident_free(&resident);
    rm_root_close(&root);
    return close(pagemap) != 0 || unlink(path_of("pagemap")) != 0;
}

TEST_FILE(.before_each = set_up, .after_each = tear_down);

static void map(uint64_t address, uint64_t bytes, uint64_t entry)
{
    for (uint64_t page = address / PAGE; page < (address + bytes) / PAGE; page++) {
        assert_int_equal(pwrite(pagemap, &entry, sizeof entry, (off_t)(page * 8)), 8);
    }
}

/* Touches memory upwards: one sample for each EACH bytes, at their last page. */
static void touch(struct rm_stack_entry *entry, uint64_t address, uint64_t bytes)
{
    for (uint64_t done = EACH; done <= bytes; done += EACH) {
        const struct rm_resident_sample sample = {
            .entry = entry, .address = address + done - PAGE, .bytes = EACH, .faults = PERIOD};
        rm_resident_add(&resident, &sample);
    }
}

static void look(void)
{
    assert_ok(rm_resident_look(&resident, &root, "pagemap", PAGE));
}

static uint64_t of(const struct rm_stack_entry *entry)
{
    return entry->weight[RESMON_STACK_RESIDENT];
}

static uint64_t samples_of(const struct rm_stack_entry *entry)
{
    return entry->samples[RESMON_STACK_RESIDENT];
}

TEST(memory_counts_from_its_sample_on)
{
    touch(&a, GIB, 8 * MIB);
    assert_int_equal(of(&a), 8 * MIB);
    assert_int_equal(samples_of(&a), 8 * MIB / EACH);
    assert_true(a.square[RESMON_STACK_RESIDENT] > 0.0);
    assert_int_equal(a.weight[RESMON_STACK_MEMORY], 0);
}

TEST(what_was_given_back_counts_no_more)
{
    touch(&a, GIB, 8 * MIB);
    touch(&b, 3 * GIB, 4 * MIB);
    map(GIB, 8 * MIB, PRESENT);
    map(3 * GIB, 4 * MIB, SWAPPED);
    look();
    assert_int_equal(of(&a), 8 * MIB);
    assert_int_equal(of(&b), 4 * MIB);
    map(GIB + 2 * MIB, 6 * MIB, 0);
    look();
    assert_int_equal(of(&a), 2 * MIB);
    assert_int_equal(samples_of(&a), 2 * MIB / EACH);
    assert_int_equal(of(&b), 4 * MIB);
    map(3 * GIB, 4 * MIB, 0);
    look();
    assert_int_equal(of(&b), 0);
    assert_int_equal(samples_of(&b), 0);
    assert_true(fabs(b.square[RESMON_STACK_RESIDENT]) < 1.0);
}

/* Nobody saw that the memory of the first stack was given back in between. */
TEST(memory_that_came_again_belongs_to_the_later_stack)
{
    touch(&a, GIB, 48 * MIB);
    touch(&b, GIB + PAGE, 24 * MIB); /* its samples are at other pages */
    map(GIB, 24 * MIB + PAGE, PRESENT);
    look();
    assert_int_equal(of(&b), 24 * MIB);
    assert_true(of(&a) <= EACH);
}

TEST(neighbours_keep_what_is_theirs)
{
    touch(&a, GIB, 16 * MIB);
    touch(&b, GIB + 16 * MIB, 16 * MIB);
    touch(&b, GIB + 32 * MIB, 16 * MIB);
    map(GIB, 32 * MIB, PRESENT); /* the last part is gone */
    look();
    assert_int_equal(of(&a), 16 * MIB);
    assert_int_equal(of(&b), 16 * MIB);
}

/* Long periods: a sample of 16 MiB. */
TEST(a_sample_claims_as_much_as_it_represents)
{
    const struct rm_resident_sample sample = {
        .entry = &a, .address = GIB + 16 * MIB - PAGE, .bytes = 16 * MIB, .faults = 4096};
    rm_resident_add(&resident, &sample);
    map(GIB, 16 * MIB, PRESENT);
    look();
    assert_int_equal(of(&a), 16 * MIB);
    map(GIB, 12 * MIB, 0);
    look();
    assert_int_equal(of(&a), 4 * MIB);
}

/* Its pagemap is empty then: what was there at the look before is told. */
TEST(the_look_before_the_end_of_a_process_counts)
{
    touch(&a, GIB, 8 * MIB);
    map(GIB, 4 * MIB, PRESENT);
    look();
    assert_int_equal(of(&a), 4 * MIB);
    assert_int_equal(ftruncate(pagemap, 0), 0);
    assert_status(RESMON_ESRCH, rm_resident_look(&resident, &root, "pagemap", PAGE));
    assert_int_equal(of(&a), 4 * MIB);
    assert_status(RESMON_ENOENT, rm_resident_look(&resident, &root, "no/pagemap", PAGE));
    assert_int_equal(of(&a), 4 * MIB);
}

/* A stack at the end of the address space. */
TEST(the_last_pages_are_looked_at)
{
    uint64_t end = 2 * GIB - 5 * PAGE;
    assert_int_equal(ftruncate(pagemap, (off_t)(end / PAGE * 8)), 0);
    touch(&a, end - MIB, MIB);
    map(end - MIB, MIB, PRESENT);
    look();
    assert_int_equal(of(&a), MIB);
}

TEST(a_replaced_program_has_nothing)
{
    touch(&a, GIB, 8 * MIB);
    rm_resident_withdraw(&resident);
    assert_int_equal(of(&a), 0);
    assert_int_equal(samples_of(&a), 0);
    assert_int_equal(resident.count, 0);
}

TEST(more_samples_than_room_keep_their_sums)
{
    uint64_t bytes = (RM_RESIDENT_SAMPLES + 100) * EACH;
    touch(&a, GIB, bytes);
    assert_true(resident.count <= RM_RESIDENT_SAMPLES);
    assert_int_equal(of(&a), bytes);
    map(GIB, bytes / 4, PRESENT);
    look();
    double quarter = (double)bytes / 4.0;
    assert_true(fabs((double)of(&a) - quarter) < 0.02 * quarter);
    assert_int_equal(rm_resident_take_left_out(&resident), 0);
}

TEST(stacks_without_room_are_left_out)
{
    struct rm_stack_entry *many = calloc(RM_RESIDENT_SAMPLES + 10, sizeof *many);
    for (uint64_t i = 0; i < RM_RESIDENT_SAMPLES + 10; i++) {
        touch(&many[i], GIB + i * EACH, EACH);
    }
    assert_int_equal(rm_resident_take_left_out(&resident), 10);
    assert_int_equal(rm_resident_take_left_out(&resident), 0);
    assert_int_equal(of(&many[RM_RESIDENT_SAMPLES + 1]), 0);
    rm_resident_free(&resident);
    free(many);
}

/* Of a fault that was accounted already, the first one and where the array grows. */
TEST(a_sample_of_no_memory_is_none)
{
    const struct rm_resident_sample none = {.entry = &b, .address = GIB, .bytes = 0, .faults = 0};
    rm_resident_add(&resident, &none);
    for (uint64_t i = 0; i < 100; i++) {
        touch(&a, GIB + i * EACH, EACH);
        rm_resident_add(&resident, &none);
    }
    assert_int_equal(of(&a), 100 * EACH);
    assert_int_equal(resident.count, 100);
}

TEST(pages_of_files_are_not_memory_that_is_there)
{
    touch(&a, GIB, 2 * MIB);
    map(GIB, 2 * MIB, PRESENT | UINT64_C(1) << 61);
    look();
    assert_int_equal(of(&a), 0);
}

TEST(looks_take_a_hundredth_of_the_time)
{
    struct rm_resident_turn turn = {0};
    assert_true(rm_resident_turn_begin(&turn, 1000, 50));
    rm_resident_turn_end(&turn, 90000000, 60); /* on a busy machine */
    assert_false(rm_resident_turn_begin(&turn, 90000000 + 99999999, 70));
    assert_true(rm_resident_turn_begin(&turn, 90000000 + 100000000, 70));
    rm_resident_turn_end(&turn, 200000000, 5000070);
    assert_int_equal(turn.next_ns, 200000000 + 500000000);
    assert_false(rm_resident_turn_begin(&turn, turn.next_ns - 1, 6000000));
}

TEST(without_memory_the_look_before_counts)
{
    touch(&a, GIB, 8 * MIB);
    map(GIB, 4 * MIB, PRESENT);
    for (int64_t k = 0; of(&a) == 8 * MIB; k++) {
        rm_fault_arm(RM_FAULT_ALLOC, k);
        (void)rm_resident_look(&resident, &root, "pagemap", PAGE);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_true(of(&a) == 8 * MIB || of(&a) == 4 * MIB);
        assert_true(k < 100);
    }
    assert_int_equal(of(&a), 4 * MIB);
}
