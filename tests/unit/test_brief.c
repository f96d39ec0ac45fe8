/* SPDX-License-Identifier: MIT */
/*
 * The brief report: it is never wider than asked for, and says what is not whole.  What else it
 * says is compared by tests/golden.  And what it stands on: the headline, what a program is called,
 * a text's width.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/compiler.h"
#include "base/text.h"
#include "made_profile.h"
#include "metric/metric.h"
#include "os/host.h"
#include "run/headline.h"
#include "run/run.h"

/* ---- texts of any run ----------------------------------------------------------------------- */

static char *text_of(const resmon_run *run, uint64_t detail, uint64_t width)
{
    const resmon_report_options options = {
        .struct_size = sizeof options, .detail = detail, .width = width};
    char *text = NULL;
    assert_ok(resmon_report_text(run, &options, &text));
    return text;
}

static size_t widest(const char *text)
{
    size_t width = 0;
    while (*text != '\0') {
        char line[4096];
        size_t length = strcspn(text, "\n");
        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        width = rm_columns(line) > width ? rm_columns(line) : width;
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    return width;
}

/* No line is wider; of a full report, a word that cannot be broken is. */
static void check_widths(const resmon_run *run)
{
    static const uint64_t widths[] = {60, 61, 72, 80, 99, 100, 132, 300};
    for (size_t i = 0; i < RM_ARRAY_LEN(widths); i++) {
        char *text = text_of(run, RESMON_REPORT_BRIEF, widths[i]);
        if (widest(text) > widths[i]) {
            fail_msg("%zu of %d columns:\n%s", widest(text), (int)widths[i], text);
        }
        assert_null(strstr(text, " \n"));
        resmon_text_free(text);
        text = text_of(run, RESMON_REPORT_FULL, widths[i]);
        if (widest(text) > widths[i] + 40) {
            fail_msg("%zu of %d columns:\n%s", widest(text), (int)widths[i], text);
        }
        resmon_text_free(text);
    }
}

/* ---- of this process ------------------------------------------------------------------------ */

#define LONG "a_name_that_is_as_long_as_those_that_people_give_to_their_phases"

/* Memory of the kernel, and back to it: to what the heap keeps, scopes would add nothing. */
static void work(void)
{
    const size_t bytes = (size_t)8 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096) {
        *(volatile char *)(memory + i) = 1;
    }
    for (volatile int i = 0; i < 20000000; i++) {
    }
    assert_int_equal(munmap(memory, bytes), 0);
}

static resmon_run *run_of(const char *options, bool has_scopes)
{
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_new_text(options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    if (has_scopes) {
        RESMON_SCOPE(LONG);
        {
            RESMON_SCOPE("\xc3\xa9t\xc3\xa9 \xe2\x80\x94 " LONG);
            work();
        }
        RESMON_SCOPE("after");
        work();
    } else {
        work();
    }
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    resmon_monitor_free(monitor);
    return run;
}

/* Of this process, with names of scopes that are long; and of stacks. */
TEST(no_line_is_wider_than_asked_for)
{
    resmon_run *runs[] = {run_of("scopes=none,interval=10ms", false),
                          run_of("scopes=all,interval=10ms,name=" LONG, true),
                          run_of("scopes=none,domains=tree", false),
                          made_profile("/nowhere/train.c")};
    for (size_t i = 0; i < RM_ARRAY_LEN(runs); i++) {
        check_widths(runs[i]);
        resmon_run_free(runs[i]);
    }
}

static bool has_words(const resmon_run *run, const char *words)
{
    char *text = text_of(run, RESMON_REPORT_BRIEF, 200);
    bool has = strstr(text, words) != NULL;
    resmon_text_free(text);
    return has;
}

/* As if each scope had seen so much of the peak, less what the kernel's counters may be off. */
static void set_scope_peaks(resmon_run *run, double share, double errors)
{
    double bound = rm_run_fact_number(run, "machine", "rss_error_bound_bytes");
    resmon_headline headline = {.struct_size = sizeof headline};
    assert_ok(resmon_run_get_headline(run, &headline));
    assert_true(bound > 0.0);
    double error = fmin(bound, headline.rss_peak_bytes / 8.0);
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].rss_peak_bytes = share * headline.rss_peak_bytes - errors * error;
    }
}

