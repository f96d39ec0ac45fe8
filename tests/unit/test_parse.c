/* SPDX-License-Identifier: MIT */
/*
 * base/parse: lines, words, numbers and keys of outside text, never a byte past its end.
 */
#include "test.h"

#include "base/parse.h"
#include "random.h"

/* A copy that ends where the text does: ASan sees a read past it. */
static struct rm_text exactly(const char *text, char **ret_memory)
{
    size_t length = strlen(text);
    *ret_memory = malloc(length > 0 ? length : 1);
    assert_non_null(*ret_memory);
    memcpy(*ret_memory, text, length);
    return rm_text_of(*ret_memory, length);
}

static void assert_text(const struct rm_text *text, const char *expected)
{
    if (!rm_text_equals(text, expected)) {
        fail_msg("'%.*s' instead of '%s'", (int)rm_text_left(text), text->at, expected);
    }
}

TEST(lines)
{
    char *memory;
    struct rm_text text = exactly("one\n\nthree\nlast", &memory), line;
    static const char *const expected[] = {"one", "", "three", "last"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(rm_parse_line(&text, &line));
        assert_text(&line, expected[i]);
    }
    line.at = NULL;
    assert_false(rm_parse_line(&text, &line));
    assert_null(line.at); /* untouched */
    free(memory);
    text = exactly("only\n", &memory);
    assert_true(rm_parse_line(&text, &line));
    assert_false(rm_parse_line(&text, &line)); /* no empty line after the last end */
    free(memory);
    text = exactly("", &memory);
    assert_false(rm_parse_line(&text, &line));
    free(memory);
}

TEST(words)
{
    char *memory;
    struct rm_text text = exactly(" \tone two\t\tthree  \nfour ", &memory), word;
    assert_true(rm_parse_word(&text, &word));
    assert_text(&word, "one");
    assert_true(rm_parse_word(&text, &word));
    assert_text(&word, "two");
    assert_true(rm_parse_word(&text, &word));
    assert_text(&word, "three");
    assert_false(rm_parse_word(&text, &word)); /* a word does not reach into the next line */
    assert_text(&word, "three");
    free(memory);
    text = exactly("   ", &memory);
    assert_false(rm_parse_word(&text, &word));
    free(memory);
}

TEST(until_and_literals)
{
    char *memory;
    struct rm_text text = exactly("key=value=more", &memory), head;
    assert_true(rm_parse_until(&text, '=', &head));
    assert_text(&head, "key");
    assert_false(rm_parse_literal(&text, "values"));
    assert_false(rm_parse_literal(&text, "value=more and more"));
    assert_true(rm_parse_literal(&text, ""));
    assert_true(rm_parse_literal(&text, "val"));
    assert_true(rm_parse_until(&text, '=', &head));
    assert_text(&head, "ue");
    assert_false(rm_parse_until(&text, '=', &head));
    assert_text(&text, "more"); /* nothing taken */
    assert_false(rm_text_equals(&text, "mor"));
    assert_false(rm_text_equals(&text, "more "));
    free(memory);
}

