/* SPDX-License-Identifier: MIT */
/*
 * Outputs, deadlines, and what base/buffer writes for JSON and for URLs.
 */
#include "test.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/text.h"
#include "format/json.h"
#include "random.h"

/* ---- output --------------------------------------------------------------------------------- */

struct sum {
    size_t calls, bytes;
    resmon_status answer;
};

static resmon_status count_bytes(void *context, const char *bytes, size_t length)
{
    struct sum *sum = context;
    (void)bytes;
    sum->calls++;
    sum->bytes += length;
    return sum->answer;
}

TEST(an_output_passes_on)
{
    struct sum sum = {0};
    const struct rm_output output = {count_bytes, &sum};
    assert_ok(rm_output_write(&output, "four", 4));
    assert_ok(rm_output_write(&output, "", 0));
    assert_ok(rm_output_write(&output, "a\0b", 3));
    assert_int_equal(sum.calls, 3);
    assert_int_equal(sum.bytes, 7);
    sum.answer = RESMON_ENOSPC;
    assert_int_equal(rm_output_write(&output, "x", 1), RESMON_ENOSPC);
}

/* ---- deadline ------------------------------------------------------------------------------- */

static void *ask_on_another_thread(void *ret_ns)
{
    *(int64_t *)ret_ns = rm_deadline_ns();
    return NULL;
}

TEST(a_deadline_is_a_thread_s_own_and_may_change)
{
    int64_t deadline_ns = 5;
    int64_t other_ns = 0;
    pthread_t other;
    assert_true(rm_deadline_ns() == RM_DEADLINE_NONE);
    rm_deadline_follow(&deadline_ns);
    assert_int_equal(rm_deadline_ns(), 5);
    __atomic_store_n(&deadline_ns, 7, __ATOMIC_RELAXED);
    assert_int_equal(rm_deadline_ns(), 7);
    assert_int_equal(pthread_create(&other, NULL, ask_on_another_thread, &other_ns), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(other_ns == RM_DEADLINE_NONE);
    rm_deadline_follow(NULL);
    assert_true(rm_deadline_ns() == RM_DEADLINE_NONE);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void check_json(const char *text, const char *expected)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 1 << 20);
    rm_buffer_json(&buffer, text);
    assert_ok(buffer.status);
    if (expected != NULL) {
        assert_string_equal(buffer.text, expected);
    }
#ifdef RM_HAVE_CJSON
    struct rm_json *json = NULL;
    assert_ok(rm_json_parse(buffer.text, buffer.length, &json));
    assert_string_equal(rm_json_text(json), text);
    rm_json_free(json);
#endif
    for (size_t i = 0; i < buffer.length; i++) { /* RFC 8259: all of these are to be escaped */
        assert_true((unsigned char)buffer.text[i] >= 0x20);
    }
    rm_buffer_free(&buffer);
}

TEST(json_strings)
{
    struct random random = {23};
    check_json("", "\"\"");
    check_json("plain", "\"plain\"");
    check_json("\"", "\"\\\"\"");
    check_json("a\\b\"c\nd\re\tf", "\"a\\\\b\\\"c\\u000ad\\u000de\\u0009f\"");
    check_json("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    check_json("\b\f/", "\"\\u0008\\u000c/\"");
    check_json("\xc3\xa9 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xf0\x9f\x98\x80\"");
    for (int i = 0; i < 5000; i++) {
        char text[65];
        size_t length = (size_t)random_below(&random, 64);
        for (size_t k = 0; k < length; k++) {
            text[k] = (char)(1 + random_below(&random, 127));
        }
        text[length] = '\0';
        check_json(text, NULL);
    }
}

TEST(json_is_always_utf8)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 4096);
    rm_buffer_json(&buffer, "a\xff\xc3\xa9\xc3");
    assert_ok(buffer.status);
    assert_string_equal(buffer.text, "\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\"");
    rm_buffer_free(&buffer);
}

/* ---- URLs ----------------------------------------------------------------------------------- */

TEST(percent_encoding)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    char all[256];
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 4096);
    rm_buffer_percent(&buffer, "");
    assert_int_equal(buffer.length, 0);
    rm_buffer_percent(&buffer, plain);
    assert_string_equal(buffer.text, plain);
    rm_buffer_clear(&buffer);
    rm_buffer_percent(&buffer, "a b/c?d&e=f%g#\xc3\xa9\x01");
    assert_string_equal(buffer.text, "a%20b%2Fc%3Fd%26e%3Df%25g%23%C3%A9%01");
    rm_buffer_clear(&buffer);
    for (int i = 0; i < 255; i++) {
        all[i] = (char)(i + 1);
    }
    all[255] = '\0';
    rm_buffer_percent(&buffer, all);
    assert_int_equal(buffer.length, 66 + 3 * (255 - 66));
    rm_buffer_free(&buffer);
}

/* Whatever does not fit sticks, and what is there stays a prefix. */
TEST(bounds_and_no_memory)
{
    int64_t live = rm_fault_live(0);
    for (size_t bound = 0; bound < 20; bound++) {
        struct rm_buffer buffer;
        rm_buffer_init(&buffer, bound);
        rm_buffer_json(&buffer, "a\"\nb");
        rm_buffer_percent(&buffer, "c d");
        assert_int_equal(buffer.status, bound > 17 ? RESMON_OK : RESMON_ERANGE);
        assert_true(buffer.length < bound || bound == 0);
        assert_true(buffer.text == NULL ||
                    strncmp(buffer.text, "\"a\\\"\\u000ab\"c%20d", buffer.length) == 0);
        rm_buffer_free(&buffer);
    }
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 4096);
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    rm_buffer_json(&buffer, "text");
    rm_fault_arm(RM_FAULT_ALLOC, -1);
    assert_int_equal(buffer.status, RESMON_ENOMEM);
    rm_buffer_percent(&buffer, "text");
    assert_int_equal(buffer.length, 0);
    rm_buffer_free(&buffer);
    assert_int_equal(rm_fault_live(0), live);
}
