/* SPDX-License-Identifier: MIT */
/* base: text and parsing of outside text. */
#include "test.h"

#include <float.h>
#include <math.h>

#include <resmon/metric.h>

#include "base/buffer.h"
#include "base/parse.h"
#include "base/text.h"

TEST(u64_bounds)
{
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

TEST(keys_in_any_order)
{
    static const struct rm_key keys[] = {RM_KEY("A:", 0), RM_KEY("B:", 1), RM_KEY("C:", 2)};
    static const char file[] = "B: 2 kB\nX: 9\nA:\t1\nBB: 5\nC:\n";
    uint64_t values[3] = {0};
    uint64_t found = rm_parse_keys(rm_text_of(file, sizeof file - 1), keys, 3, values);
    assert_int_equal(found, 3);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], 2);
}

TEST(text_is_cleaned)
{
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
    /* What turns the direction of text is kept as data, but not shown to terminals. */
    char turned[] = "a\xe2\x80\xae"
                    "b\xe2\x81\xa7\xe2\x80\x8e";
    rm_text_clean(turned);
    assert_string_equal(turned, "a\xe2\x81\xa0"
                                "b\xe2\x81\xa0\xe2\x80\x8e");
}

static void assert_json(const char *text, const char *wanted)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 256);
    const struct rm_output output = rm_buffer_output(&buffer);
    assert_ok(rm_text_json(&output, text));
    assert_string_equal(buffer.text, wanted);
    rm_buffer_free(&buffer);
}

TEST(only_letters_of_ascii_have_two_cases)
{
    assert_true(rm_text_is_like("FINLAND", "finland") && rm_text_is_like("", ""));
    assert_false(rm_text_is_like("fi", "fin") || rm_text_is_like("fin", "fi"));
    assert_false(rm_text_is_like("[", "{") || rm_text_is_like("@", "`"));
    assert_false(rm_text_is_like("\xc3\x84", "\xc3\xa4")); /* A and a with two dots */
    assert_int_equal(rm_text_compare("abX", "ABy", 2), 0);
    assert_true(rm_text_compare("abX", "ABy", 3) < 0 && rm_text_compare("b", "A", 9) > 0);
    assert_true(rm_text_compare("\xe4", "z", 1) > 0);
}

