/* SPDX-License-Identifier: MIT */
/* base: text and parsing of outside text. */
#include "test.h"

#include "base/human.h"
#include "base/parse.h"
#include "base/text.h"

static void test_u64_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int is_number;
        uint64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"  42 x", 1, 42},
        {"18446744073709551615", 1, UINT64_MAX},
        {"18446744073709551616", 0, 0},
        {"99999999999999999999999", 0, 0},
        {"", 0, 0},
        {"-1", 0, 0},
        {"x", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_text text = rm_text_of(cases[i].text, strlen(cases[i].text));
        uint64_t value = 7;
        assert_int_equal(rm_parse_u64(&text, &value), cases[i].is_number);
        assert_int_equal(value, cases[i].is_number ? cases[i].value : 7);
    }
}

static void test_keys_in_any_order(void **state)
{
    (void)state;
    static const struct rm_key keys[] = {RM_KEY("A:", 0), RM_KEY("B:", 1), RM_KEY("C:", 2)};
    static const char file[] = "B: 2 kB\nX: 9\nA:\t1\nBB: 5\nC:\n";
    uint64_t values[3] = {0};
    uint64_t found = rm_parse_keys(rm_text_of(file, sizeof file - 1), keys, 3, values);
    assert_int_equal(found, 3);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 2);
}

static void test_text_is_cleaned(void **state)
{
    (void)state;
    char target[8];
    assert_int_equal(rm_text_set(target, sizeof target, "a\xff\x01z"), 4);
    assert_string_equal(target, "a??z");
    /* A cut never leaves half a character. */
    (void)rm_text_set(target, sizeof target, "12345\xc3\xa9\xc3\xa9");
    assert_string_equal(target, "12345\xc3\xa9");
    (void)rm_text_set(target, sizeof target, "123456\xc3\xa9");
    assert_string_equal(target, "123456");
    /* Surrogates and overlong forms are not UTF-8. */
    (void)rm_text_set(target, sizeof target, "\xed\xa0\x80");
    assert_string_equal(target, "???");
}

static void test_text_is_escaped_for_json(void **state)
{
    (void)state;
    char target[64];
    assert_int_equal(rm_text_json(target, sizeof target, "a\"b\\c/\n\x7f\x1f"), 26);
    assert_string_equal(target, "a\\\"b\\\\c/\\u000a\\u007f\\u001f");
    assert_int_equal(rm_text_json(target, sizeof target, "\xc3\xa9\xf0\x9f\x98\x80"), 6);
    assert_string_equal(target, "\xc3\xa9\xf0\x9f\x98\x80");
    /* Half a character, a surrogate, a byte that never is. */
    assert_int_equal(rm_text_json(target, sizeof target, "\xc3z\xed\xa0\x80\xff"), 16);
    assert_string_equal(target, "\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    /* A cut splits neither an escape nor a character. */
    for (size_t capacity = 1; capacity <= 12; capacity++) {
        size_t length = rm_text_json(target, capacity, "\"\n\xc3\xa9z");
        size_t whole = capacity > 11   ? 11
                       : capacity > 10 ? 10
                       : capacity > 8  ? 8
                       : capacity > 2  ? 2
                                       : 0;
        assert_int_equal(length, whole);
        assert_int_equal(strlen(target), whole);
    }
}

static void test_human_numbers(void **state)
{
    (void)state;
    char text[RM_HUMAN_BYTES];
    rm_human_bytes(text, 720896000.0);
    assert_string_equal(text, "687.5 MiB");
    rm_human_seconds(text, 0.0012345);
    assert_string_equal(text, "1.234 ms");
    rm_human_seconds(text, 3725.0);
    assert_string_equal(text, "62 min 05 s");
    rm_human_joules(text, 56.816);
    assert_string_equal(text, "56.82 J");
    rm_human_joules(text, 7.2e6);
    assert_string_equal(text, "2.000 kWh");
    rm_human_joules(text, 0.0);
    assert_string_equal(text, "0 mJ");
    rm_human_watts(text, -0.25);
    assert_string_equal(text, "-250.0 mW");
    rm_human_watts(text, 1234.0);
    assert_string_equal(text, "1.234 kW");
    rm_human_grams(text, 0.000697);
    assert_string_equal(text, "697.0 ug");
    rm_human_grams(text, 1500.0);
    assert_string_equal(text, "1.500 kg");
    rm_human_grams(text, NAN);
    assert_string_equal(text, "-");
    rm_human_percent(text, NAN);
    assert_string_equal(text, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_u64_bounds),      cmocka_unit_test(test_keys_in_any_order),
        cmocka_unit_test(test_text_is_cleaned), cmocka_unit_test(test_text_is_escaped_for_json),
        cmocka_unit_test(test_human_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
