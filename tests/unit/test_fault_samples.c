/* SPDX-License-Identifier: MIT */
/*
 * Page faults as the kernel notes them, from rings that are made here: records that lie across the
 * end, that are of another kind, too short or damaged; and that a stack is followed anew when, and
 * only when, something that it was followed by has changed.
 */
#define _GNU_SOURCE
#include "test.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/perf_ring.h"
#include "stack/view.h"

#define DATA_BYTES  4096U
#define STACK_WORDS 32U

struct made_ring {
    struct perf_event_mmap_page page;
    unsigned char data[DATA_BYTES];
    struct rm_perf_ring ring;
};

/* time, address, count, kind, registers, room, stack, length, page */
#define RECORD_WORDS (2 + 1 + 1 + RM_PERF_REGISTERS + 1 + STACK_WORDS + 1 + 1)

static struct made_ring *made_ring(uint64_t position)
{
    struct made_ring *made = test_calloc(1, sizeof *made);
    assert_non_null(made);
    made->page.data_head = position;
    made->page.data_tail = position;
    made->ring = (struct rm_perf_ring){
        .fd = -1,
        .buffer = {.memory = &made->page,
                   .data = made->data,
                   .mask = DATA_BYTES - 1,
                   .tail = position},
        .has_pages = true,
    };
    return made;
}

static void put_bytes(struct made_ring *made, const void *bytes, size_t count)
{
    size_t at = made->page.data_head % DATA_BYTES;
    size_t first = DATA_BYTES - at < count ? DATA_BYTES - at : count;
    memcpy(made->data + at, bytes, first);
    memcpy(made->data, (const unsigned char *)bytes + first, count - first);
    made->page.data_head += count;
}

static void put_record(struct made_ring *made, uint32_t type, const uint64_t *words, size_t count)
{
    const struct perf_event_header header = {
        .type = type,
        .size = (uint16_t)(sizeof header + count * sizeof *words),
    };
    put_bytes(made, &header, sizeof header);
    put_bytes(made, words, count * sizeof *words);
}

static void make_words(uint64_t words[RECORD_WORDS], uint64_t first)
{
    size_t n = 0;
    words[n++] = 1000 + first;   /* time */
    words[n++] = 0x7000 + first; /* address */
    words[n++] = 64 + first;     /* faults */
    words[n++] = PERF_SAMPLE_REGS_ABI_64;
    for (size_t i = 0; i < RM_PERF_REGISTERS; i++) {
        words[n++] = 100 * i;
    }
    words[n++] = STACK_WORDS * sizeof(uint64_t);
    for (size_t i = 0; i < STACK_WORDS; i++) {
        words[n++] = first + i;
    }
    words[n++] = (STACK_WORDS - 2) * sizeof(uint64_t); /* there was no more of it */
    words[n++] = UINT64_C(2) << 20;
}

static void put_sample(struct made_ring *made, uint64_t first)
{
    uint64_t words[RECORD_WORDS] = {0};
    make_words(words, first);
    put_record(made, PERF_RECORD_SAMPLE, words, RECORD_WORDS);
}

static void check_sample(struct made_ring *made, uint64_t first)
{
    struct rm_perf_record sample;
    uint64_t word = 0;
    assert_true(rm_perf_ring_look(&made->ring));
    assert_true(rm_perf_ring_peek(&made->ring, &sample));
    assert_int_equal(sample.new_thread, 0);
    assert_int_equal(sample.t_ns, 1000 + first);
    assert_int_equal(sample.address, 0x7000 + first);
    assert_int_equal(sample.faults, 64 + first);
    assert_int_equal(sample.page_bytes, 2 << 20);
    assert_int_equal(sample.registers[RM_PERF_REGISTERS - 1], 100 * (RM_PERF_REGISTERS - 1));
    assert_int_equal(sample.stack_bytes, (STACK_WORDS - 2) * 8);
    for (uint64_t i = 0; i < STACK_WORDS - 2; i++) {
        assert_true(rm_perf_record_read(&sample, 8 * i, &word, sizeof word));
        assert_int_equal(word, first + i);
    }
    assert_false(rm_perf_record_read(&sample, sample.stack_bytes, &word, sizeof word));
    assert_false(rm_perf_record_read(&sample, sample.stack_bytes - 4, &word, sizeof word));
    assert_false(rm_perf_record_read(&sample, UINT64_MAX - 4, &word, sizeof word));
    rm_perf_ring_release(&made->ring, &sample);
}

static void skip_without_registers(void)
{
    if (RM_PERF_REGISTERS == 0) {
        print_message("skipped: page faults are not sampled on this architecture\n");
        skip();
    }
}

/* Positions of the kernel's only grow; the ring has place for some eight samples. */
TEST(samples_are_read_across_the_end)
{
    skip_without_registers();
    for (uint64_t shift = 0; shift < DATA_BYTES; shift += 8) {
        struct made_ring *made = made_ring(UINT64_C(1) << 40 | shift);
        put_sample(made, 7);
        put_sample(made, 9);
        check_sample(made, 7);
        check_sample(made, 9);
        struct rm_perf_record none;
        assert_false(rm_perf_ring_look(&made->ring));
        assert_false(rm_perf_ring_peek(&made->ring, &none));
        assert_int_equal(made->page.data_tail, made->page.data_head);
        test_free(made);
    }
}