TEST(where_the_memory_went)
{
    resmon_run *run = run_of("scopes=wall+rss,interval=10ms", true);
    assert_true(has_words(run, "; highest in "));
    set_scope_peaks(run, 0.96, 0.9);
    assert_true(has_words(run, "; highest in "));
    set_scope_peaks(run, 0.94, 1.1); /* the peak was before all of them */
    assert_false(has_words(run, "highest in"));
    assert_false(has_words(run, "by phase"));
    resmon_run_free(run);
    run = run_of("scopes=wall,interval=10ms", true);
    assert_true(has_words(run, "; by phase with scopes=wall+rss"));
    resmon_run_free(run);
}

static void fail_source(resmon_run *run, const char *name, int32_t status, const char *reason)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, name) == 0) {
            run->sources[i].status = status;
            run->sources[i].reason = reason;
            run->sources[i].provenance = RESMON_PROVENANCE_SAMPLED;
        }
    }
}

/* Of a process of somebody else that has ended; and of one that was looked at once. */
TEST(figures_that_are_not_whole)
{
    resmon_run *run = run_of("scopes=none,interval=10ms", false);
    fail_source(run, "proc_cpu", RESMON_ESRCH, "the process has ended");
    fail_source(run, "tree", RESMON_OK, "processes are missing: too many open files");
    char *text = text_of(run, RESMON_REPORT_BRIEF, 300);
    assert_non_null(strstr(text, "\n  CPU     >= "));
    assert_non_null(strstr(text, "up to the last sample before its end"));
    /* The host may add notes of its own before it: of time that went to other virtual machines. */
    assert_non_null(strstr(text, "processes are missing: too many open files"));
    resmon_text_free(text);
    for (size_t i = 0; i < run->column_count; i++) {
        if (run->columns[i].kind == RESMON_COUNTER) {
            run->columns[i].n = 1;
            run->columns[i].duration_s = 0.0;
        }
    }
    text = text_of(run, RESMON_REPORT_BRIEF, 300);
    assert_null(strstr(text, " of CPU time, "));
    assert_non_null(strstr(text, " -   not known: the process has ended\n"));
    resmon_text_free(text);
    resmon_run_free(run);
}

TEST(options_are_checked)
{
    resmon_run *run = run_of("scopes=none,domains=process", false);
    resmon_report_options options = {.struct_size = sizeof options, .detail = 7};
    char *text = NULL;
    assert_status(RESMON_EINVAL, resmon_report_text(run, &options, &text));
    options = (resmon_report_options){.struct_size = sizeof options, .width = 59};
    assert_status(RESMON_ERANGE, resmon_report_text(run, &options, &text));
    assert_status(RESMON_EINVAL, resmon_report_text(run, NULL, NULL));
    assert_status(RESMON_EINVAL, resmon_report_text(NULL, NULL, &text));
    resmon_run_free(run);
}

