/* SPDX-License-Identifier: MIT */
/*
 * base/ring: first in, first out; bounded, with a count of what was refused; whole across threads.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/ring.h"

/* Sizes beyond all memory are to be refused by the library, not by a sanitizer. */
struct record {
    uint64_t number;
    uint64_t square;
    unsigned char filler[5]; /* an odd size: slots are rounded up */
};

static bool put(struct rm_ring *ring, uint64_t number)
{
    struct record *record = rm_ring_reserve(ring);
    if (record == NULL) {
        return false;
    }
    record->number = number;
    record->square = number * number;
    rm_ring_commit(ring);
    return true;
}

TEST(a_full_ring_refuses_and_counts)
{
    struct rm_ring ring;
    assert_ok(rm_ring_init(&ring, sizeof(struct record), 3));
    assert_null(rm_ring_peek(&ring));
    uint64_t next_in = 0, next_out = 0;
    for (int round = 0; round < 10; round++) {
        while (put(&ring, next_in)) {
            next_in++;
        }
        assert_int_equal(next_in - next_out, 3);
        assert_int_equal(ring.dropped, round + 1);
        int taken = 1 + round % 3;
        for (int i = 0; i < taken; i++) {
            const struct record *record = rm_ring_peek(&ring);
            assert_non_null(record);
            assert_ptr_equal(rm_ring_peek(&ring), record); /* looking takes nothing */
            assert_int_equal(record->number, next_out++);
            rm_ring_release(&ring);
        }
    }
    rm_ring_free(&ring);
}

TEST(a_reserved_slot_is_seen_after_commit_only)
{
    struct rm_ring ring;
    assert_ok(rm_ring_init(&ring, 1, 1));
    unsigned char *slot = rm_ring_reserve(&ring);
    assert_non_null(slot);
    assert_ptr_equal(rm_ring_reserve(&ring), slot); /* given up and taken again */
    *slot = 7;
    assert_null(rm_ring_peek(&ring));
    rm_ring_commit(&ring);
    assert_ptr_equal(rm_ring_peek(&ring), slot);
    assert_null(rm_ring_reserve(&ring));
    rm_ring_release(&ring);
    assert_null(rm_ring_peek(&ring));
    assert_non_null(rm_ring_reserve(&ring));
    rm_ring_free(&ring);
    rm_ring_free(&ring); /* twice is fine */
}

TEST(a_ring_that_cannot_be_made_says_so)
{
    struct rm_ring ring;
    assert_status(RESMON_ENOMEM, rm_ring_init(&ring, SIZE_MAX / 4, SIZE_MAX / 4));
    rm_ring_free(&ring);
    assert_status(RESMON_ENOMEM, rm_ring_init(&ring, 8, 0));
    rm_ring_free(&ring);
}

enum { RECORDS = 200000 };

static void *produce(void *context)
{
    for (uint64_t number = 0; number < RECORDS;) {
        if (put(context, number)) {
            number++;
        } else {
            (void)sched_yield();
        }
    }
    return NULL;
}

TEST(two_threads_pass_everything_whole_and_in_order)
{
    pthread_t producer;
    struct rm_ring ring;
    assert_ok(rm_ring_init(&ring, sizeof(struct record), 16));
    assert_int_equal(pthread_create(&producer, NULL, produce, &ring), 0);
    for (uint64_t number = 0; number < RECORDS;) {
        const struct record *record = rm_ring_peek(&ring);
        if (record == NULL) {
            (void)sched_yield();
            continue;
        }
        assert_int_equal(record->number, number);
        assert_int_equal(record->square, number * number);
        rm_ring_release(&ring);
        number++;
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_null(rm_ring_peek(&ring));
    rm_ring_free(&ring);
}
