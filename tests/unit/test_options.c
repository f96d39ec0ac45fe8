/* SPDX-License-Identifier: MIT */
/*
 * setup/options: what is accepted, what it means, and that a refusal names the option.
 */
#include "test.h"

#include "base/compiler.h"
#include "setup/options.h"
#include "store/run_records.h"

static resmon_monitor_options plain(void)
{
    return (resmon_monitor_options){.struct_size = sizeof(resmon_monitor_options)};
}

static void assert_refused(const resmon_monitor_options *given, resmon_status status,
                           const char *named)
{
    struct rm_options options;
    memset(&options, 0x5a, sizeof options);
    struct rm_options before = options;
    assert_status(status, rm_options_read(given, &options));
    if (strstr(resmon_last_error(), named) == NULL) {
        fail_msg("'%s' does not name %s", resmon_last_error(), named);
    }
    assert_memory_equal(&options, &before, sizeof options);
}

static struct rm_options accepted(const resmon_monitor_options *given)
{
    struct rm_options options;
    assert_ok(rm_options_read(given, &options));
    return options;
}

TEST(zero_means_the_documented_default)
{
    resmon_monitor_options given = plain();
    for (int i = 0; i < 2; i++) {
        struct rm_options options = accepted(i == 0 ? &given : NULL);
        assert_int_equal(options.interval_ns, 100000000);
        assert_int_equal(options.values.rows, 400);
        assert_int_equal(options.values.tags, 1024);
        assert_int_equal(options.values.scope_paths, 2048);
        assert_int_equal(options.values.scope_threads, 256);
        assert_int_equal(options.values.scope_depth, 64);
        assert_int_equal(options.values.domains, RESMON_DOMAIN_ALL);
        assert_int_equal(options.values.flags, 0);
        assert_int_equal(options.values.stacks, 0);
        assert_int_equal(options.values.stack_hz, 99);
        assert_int_equal(options.values.fault_period, 64);
        assert_int_equal(options.meters, RESMON_METER_WALL);
        assert_int_equal(options.values.pid, 0);
        assert_true(options.wants_scopes && !options.needs_scopes);
        assert_true(options.values.max_overhead == 0.01 && options.values.max_meter_share == 0.01);
        assert_string_equal(options.values.name, "");
        assert_null(options.values.fs_root);
        assert_null(options.values.record);
        rm_options_free(&options);
    }
}

TEST(the_size_of_the_struct_is_checked)
{
    static const size_t wrong[] = {0,    1,        8,       sizeof(resmon_monitor_options) - 1,
                                   4097, 1u << 20, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        resmon_monitor_options given = plain();
        given.struct_size = wrong[i];
        assert_refused(&given, RESMON_EINVAL, "struct_size");
    }
}

TEST(a_longer_struct_needs_a_tail_of_zeros)
{
    union {
        resmon_monitor_options options;
        unsigned char bytes[4096];
    } longer;
    memset(&longer, 0, sizeof longer);
    longer.options.struct_size = sizeof longer;
    longer.options.interval_ms = 7;
    struct rm_options options = accepted(&longer.options);
    assert_int_equal(options.interval_ns, 7000000);
    rm_options_free(&options);
    static const size_t places[] = {sizeof(resmon_monitor_options), 1000, 4095};
    for (size_t i = 0; i < 3; i++) {
        char place[32];
        (void)snprintf(place, sizeof place, "%zu", places[i]);
        longer.bytes[places[i]] = 1;
        assert_refused(&longer.options, RESMON_EINVAL, place);
        longer.bytes[places[i]] = 0;
    }
    /* Past the size that the caller gave, bytes are not the struct's. */
    longer.options.struct_size = sizeof longer.options;
    longer.bytes[sizeof longer.options] = 1;
    options = accepted(&longer.options);
    rm_options_free(&options);
}

#define PLACE(field)      #field, offsetof(resmon_monitor_options, field)
#define NAMED(key, field) key, offsetof(resmon_monitor_options, field)

TEST(every_number_has_its_bounds)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t low, high;
    } numbers[] = {
        {NAMED("interval", interval_ms), 1, 86400000},
        {PLACE(rows), 2, 1048576},
        {PLACE(tags), 1, 1048576},
        {PLACE(scope_paths), 8, 1048576},
        {PLACE(scope_threads), 1, 65536},
        {PLACE(scope_depth), 1, 256},
        {PLACE(events), 1, 1048576},
        {PLACE(stack_hz), 1, 1000},
        {PLACE(fault_period), 1, 1000000},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const uint64_t good[] = {numbers[i].low, numbers[i].high};
        const uint64_t bad[] = {numbers[i].low - 1, numbers[i].high + 1, UINT64_MAX};
        resmon_monitor_options given = plain();
        char *field = (char *)&given + numbers[i].offset;
        for (int k = 0; k < 2; k++) {
            memcpy(field, &good[k], sizeof good[k]);
            struct rm_options options = accepted(&given);
            rm_options_free(&options);
        }
        for (int k = bad[0] == 0 ? 1 : 0; k < 3; k++) { /* 0 is the default */
            memcpy(field, &bad[k], sizeof bad[k]);
            assert_refused(&given, RESMON_ERANGE, numbers[i].name);
        }
    }
}

TEST(rows_are_even)
{
    resmon_monitor_options given = plain();
    given.rows = 401;
    assert_refused(&given, RESMON_ERANGE, "rows");
    assert_non_null(strstr(resmon_last_error(), "even"));
}