/* Frames of the C library that start things, and of this library, are not the program's. */
TEST(what_is_not_the_programs)
{
    struct rm_run_module modules[] = {{.path = "/usr/bin/train"},
                                      {.path = "/lib/libc.so.6"},
                                      {.path = "/usr/lib/libresmon.so.0"}};
    struct rm_run_place places[] = {
        {.function = "_start", .file = "", .module = 0},
        {.function = "__libc_start_call_main", .file = "", .module = 1},
        {.function = "main", .file = "", .module = 0},
        {.function = "resmon_scope_end", .file = "", .module = 2},
        {.function = "end_slow", .file = "", .module = 2},
        {.function = "pwrite", .file = "", .module = 1},
        {.function = "", .file = "", .module = 1},
    };
    static const struct {
        uint32_t frames[6], count, left[6], left_count;
        uint32_t is_cut;
    } rows[] = {
        {{2, 1, 0}, 3, {2}, 1, 0},       {{5, 4, 3, 2, 1, 0}, 6, {2}, 1, 0},
        {{6, 2, 1, 0}, 4, {6, 2}, 2, 0}, /* what the program itself called */
        {{2, 1, 0}, 3, {2, 1, 0}, 3, 1}, /* the frames further out are not known */
        {{1, 0}, 2, {1, 0}, 2, 0},       /* nothing would be left */
        {{5, 4}, 2, {5, 4}, 2, 0},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        uint32_t frames[6];
        struct rm_run_stack stack = {.depth = rows[i].count, .is_cut = rows[i].is_cut};
        struct rm_run_profile profile = rm_profile_none();
        memcpy(frames, rows[i].frames, sizeof frames);
        profile.modules = modules;
        profile.module_count = 3;
        profile.places = places;
        profile.place_count = 7;
        profile.frames = frames;
        profile.frame_count = 6;
        profile.stacks = &stack;
        profile.stack_count = 1;
        for (int twice = 0; twice < 2; twice++) {
            rm_profile_trim(&profile);
            assert_int_equal(stack.depth, rows[i].left_count);
            assert_memory_equal(&frames[stack.first], rows[i].left,
                                rows[i].left_count * sizeof(uint32_t));
        }
    }
    char name[RM_PLACE_NAME_BYTES];
    struct rm_run_profile profile = {.modules = modules, .module_count = 3};
    rm_place_name(&profile, &places[6], name);
    assert_string_equal(name, "libc.so.6");
}

/* ---- parts ---------------------------------------------------------------------------------- */

static resmon_column column(const char *metric, double first, double last, double max)
{
    return (resmon_column){.metric = rm_metric_own_text(metric),
                           .instance = "",
                           .unit = "",
                           .n = 2,
                           .first = first,
                           .last = last,
                           .max = max};
}

TEST(headline)
{
    resmon_column columns[] = {
        column("proc.cpu.time", 0, 2, 1),        column("proc.mem.rss", 10, 20, 30),
        column("proc.mem.peak_rss", 50, 50, 50), column("proc.io.read_chars", 0, 7, 7),
        column("tree.io.read_chars", 0, 9, 9),
    };
    struct resmon_run run = {.info = {.state = "stopped", .duration_ns = 1500000000},
                             .columns = columns,
                             .column_count = 5,
                             .profile = rm_profile_none()};
    resmon_headline headline = rm_run_headline(&run);
    assert_true(headline.wall_s == 1.5 && headline.cpu_s == 2.0 && headline.read_chars == 9.0);
    assert_true(isnan(headline.cpu_user_s) && isnan(headline.write_bytes));
    /* The mark is of before the run. */
    assert_true(headline.rss_peak_bytes == 30.0);
    assert_int_equal(headline.rss_peak_provenance, RESMON_PROVENANCE_SAMPLED);
    columns[2] = column("proc.mem.peak_rss", 20, 50, 50);
    headline = rm_run_headline(&run);
    assert_true(headline.rss_peak_bytes == 50.0);
    assert_int_equal(headline.rss_peak_provenance, RESMON_PROVENANCE_MEASURED);
    run.column_count = 0;
    run.info.state = NULL;
    headline = rm_run_headline(&run);
    assert_true(isnan(headline.rss_peak_bytes));
    assert_int_equal(headline.rss_peak_provenance, RESMON_PROVENANCE_NONE);
}

