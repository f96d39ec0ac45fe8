/* SPDX-License-Identifier: MIT */
/*
 * format/json: arrays of numbers, which do not go through cJSON, and all that looks like them; the
 * same values and the same errors as before.
 */
#include "test.h"

#include "base/fault.h"
#include "base/feature.h"
#include "format/json.h"

static const char *no_json(void)
{
    return rm_json_check() == RESMON_OK ? NULL : "the library was built without cJSON";
}

static struct rm_json *parsed(const char *text)
{
    struct rm_json *json = NULL;
    if (rm_json_parse(text, strlen(text), &json) != RESMON_OK) {
        fail_msg("%s: %s", text, resmon_last_error());
    }
    return json;
}

static void check_numbers(const struct rm_json *array, const double *wanted, size_t count)
{
    size_t known;
    const double *numbers = rm_json_numbers(array, &known);
    assert_non_null(numbers);
    assert_int_equal(known, count);
    assert_int_equal(rm_json_count(array), count);
    assert_null(rm_json_first(array));
    for (size_t i = 0; i < count; i++) {
        assert_true(numbers[i] == wanted[i] || (isnan(numbers[i]) && isnan(wanted[i])));
    }
}

TEST(arrays_of_numbers)
{
    struct rm_json *json = parsed(" {\"a\": [ 1 ,2.5,\n-3e2 ] , \"b\":[[7],[null,8]], \"c\":[0]} ");
    check_numbers(rm_json_get(json, "a"), (const double[]){1, 2.5, -300}, 3);
    const struct rm_json *lists = rm_json_get(json, "b");
    size_t count;
    assert_null(rm_json_numbers(lists, &count));
    assert_int_equal(count, 0);
    assert_int_equal(rm_json_count(lists), 2);
    check_numbers(rm_json_first(lists), (const double[]){7}, 1);
    check_numbers(rm_json_next(rm_json_first(lists)), (const double[]){NAN, 8}, 2);
    check_numbers(rm_json_get(json, "c"), (const double[]){0}, 1);
    rm_json_free(json);
    json = parsed("[5]");
    check_numbers(json, (const double[]){5}, 1);
    rm_json_free(json);
}

TEST(other_arrays)
{
    struct rm_json *json = parsed("{\"x\":[], \"y\":[1,\"[2,3]\",true,[4],{\"z\":[5]}], "
                                  "\"[6]\\\"[7]\":\"[8\\\\\", \"w\":[\"a\"]}");
    size_t count;
    assert_null(rm_json_numbers(rm_json_get(json, "x"), &count));
    assert_int_equal(rm_json_count(rm_json_get(json, "x")), 0);
    const struct rm_json *mixed = rm_json_get(json, "y");
    assert_null(rm_json_numbers(mixed, &count));
    assert_int_equal(rm_json_count(mixed), 5);
    const struct rm_json *at = rm_json_first(mixed);
    assert_true(rm_json_number(at) == 1);
    at = rm_json_next(at);
    assert_string_equal(rm_json_text(at), "[2,3]");
    at = rm_json_next(rm_json_next(at));
    check_numbers(at, (const double[]){4}, 1);
    check_numbers(rm_json_get(rm_json_next(at), "z"), (const double[]){5}, 1);
    assert_string_equal(rm_json_text(rm_json_get(json, "[6]\"[7]")), "[8\\");
    assert_null(rm_json_numbers(rm_json_get(json, "w"), &count));
    assert_null(rm_json_numbers(NULL, &count));
    rm_json_free(json);
}

/* What cJSON would take, but JSON does not allow, is an error; and never another array's numbers.
 */
TEST(errors)
{
    static const struct {
        const char *text, *where; /* the offset in the message */
    } rows[] = {
        {"[01]", " 1"},
        {"[-]", " 1"},
        {"[1.]", " 2"},
        {"[1 2]", " 3"},
        {"[1,]", " 3"},
        {"[1", " 2"},
        {"[", " "},
        {"[1}", " 2"},
        {"{\"a\":[1,2],}", " 11"},
        {"[[1,2,3],[4,5],x]", " 15"},
        {"[nul]", " "},
        {"[1e]", " 2"},
        {"[0x1]", " 2"},
        {"\"[1,2]", " "},
        {"[1,\"\\", " "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rm_json *json = NULL;
        resmon_status status = rm_json_parse(rows[i].text, strlen(rows[i].text), &json);
        const char *error = resmon_last_error();
        if (status != RESMON_EFORMAT || strstr(error, rows[i].where) == NULL) {
            fail_msg("%s: %s: %s", rows[i].text, resmon_status_name(status), error);
        }
        assert_null(json);
    }
}

TEST(no_memory)
{
    static const char text[] = "{\"a\":[1,2,3],\"b\":[[4],[5,6]],\"c\":\"d\"}";
    int64_t before = rm_fault_live(0);
    for (int k = 0; k < 100; k++) {
        struct rm_json *json = NULL;
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_json_parse(text, strlen(text), &json);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_true(status == RESMON_OK || status == RESMON_ENOMEM);
        rm_json_free(json);
        assert_int_equal(rm_fault_live(0), before);
        if (status == RESMON_OK) {
            assert_true(k > 2);
            return;
        }
    }
    fail_msg("there is always one more allocation");
}

TEST_FILE(.missing = no_json);
