/* SPDX-License-Identifier: MIT */
/*
 * base/alloc, base/buffer: sizes that overflow fail, a failure sticks, bounds hold.
 */
#include "test.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/fault.h"

/* Sizes beyond all memory are to be refused by the library, not by a sanitizer. */
TEST(sizes_that_overflow_are_refused)
{
    /* Not the compiler's business. */
    volatile size_t huge = SIZE_MAX / 2 + 1;
    int64_t before = rm_fault_live(0);
    assert_null(rm_alloc(huge, 2));
    assert_null(rm_alloc(0, 8));
    assert_null(rm_alloc(8, 0));
    char *text = rm_strdup("text");
    assert_non_null(text);
    assert_null(rm_realloc(text, huge, 2));
    assert_null(rm_realloc(text, 0, 1));
    assert_string_equal(text, "text"); /* the old one is still there */
    assert_int_equal(rm_fault_live(0), before + 1);
    rm_free(text);
    rm_free(NULL);
    assert_int_equal(rm_fault_live(0), before);
}

TEST(allocations_are_zeroed)
{
    unsigned char *bytes = rm_alloc(100, 3);
    assert_non_null(bytes);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(bytes[i], 0);
    }
    rm_free(bytes);
}

TEST(an_array_grows_or_stays)
{
    uint32_t *items = NULL;
    size_t room = 0;
    for (size_t count = 0; count < 100; count++) {
        size_t old_room = room;
        rm_fault_arm(RM_FAULT_ALLOC, 0);
        uint32_t *larger = rm_grow(items, count, &room, sizeof *items);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_int_equal(room, old_room);
        if (count < old_room) {
            assert_ptr_equal(larger, items);
        } else {
            assert_null(larger);
        }
        items = rm_grow(items, count, &room, sizeof *items);
        assert_non_null(items);
        assert_true(room > count);
        items[count] = (uint32_t)count;
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(items[i], i);
    }
    assert_int_equal(room, 128);
    room = SIZE_MAX / 2 + 1;
    assert_null(rm_grow(items, room, &room, 1));
    assert_true(room == SIZE_MAX / 2 + 1);
    rm_free(items);
}

/* ---- arena ---------------------------------------------------------------------------------- */

TEST(an_arena_gives_zeroed_aligned_apart_memory)
{
    static const size_t sizes[] = {1, 3, 16, 100, 4000, 8191, 8192, 8193, 100000, 7, 1};
    unsigned char *pieces[sizeof sizes / sizeof sizes[0]];
    int64_t before = rm_fault_live(0);
    struct rm_arena arena = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pieces[i] = rm_arena_alloc(&arena, sizes[i], 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % sizeof(double), 0);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(pieces[i][k], 0);
        }
        memset(pieces[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(pieces[i][0], i + 1);
        assert_int_equal(pieces[i][sizes[i] - 1], i + 1);
    }
    rm_arena_free(&arena);
    assert_int_equal(rm_fault_live(0), before);
    rm_arena_free(&arena); /* twice is fine */
}

TEST(nothing_of_an_arena_is_a_valid_pointer)
{
    struct rm_arena arena = {0};
    void *first = rm_arena_alloc(&arena, 0, 8);
    void *second = rm_arena_alloc(&arena, 8, 0);
    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
    rm_arena_free(&arena);
}

TEST(an_arena_refuses_what_overflows_and_goes_on)
{
    struct rm_arena arena = {0};
    volatile size_t huge = SIZE_MAX;
    assert_null(rm_arena_alloc(&arena, huge, 2));
    assert_null(rm_arena_alloc(&arena, huge, 1));
    assert_null(rm_arena_alloc(&arena, huge / 2, 1));
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    assert_null(rm_arena_alloc(&arena, 1, 1));
    rm_fault_arm(RM_FAULT_ALLOC, -1);
    assert_non_null(rm_arena_alloc(&arena, 1, 1));
    rm_arena_free(&arena);
}

TEST(texts_of_an_arena_are_cut_and_cleaned)
{
    struct rm_arena arena = {0};
    const char bytes[] = {'a', 'b', '\n', '\xff', 'c', 'd'}; /* no end of its own */
    assert_string_equal(rm_arena_text(&arena, bytes, sizeof bytes), "ab??cd");
    assert_string_equal(rm_arena_text(&arena, bytes, 1), "a");
    assert_string_equal(rm_arena_text(&arena, bytes, 0), "");
    assert_string_equal(rm_arena_text(&arena, "whole", SIZE_MAX), "whole");
    assert_string_equal(rm_arena_text(&arena, "\xc3\xa9\xc3\xa9", 3), "\xc3\xa9?");
    rm_arena_free(&arena);
}