TEST(what_a_program_is_called)
{
#define ARGUMENTS(text) text, sizeof text
    static const struct {
        const char *executable, *arguments;
        size_t length;
        const char *name;
    } rows[] = {
        {"/usr/bin/wordindex", ARGUMENTS("./wordindex\0/usr/share"), "wordindex"},
        {"/usr/bin/python3.11", ARGUMENTS("python3\0-Xtracemalloc\0train.py"), "train.py"},
        {"/usr/bin/python3.11", ARGUMENTS("python3\0-Bmtimeit"), "timeit"},
        {"/usr/bin/perl", ARGUMENTS("perl\0-Ilib/core\0-M\0strict\0x.pl"), "x.pl"},
        {"/usr/bin/python3.11", ARGUMENTS("python3\0train.py\0--epochs\0003"), "train.py"},
        {"/usr/bin/python3.11", ARGUMENTS("python\0-u\0-W\0error\0/home/a/b.py"), "b.py"},
        {"/usr/bin/python3", ARGUMENTS("python\0-m\0http.server\0008000"), "http.server"},
        {"/usr/bin/python3", ARGUMENTS("python\0-um\0timeit"), "timeit"},
        {"/usr/bin/python3", ARGUMENTS("python\0-c\0print(1)"), "python3"},
        {"/usr/bin/python3", ARGUMENTS("python"), "python3"},
        {"/usr/bin/python3", ARGUMENTS("python\0-"), "python3"},
        {"/usr/bin/pythonic", ARGUMENTS("pythonic\0x.py"), "pythonic"},
        {"/bin/bash", ARGUMENTS("bash\0-e\0/etc/run.sh"), "run.sh"},
        {"/bin/bash", ARGUMENTS("bash\0-c\0echo"), "bash"},
        {"/usr/bin/perl", ARGUMENTS("perl\0-w\0tool.pl"), "tool.pl"},
        {"/usr/bin/python3", "", 0, "python3"},
        {"", "", 0, ""},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        char name[64];
        rm_program_name(rows[i].executable, rows[i].arguments, rows[i].length, name, sizeof name);
        assert_string_equal(name, rows[i].name);
    }
    char longer[5000], name[16];
    memset(longer, 'x', sizeof longer);
    rm_program_name("/usr/bin/python3", longer, sizeof longer, name, sizeof name);
    assert_string_equal(name, "python3");
}

TEST(width_of_texts)
{
    assert_int_equal(rm_columns(""), 0);
    assert_int_equal(rm_columns("abc"), 3);
    assert_int_equal(rm_columns("\xc3\xa9t\xc3\xa9"), 3);
    assert_int_equal(rm_columns_fit("\xc3\xa9t\xc3\xa9", 0, NULL), 0);
    assert_int_equal(rm_columns_fit("\xc3\xa9t\xc3\xa9", 1, NULL), 2);
    assert_int_equal(rm_columns_fit("\xc3\xa9t\xc3\xa9", 2, NULL), 3);
    assert_int_equal(rm_columns_fit("\xc3\xa9t\xc3\xa9", 9, NULL), 5);
    /* Characters of East Asia and emoji are wide; marks are not there. */
    assert_int_equal(rm_columns("\xe6\xbc\xa2\xe5\xad\x97"), 4);
    assert_int_equal(rm_columns("\xf0\x9f\x94\xa5"), 2);
    assert_int_equal(rm_columns("e\xcc\x81"), 1);
    assert_int_equal(rm_columns_fit("\xe6\xbc\xa2\xe5\xad\x97", 3, NULL), 3);
    assert_int_equal(rm_columns("\xc3"), 1);
    char text[16];
    rm_columns_shorten(text, sizeof text, "abcdefghijkl", 12);
    assert_string_equal(text, "abcdefghijkl");
    rm_columns_shorten(text, sizeof text, "abcdefghijklm", 9);
    assert_string_equal(text, "abcd..klm");
    rm_columns_shorten(text, sizeof text, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5);
    assert_string_equal(text, "\xc3\xa9\xc3\xa9..\xc3\xa9");
}