TEST(shares_are_numbers_inside_their_bounds)
{
    static const double bad[] = {NAN, -0.01, -INFINITY, INFINITY, 1e300};
    resmon_monitor_options given = plain();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        given = plain();
        given.max_overhead = bad[i];
        assert_refused(&given, RESMON_ERANGE, "max_overhead");
        given = plain();
        given.max_meter_share = bad[i];
        assert_refused(&given, RESMON_ERANGE, "max_meter_share");
    }
    given = plain();
    given.max_overhead = 1.0000001;
    assert_refused(&given, RESMON_ERANGE, "max_overhead");
    given.max_overhead = 1.0;
    given.max_meter_share = 1e-9;
    struct rm_options options = accepted(&given);
    assert_true(options.values.max_overhead == 1.0 && options.values.max_meter_share == 1e-9);
    rm_options_free(&options);
    given.max_overhead = -0.0;
    options = accepted(&given);
    assert_true(options.values.max_overhead == 0.01);
    rm_options_free(&options);
}

TEST(unknown_bits_are_refused)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t known;
    } sets[] = {{PLACE(domains), RESMON_DOMAIN_ALL},
                {PLACE(flags), RESMON_FLAG_SMAPS | RESMON_FLAG_NO_SCOPES | RESMON_FLAG_IDLE_NONE |
                                   RESMON_FLAG_IDLE_ALLOCATED | RESMON_FLAG_EACH},
                {PLACE(scopes), RESMON_METER_ALL},
                {PLACE(stacks), RESMON_STACKS_ALL}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        for (int bit = 0; bit < 64; bit++) {
            resmon_monitor_options given = plain();
            uint64_t value = UINT64_C(1) << bit;
            memcpy((char *)&given + sets[i].offset, &value, sizeof value);
            if ((sets[i].known & value) == 0) {
                assert_refused(&given, RESMON_EINVAL, sets[i].name);
            } else {
                struct rm_options options = accepted(&given);
                rm_options_free(&options);
            }
        }
    }
}

TEST(a_negative_pid_is_refused)
{
    resmon_monitor_options given = plain();
    given.pid = -1;
    assert_refused(&given, RESMON_ERANGE, "pid");
    given.pid = INT64_MIN;
    assert_refused(&given, RESMON_ERANGE, "pid");
}

TEST(meters_and_flags_say_who_has_the_scopes)
{
    static const struct {
        uint64_t meters, flags, read_as;
        int wants, needs;
    } cases[] = {
        {0, 0, RESMON_METER_WALL, 1, 0},
        {RESMON_METER_WALL, 0, RESMON_METER_WALL, 1, 1},
        {RESMON_METER_CPU, 0, RESMON_METER_WALL | RESMON_METER_CPU, 1, 1},
        {0, RESMON_FLAG_NO_SCOPES, RESMON_METER_WALL, 0, 0},
        {RESMON_METER_CPU, RESMON_FLAG_NO_SCOPES, RESMON_METER_WALL | RESMON_METER_CPU, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        resmon_monitor_options given = plain();
        given.scopes = cases[i].meters;
        given.flags = cases[i].flags;
        struct rm_options options = accepted(&given);
        assert_int_equal(options.meters, cases[i].read_as);
        assert_int_equal(options.wants_scopes, cases[i].wants);
        assert_int_equal(options.needs_scopes, cases[i].needs);
        rm_options_free(&options);
    }
}

TEST(labels_of_a_run)
{
    static char longest[RM_FACT_VALUE_BYTES], longer[RM_FACT_VALUE_BYTES + 1], name[49];
    memset(longest, 'a', sizeof longest - 1);
    memset(longer, 'a', sizeof longer - 1);
    memset(name, 'n', sizeof name - 1);
    char first[] = "a.B_1", value[] = "\xff, \"";
    resmon_label labels[33] = {{first, value}, {"b", longest}, {"c", ""}};
    resmon_monitor_options given = plain();
    given.labels = labels;
    given.label_count = 3;
    struct rm_options options = accepted(&given);
    memset(first, 'x', 5);
    memset(value, 'x', 4);
    assert_int_equal(options.values.label_count, 3);
    assert_string_equal(options.values.labels[0].name, "a.B_1");
    assert_string_equal(options.values.labels[0].value, "\xff, \"");
    assert_string_equal(options.values.labels[1].value, longest);
    assert_string_equal(options.values.labels[2].value, "");
    rm_options_free(&options);
    const resmon_label wrong[] = {{NULL, "x"},     {"", "x"},         {"a b", "x"},
                                  {"a=", "x"},     {"\xc3\xa9", "x"}, {name, "x"},
                                  {"right", NULL}, {"right", longer}};
    for (size_t i = 0; i < RM_ARRAY_LEN(wrong); i++) {
        labels[1] = wrong[i];
        bool is_name = wrong[i].name != NULL && strcmp(wrong[i].name, "right") == 0;
        assert_refused(&given, RESMON_EINVAL, is_name ? "'right'" : "letters");
    }
    given.label_count = 33;
    assert_refused(&given, RESMON_EINVAL, "33 labels");
    given.labels = NULL;
    given.label_count = 1;
    assert_refused(&given, RESMON_EINVAL, "1 labels");
}

TEST(texts_are_copied)
{
    char name[] = "name", root[] = "/root", record[] = "run.rec";
    resmon_monitor_options given = plain();
    given.name = name;
    given.fs_root = root;
    given.record = record;
    struct rm_options options = accepted(&given);
    memset(name, 'x', 4);
    memset(root, 'x', 5);
    memset(record, 'x', 7);
    assert_string_equal(options.values.name, "name");
    assert_string_equal(options.values.fs_root, "/root");
    assert_string_equal(options.values.record, "run.rec");
    rm_options_free(&options);
    assert_null(options.values.name);
    rm_options_free(&options); /* twice is fine */
}