/* ---- buffer --------------------------------------------------------------------------------- */

TEST(a_buffer_grows_up_to_its_bound)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 1000);
    assert_null(buffer.text);
    for (int i = 0; i < 99; i++) {
        rm_buffer_puts(&buffer, "0123456789");
    }
    rm_buffer_printf(&buffer, "%s-%d", "abcdefg", 7);
    assert_int_equal(buffer.status, RESMON_OK);
    assert_int_equal(buffer.length, 999); /* and the '\0' */
    assert_int_equal(strlen(buffer.text), 999);
    assert_string_equal(buffer.text + 985, "56789abcdefg-7");
    rm_buffer_puts(&buffer, "");
    assert_int_equal(buffer.status, RESMON_OK);
    rm_buffer_add(&buffer, "x", 1);
    assert_int_equal(buffer.status, RESMON_ERANGE);
    assert_non_null(strstr(resmon_last_error(), "1000"));
    assert_int_equal(strlen(buffer.text), 999);
    rm_buffer_free(&buffer);
}

TEST(a_failure_sticks_until_the_buffer_is_freed)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 100);
    rm_buffer_puts(&buffer, "kept");
    rm_buffer_printf(&buffer, "%200d", 1);
    assert_int_equal(buffer.status, RESMON_ERANGE);
    rm_buffer_puts(&buffer, "x");
    rm_buffer_printf(&buffer, "y");
    assert_string_equal(buffer.text, "kept"); /* nothing after the failure, though it would fit */
    rm_buffer_free(&buffer);
    assert_int_equal(buffer.status, RESMON_OK);
    assert_null(buffer.text);
    rm_buffer_puts(&buffer, "again");
    assert_string_equal(buffer.text, "again");
    rm_buffer_free(&buffer);
    rm_buffer_free(&buffer);
}

TEST(no_memory_for_a_buffer_sticks_too)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 10000);
    rm_buffer_puts(&buffer, "kept");
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    rm_buffer_printf(&buffer, "%1000d", 1);
    rm_fault_arm(RM_FAULT_ALLOC, -1);
    assert_int_equal(buffer.status, RESMON_ENOMEM);
    rm_buffer_puts(&buffer, "x");
    assert_int_equal(buffer.status, RESMON_ENOMEM);
    assert_string_equal(buffer.text, "kept");
    rm_buffer_free(&buffer);
}

TEST(tiny_and_absurd_bounds)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 0);
    rm_buffer_puts(&buffer, "");
    assert_int_equal(buffer.status, RESMON_ERANGE); /* not even an end fits */
    rm_buffer_free(&buffer);
    rm_buffer_init(&buffer, 1);
    rm_buffer_puts(&buffer, "");
    assert_int_equal(buffer.status, RESMON_OK);
    assert_string_equal(buffer.text, "");
    rm_buffer_puts(&buffer, "x");
    assert_int_equal(buffer.status, RESMON_ERANGE);
    rm_buffer_free(&buffer);
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_buffer_puts(&buffer, "x");
    assert_string_equal(buffer.text, "x");
    rm_buffer_free(&buffer);
}

TEST(room_that_is_written_to_directly)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 600);
    rm_buffer_puts(&buffer, "a");
    for (int i = 0; i < 5; i++) {
        char *room = rm_buffer_room(&buffer, 100);
        assert_non_null(room);
        memset(room, 'b', 100);
        rm_buffer_advance(&buffer, 99);
        assert_int_equal(strlen(buffer.text), buffer.length);
    }
    assert_int_equal(buffer.length, 1 + 5 * 99);
    assert_null(rm_buffer_room(&buffer, 104));
    assert_int_equal(buffer.status, RESMON_ERANGE);
    assert_null(rm_buffer_room(&buffer, 1)); /* it sticks */
    assert_int_equal(buffer.length, 1 + 5 * 99);
    rm_buffer_free(&buffer);
}

/* RFC 4648, section 10; and the two digits that differ. */
TEST(base64)
{
    static const struct {
        const char *bytes, *plain, *for_url;
    } cases[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/", "-_-_"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rm_buffer buffer;
        rm_buffer_init(&buffer, 100);
        rm_buffer_puts(&buffer, ">");
        rm_buffer_base64(&buffer, cases[i].bytes, strlen(cases[i].bytes), false);
        rm_buffer_puts(&buffer, " ");
        rm_buffer_base64(&buffer, cases[i].bytes, strlen(cases[i].bytes), true);
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, ">%s %s", cases[i].plain, cases[i].for_url);
        assert_string_equal(buffer.text, wanted);
        rm_buffer_free(&buffer);
    }
}