TEST(signed_numbers)
{
    static const struct {
        const char *text;
        int is_number;
        int64_t value;
        const char *rest;
    } cases[] = {
        {"0", 1, 0, ""},
        {" -17 x", 1, -17, " x"},
        {"\t42,", 1, 42, ","},
        {"9223372036854775807", 1, INT64_MAX, ""},
        {"-9223372036854775807", 1, -INT64_MAX, ""},
        {"9223372036854775808", 0, 0, NULL},
        {"-9223372036854775809", 0, 0, NULL},
        {"99999999999999999999999999", 0, 0, NULL},
        {"-", 0, 0, NULL},
        {"- 5", 0, 0, NULL},
        {"--5", 0, 0, NULL},
        {"+5", 0, 0, NULL},
        {"", 0, 0, NULL},
        {"x", 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *memory;
        int64_t value = 7;
        struct rm_text text = exactly(cases[i].text, &memory);
        if (rm_parse_i64(&text, &value) != (cases[i].is_number != 0)) {
            fail_msg("'%s' is%s a number", cases[i].text, cases[i].is_number ? "" : " not");
        }
        assert_true(value == (cases[i].is_number ? cases[i].value : 7));
        if (cases[i].rest != NULL) {
            assert_text(&text, cases[i].rest);
        }
        free(memory);
    }
}

TEST(the_least_signed_number)
{
    char *memory;
    int64_t value = 7;
    struct rm_text text = exactly("-9223372036854775808", &memory);
    assert_true(rm_parse_i64(&text, &value));
    assert_true(value == INT64_MIN);
    free(memory);
}

TEST(decimals)
{
    static const struct {
        const char *text;
        int is_number;
        double value;
        const char *rest;
    } cases[] = {
        {"12", 1, 12.0, ""},
        {" 12.5 7", 1, 12.5, " 7"},
        {"0.00", 1, 0.0, ""},
        {"3.", 1, 3.0, ""},
        {"1.2.3", 1, 1.2, ".3"},
        {"0.123456789012345678901234567890", 1, 0.123456789012345678, ""},
        {"18446744073709551615.5", 1, 18446744073709551615.5, ""},
        {"18446744073709551616.0", 0, 0.0, NULL},
        {".5", 0, 0.0, NULL},
        {"-1.5", 0, 0.0, NULL},
        {"", 0, 0.0, NULL},
        {"nan", 0, 0.0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *memory;
        double value = 7.0;
        struct rm_text text = exactly(cases[i].text, &memory);
        if (rm_parse_decimal(&text, &value) != (cases[i].is_number != 0)) {
            fail_msg("'%s' is%s a number", cases[i].text, cases[i].is_number ? "" : " not");
        }
        double expected = cases[i].is_number ? cases[i].value : 7.0;
        assert_near(value, expected, 2e-16 * expected); /* two roundings at most */
        if (cases[i].rest != NULL) {
            assert_text(&text, cases[i].rest);
        }
        free(memory);
    }
}

static const struct rm_key keys[] = {RM_KEY("Alpha:", 0), RM_KEY("Beta:", 1), RM_KEY("Be:", 5)};

static uint64_t parse_keys(const char *file, uint64_t values[8])
{
    char *memory;
    struct rm_text text = exactly(file, &memory);
    for (int i = 0; i < 8; i++) {
        values[i] = 77;
    }
    uint64_t found = rm_parse_keys(text, keys, 3, values);
    free(memory);
    return found;
}

TEST(keys_go_to_their_slots)
{
    uint64_t values[8];
    assert_int_equal(parse_keys("Be: 3\nBeta:\t2 kB\nAlpha:   1", values), 1 | 2 | 32);
    assert_true(values[0] == 1 && values[1] == 2 && values[5] == 3 && values[2] == 77);
    assert_int_equal(parse_keys("", values), 0);
    assert_int_equal(parse_keys("\n\n\n", values), 0);
    assert_int_equal(values[0], 77);
}

TEST(what_is_no_key_or_no_number_is_skipped)
{
    uint64_t values[8];
    assert_int_equal(
        parse_keys("Alphabet: 9\n Alpha: 9\nalpha: 9\nAlpha:9\nAlpha:\nBeta: x\nBe: 4", values),
        32);
    assert_true(values[0] == 77 && values[1] == 77 && values[5] == 4);
    /* Too large for its type: not found, rather than a wrong number. */
    assert_int_equal(parse_keys("Alpha: 18446744073709551616\nBeta: 1\n", values), 2);
    assert_int_equal(values[0], 77);
}

TEST(a_key_that_stands_twice_hides_no_other)
{
    uint64_t values[8];
    assert_int_equal(parse_keys("Alpha: 1\nAlpha: 2\nAlpha: 3\nBe: 4\nBeta: 5\n", values),
                     1 | 2 | 32);
    assert_true(values[1] == 5 && values[5] == 4);
}

/* What comes after the last key wanted is not even looked at: files may be long. */
TEST(keys_stop_when_all_are_found)
{
    uint64_t values[8];
    static const char file[] = "Alpha: 1\nBeta: 2\nBe: 3\nAlpha: 9\n";
    assert_int_equal(parse_keys(file, values), 1 | 2 | 32);
    assert_int_equal(values[0], 1);
}

TEST(random_bytes_are_never_read_past_their_end)
{
    struct random random = {77};
    static const char alphabet[] = "Alpha:Beta 0123456789\t\n.-=\xff";
    for (int round = 0; round < 20000; round++) {
        char bytes[64];
        size_t length = random_below(&random, sizeof bytes);
        for (size_t i = 0; i < length; i++) {
            bytes[i] = alphabet[random_below(&random, sizeof alphabet)];
        }
        char *memory = malloc(length > 0 ? length : 1);
        assert_non_null(memory);
        memcpy(memory, bytes, length);
        struct rm_text text = rm_text_of(memory, length), part;
        uint64_t values[8], number;
        int64_t signed_number;
        double decimal;
        (void)rm_parse_keys(text, keys, 3, values);
        for (int step = 0; step < 100 && text.at < text.end; step++) {
            size_t before = rm_text_left(&text);
            bool is_taken = false;
            switch (random_below(&random, 6)) {
            case 0:
                is_taken = rm_parse_line(&text, &part);
                break;
            case 1:
                is_taken = rm_parse_word(&text, &part);
                break;
            case 2:
                is_taken = rm_parse_u64(&text, &number);
                break;
            case 3:
                is_taken = rm_parse_i64(&text, &signed_number);
                break;
            case 4:
                is_taken = rm_parse_decimal(&text, &decimal);
                break;
            default:
                is_taken = rm_parse_until(&text, '=', &part);
                break;
            }
            assert_true(text.at <= text.end && rm_text_left(&text) <= before);
            assert_true(!is_taken || rm_text_left(&text) < before);
        }
        free(memory);
    }
}

TEST(hex)
{
    static const struct {
        const char *text;
        uint64_t number;
        size_t left; /* what is not taken; all of it: no number */
    } cases[] = {
        {"0x0", 0, 0},   {"0xd0c", 0xd0c, 0},
        {"0x02,", 2, 1}, {"0xffffffffffffffff", UINT64_MAX, 0},
        {"0x", 0, 2},    {"12", 0x12, 0},
        {"0xG", 0, 3},   {"0x10000000000000000", 0, 19},
        {"0x1F", 1, 1},  {"000001ffffffffff\n", 0x1ffffffffff, 1},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *memory;
        uint64_t number = 0;
        struct rm_text text = exactly(cases[i].text, &memory);
        bool is_number = cases[i].left < strlen(cases[i].text);
        assert_int_equal(rm_parse_hex(&text, &number), is_number);
        assert_int_equal(number, cases[i].number);
        assert_int_equal(rm_text_left(&text), cases[i].left);
        free(memory);
    }
}