/* Else a thread that is as quick as the one that looks would keep it for ever. */
TEST(what_comes_after_a_look_waits_for_the_next)
{
    skip_without_registers();
    struct made_ring *made = made_ring(0);
    struct rm_perf_record record;
    put_sample(made, 1);
    assert_true(rm_perf_ring_look(&made->ring));
    put_sample(made, 2);
    assert_true(rm_perf_ring_peek(&made->ring, &record));
    rm_perf_ring_release(&made->ring, &record);
    assert_false(rm_perf_ring_peek(&made->ring, &record));
    check_sample(made, 2);
    test_free(made);
}

TEST(other_records_are_passed_over)
{
    skip_without_registers();
    struct made_ring *made = made_ring(0);
    const uint64_t lost[2] = {1, 99};
    uint64_t words[RECORD_WORDS] = {0};
    put_record(made, PERF_RECORD_LOST, lost, RM_ARRAY_LEN(lost));
    make_words(words, 0);
    for (size_t count = 0; count < 8; count++) { /* too short */
        put_record(made, PERF_RECORD_SAMPLE, words, count);
    }
    words[3] = PERF_SAMPLE_REGS_ABI_NONE; /* of a thread of the kernel */
    put_record(made, PERF_RECORD_SAMPLE, words, RECORD_WORDS);
    put_sample(made, 3);
    put_record(made, PERF_RECORD_THROTTLE, lost, RM_ARRAY_LEN(lost));
    check_sample(made, 3);
    struct rm_perf_record none;
    assert_false(rm_perf_ring_peek(&made->ring, &none));
    assert_int_equal(made->page.data_tail, made->page.data_head);
    test_free(made);
}

/* process, its parent, thread, its parent; time */
TEST(new_threads_are_those_of_this_process)
{
    struct made_ring *made = made_ring(0);
    struct rm_perf_record record;
    uint32_t self = (uint32_t)getpid();
    const uint32_t others[6] = {self + 1, self, self + 1, self};
    const uint32_t new_threads[6] = {self, self, 4711, self};
    uint64_t words[3];
    memcpy(words, others, sizeof words);
    put_record(made, PERF_RECORD_FORK, words, 3);
    put_record(made, PERF_RECORD_FORK, words, 1); /* too short */
    memcpy(words, new_threads, sizeof words);
    put_record(made, PERF_RECORD_FORK, words, 3);
    assert_true(rm_perf_ring_look(&made->ring));
    assert_true(rm_perf_ring_peek(&made->ring, &record));
    assert_int_equal(record.new_thread, 4711);
    rm_perf_ring_release(&made->ring, &record);
    assert_false(rm_perf_ring_peek(&made->ring, &record));
    test_free(made);
}

TEST(damaged_records_end_the_reading)
{
    skip_without_registers();
    static const uint16_t sizes[] = {0, 7, 4000};
    for (size_t i = 0; i < RM_ARRAY_LEN(sizes); i++) {
        struct made_ring *made = made_ring(0);
        const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = sizes[i]};
        uint64_t words[RECORD_WORDS] = {0};
        struct rm_perf_record none;
        put_bytes(made, &header, sizeof header);
        assert_true(rm_perf_ring_look(&made->ring));
        assert_false(rm_perf_ring_peek(&made->ring, &none));
        assert_int_equal(made->page.data_tail, made->page.data_head);
        make_words(words, 0);
        words[4 + RM_PERF_REGISTERS] = UINT64_MAX - 7; /* room for the stack */
        put_record(made, PERF_RECORD_SAMPLE, words, RECORD_WORDS);
        assert_true(rm_perf_ring_look(&made->ring));
        assert_false(rm_perf_ring_peek(&made->ring, &none));
        put_sample(made, 5); /* what comes later is read again */
        check_sample(made, 5);
        test_free(made);
    }
}

TEST(a_stack_is_the_same_while_what_was_read_is)
{
    skip_without_registers();
    struct made_ring *made = made_ring(0);
    struct rm_perf_record sample;
    struct rm_view *view = test_calloc(1, sizeof *view);
    static struct rm_view_log log;
    uint64_t stack = 0;
    uint64_t word = 0;
    put_sample(made, 40);
    assert_true(rm_perf_ring_look(&made->ring));
    assert_true(rm_perf_ring_peek(&made->ring, &sample));
    const struct rm_view_start start = {.sample = &sample, .log = &log};
    rm_view_begin(view, &start);
    assert_true(rm_view_register(view, RM_PERF_REGISTERS == 17 ? 7 : 31, &stack));
    assert_true(rm_view_word(view, stack + 24, &word));
    assert_int_equal(word, 43);
    assert_true(log.is_whole);
    assert_true(rm_view_repeats(&log, &sample));

    uint64_t *stack_word = (uint64_t *)(void *)(made->data + sample.stack_at);
    stack_word[4]++; /* it was not read */
    assert_true(rm_view_repeats(&log, &sample));
    stack_word[3]++;
    assert_false(rm_view_repeats(&log, &sample));
    stack_word[3]--;
    for (size_t i = 0; i < RM_PERF_REGISTERS; i++) {
        bool is_stack = sample.registers[i] == stack;
        sample.registers[i] += 8;
        assert_int_equal(rm_view_repeats(&log, &sample), !is_stack);
        sample.registers[i] -= 8;
    }

    /* Memory that is not in the sample's copy may be another then. */
    static const uint64_t elsewhere = 77;
    assert_true(rm_view_word(view, (uint64_t)(uintptr_t)&elsewhere, &word));
    assert_int_equal(word, 77);
    assert_false(view->is_short || rm_view_repeats(&log, &sample));
    assert_false(rm_view_word(view, stack + sample.stack_bytes, &word)); /* nothing is mapped */
    assert_true(view->is_short);
    test_free(view);
    test_free(made);
}