TEST(text_is_escaped_for_json)
{
    assert_json("", "\"\"");
    assert_json("plain", "\"plain\"");
    assert_json("a\"b\\c/\n\x7f\x1f", "\"a\\\"b\\\\c/\\u000a\\u007f\\u001f\"");
    assert_json("\xc3\xa9\xf0\x9f\x98\x80z", "\"\xc3\xa9\xf0\x9f\x98\x80z\"");
    /* Half a character, a surrogate, a byte that never is. */
    assert_json("\xc3z\xed\xa0\x80\xff",
                "\"\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    /* The end of the text is none of a character. */
    assert_json("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(json_stops_where_its_output_fails)
{
    static const char text[] = "ab\"cd";
    static const char whole[] = "\"ab\\\"cd\"";
    for (size_t bound = 1; bound <= sizeof whole; bound++) {
        struct rm_buffer buffer;
        rm_buffer_init(&buffer, bound);
        const struct rm_output output = rm_buffer_output(&buffer);
        bool is_whole = bound == sizeof whole;
        assert_status(is_whole ? RESMON_OK : RESMON_ERANGE, rm_text_json(&output, text));
        assert_true(buffer.length == 0 || strncmp(buffer.text, whole, buffer.length) == 0);
        rm_buffer_free(&buffer);
    }
}

TEST(human_numbers)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        {720896000.0, "B", "687.5 MiB"},
        {0.0, "B", "0 B"},
        {-0.4, "B", "0 B"},
        {1023.4, "B", "1023 B"},
        {1023.6, "B", "1.00 KiB"},
        {1024.0 * 9.994, "B", "9.99 KiB"},
        {1024.0 * 9.996, "B", "10.0 KiB"},
        {1024.0 * 1023.94, "B", "1023.9 KiB"},
        {1024.0 * 1023.999, "B", "1.00 MiB"},
        {-2048.0, "B", "-2.00 KiB"},
        {0x1p60, "B/s", "1024.0 PiB/s"},
        {1e300, "B", "8.9e+284 PiB"},
        {0.0, "s", "0 s"},
        {-0.0, "s", "0 s"},
        {1e-15, "s", "0.000 ns"},
        {-1e-15, "s", "0.000 ns"},
        {0.0012345, "s", "1.234 ms"},
        {0.00099996, "s", "1.000 ms"},
        {0.0099994, "s", "9.999 ms"},
        {0.0099996, "s", "10.00 ms"},
        {0.099996, "s", "100.0 ms"},
        {0.9999996, "s", "1.000 s"},
        {119.94, "s", "119.9 s"},
        {119.96, "s", "2 min 00 s"},
        {-130.0, "s", "-2 min 10 s"},
        {3725.0, "s", "62 min 05 s"},
        {7199.4, "s", "119 min 59 s"},
        {7199.6, "s", "2 h 00 min"},
        {-1e300, "s", "-3e+296 h"},
        {0.5, "s/s", "50.0 %"},
        {1e308, "s/s", "-"},
        {56.816, "J", "56.82 J"},
        {999.96, "J", "1.000 kJ"},
        {3599.4e3, "J", "3599 kJ"},
        {3599.6e3, "J", "1.000 kWh"},
        {7.2e6, "J", "2.000 kWh"},
        {-1e300, "J", "-3e+290 MWh"},
        {0.0, "J", "0 J"},
        {15.0, "J/s", "15.00 W"},
        {-0.25, "W", "-250.0 mW"},
        {1234.0, "W", "1.234 kW"},
        {0.000697, "g", "697.0 ug"},
        {1500.0, "g", "1.500 kg"},
        {0.0235, "Wh", "23.50 mWh"},
        {NAN, "g", "-"},
        {NAN, "%", "-"},
        {-INFINITY, "B/s", "-"},
        {INFINITY, "Hz", "-"},
        {NAN, "s", "-"},
        {99.84, "%", "99.8 %"},
        {0.0, "%", "0.0 %"},
        {-0.04, "%", "0.0 %"},
        {-0.06, "%", "-0.1 %"},
        {7.0, "1", "7"},
        {-0.0, "1", "0"},
        {9999.0, "1", "9999"},
        {9999.4, "1", "9999"},
        {9999.6, "1", "10.00 k"},
        {1234567.0, "1", "1.235 M"},
        {1e300, "1", "1e+288 T"},
        {1.5, "", "1.500"},
        {12500.0, "1/s", "12.50 k/s"},
        {3.0, "/s", "3/s"},
        {50.0, "Hz", "50 Hz"},
        {1.5e9, "Hz", "1.500 GHz"},
        {48.25, "C", "48.2 C"},
        {12500.0, "l", "12.50 kl"},
        {2.0, "lx/s", "2 lx/s"},
        {2.0, "a unit of many many letters, and more", "2 a unit of ma"},
        {2.0, "a unit of many letters/s", "2 a unit of ma/s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[RESMON_VALUE_BYTES];
        assert_ok(resmon_format_value(cases[i].unit, cases[i].value, text, sizeof text));
        assert_string_equal(text, cases[i].text);
    }
}

TEST(human_numbers_are_short)
{
    static const char *const units[] = {"B", "s", "J", "W", "Wh", "g", "%", "C", "1", "", "Hz/s"};
    static const double values[] = {DBL_MAX, DBL_MIN, 1e11, 999999999999.0, 1e12, 1e13, 1e16, 1e24};
    for (size_t i = 0; i < sizeof units / sizeof *units * sizeof values / sizeof *values * 2; i++) {
        char text[RESMON_VALUE_BYTES];
        double value = values[i / 2 % (sizeof values / sizeof *values)];
        const char *unit = units[i / 2 / (sizeof values / sizeof *values)];
        assert_ok(resmon_format_value(unit, i % 2 == 0 ? value : -value, text, sizeof text));
        assert_in_range(strlen(text), 1, sizeof text - 2);
        assert_string_not_equal(text, "-");
    }
}

TEST(a_text_for_people_wants_room)
{
    char text[RESMON_VALUE_BYTES] = "as it was";
    assert_status(RESMON_EINVAL, resmon_format_value(NULL, 1.0, text, sizeof text));
    assert_status(RESMON_EINVAL, resmon_format_value("B", 1.0, NULL, 32));
    assert_status(RESMON_ERANGE, resmon_format_value("B", 1.0, text, 3));
    assert_string_equal(text, "as it was");
    assert_ok(resmon_format_value("B", 1.0, text, 4));
    assert_string_equal(text, "1 B");
}

TEST(amounts_that_people_say)
{
    static const struct {
        const char *unit, *text;
        double value;
    } cases[] = {{"s", "10ms", 0.01},  {"s", "1.5min", 90.0}, {"s", " 2 h ", 7200.0},
                 {"s", "3", 3.0},      {"B", "200MB", 200e6}, {"B", "1.5 MiB", 1572864.0},
                 {"B", "512", 512.0},  {"J", "2kWh", 7.2e6},  {"1", "1000", 1000.0},
                 {"s", ".5us", 0.5e-6}};
    static const struct {
        const char *unit, *text;
    } wrong[] = {{"s", ""},    {"s", "ms"},    {"s", "-1s"},  {"s", "1MB"}, {"B", "1s"},
                 {"B", "1e3"}, {"B", "1 M B"}, {"s", "1,5s"}, {"s", "nan"}, {"1", "1s"}};
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        double value = NAN;
        assert_ok(resmon_parse_value(cases[i].unit, cases[i].text, &value));
        assert_near(value / cases[i].value, 1.0, 1e-12);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(wrong); i++) {
        double value = 7.0;
        assert_status(RESMON_EINVAL, resmon_parse_value(wrong[i].unit, wrong[i].text, &value));
        assert_true(value == 7.0);
    }
    assert_non_null(strstr(resmon_last_error(), "'1s'"));
    assert_status(RESMON_EINVAL, resmon_parse_value(NULL, "1", &(double){0}));
}
