/* SPDX-License-Identifier: MIT */
/*
 * report/profile and report/lines: what is said of stacks that are known, with a source that is
 * there and one that is not.
 */
#include "report_in_full.h"
#include "test.h"

#include <unistd.h>

#include "base/compiler.h"
#include "made_profile.h"
#include "metric/metric.h"
#include "report/lines.h"

static char source[128];

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s in %s", part, text);
    }
}

/* The words of the line that begins with `first`, after `heading`; one space between them. */
static const char *row_of(const char *text, const char *heading, const char *first)
{
    static char row[512];
    const char *start = strstr(text, heading);
    size_t length = 0;
    if (start == NULL) {
        fail_msg("no %s in %s", heading, text);
    }
    for (const char *line = start; line != NULL; line = strchr(line + 1, '\n')) {
        const char *at = line + strspn(line, "\n ");
        if (strncmp(at, first, strlen(first)) != 0 || at[strlen(first)] != ' ') {
            continue;
        }
        for (; *at != '\n' && *at != '\0' && length + 1 < sizeof row; at++) {
            if (*at != ' ' || (length > 0 && row[length - 1] != ' ')) {
                row[length++] = *at;
            }
        }
        row[length] = '\0';
        return row;
    }
    fail_msg("no row %s after %s in %s", first, heading, text);
    return NULL;
}

static char *report_of(const resmon_run *run)
{
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    return text;
}

TEST(summary)
{
    resmon_run *run = made_profile(source);
    char *text = report_of(run);
    assert_string_equal(row_of(text, "Hot functions, by CPU time", "square"),
                        "square 600.0 ms 60.0 % 600.0 ms 60.0 % square.h");
    assert_has(row_of(text, "Hot functions, by CPU time", "work"),
               "work 140.0 ms 14.0 % 740.0 ms 74.0 %");
    assert_has(row_of(text, "Hot functions, by CPU time", "main"), "main 0 s 0.0 % 950.0 ms");
    assert_has(row_of(text, "Hot functions, by CPU time", "memset"), "200.0 ms 20.0 %");
    assert_has(row_of(text, "Hot functions, by growth of memory", "memset"), "2.86 MiB 95.4 %");
    /* square.h cannot be read, so its samples are those of the line of work that has it. */
    assert_string_equal(row_of(text, "Function: work, 740.0 ms", "20"),
                        "20 64 640.0 ms 10.00 ms 86.5 % total += square(i);");
    assert_string_equal(row_of(text, "Function: work, 740.0 ms", "22"),
                        "22 10 100.0 ms 10.00 ms 13.5 % return total;");
    assert_string_equal(row_of(text, "Hot lines, by growth of memory", "12"),
                        "12 - ~2.86 MiB 12 memset(block, 0, bytes);");
    assert_has_not(text, "Function: square");
    assert_has_not(text, "Function: main");
    assert_has(text, "Threads at high memory: RSS 256.0 MiB, 1.500 s after the start, when the "
                     "cgroup had 1.00 MiB left\n");
    assert_has(row_of(text, "Threads at high memory", "train"),
               "train training memset memset.S:151 load resmon-test-train");
    assert_has(row_of(text, "Threads at high memory", "4712"), "4712 - libc.so.6");
    assert_has(text, "CPU time       1.000 s in 101 samples (one each 10.10 ms): 90.9 % of the "
                     "process's 1.100 s\n");
    assert_has(text, "memory         3.00 MiB in 14 samples (one each 64 page faults); huge pages");
    assert_has(text,
               "  not the highest: 268.8 MiB were seen 1.720 s after the start, 5.0 % more\n");
    assert_has(text, "lost           3: samples came faster than the library read them\n");
    assert_has(text, "lost           1: samples of threads that had the signal blocked\n");
    resmon_text_free(text);
    resmon_run_free(run);
}

/* Six functions, of which one sample fell on the first and four hundred on the last; small pages,
 * huge ones, and all of them known to be no more than 100 MiB. */
TEST(figures_from_few_samples_have_marks)
{
    const double mib = 1048576.0;
    resmon_run *run = made_profile(source);
    struct rm_run_profile *profile = &run->profile;
    profile->stack_count = 4;
    static const uint64_t samples[] = {1, 12, 400, 3};
    static const enum made_place places[] = {MADE_UNNAMED, MADE_MEMSET, MADE_SQUARE, MADE_LOAD};
    for (size_t i = 0; i < 4; i++) {
        struct rm_run_stack *stack = &profile->stacks[i];
        *stack = (struct rm_run_stack){.scope = -1, .first = i, .depth = 1};
        profile->frames[i] = places[i];
        stack->samples[RESMON_STACK_MEMORY] = samples[i];
        stack->weight[RESMON_STACK_MEMORY] = (i == 2 ? 0.05 : 2.0) * mib * (double)samples[i];
        stack->error[RESMON_STACK_MEMORY] =
            i == 3 ? 0.0 /* each one was sampled */
                   : stack->weight[RESMON_STACK_MEMORY] / sqrt((double)samples[i]);
    }
    profile->kinds[RESMON_STACK_MEMORY].total = 100.0 * mib;
    profile->kinds[RESMON_STACK_MEMORY].reason = "";
    char *text = report_of(run);
    const char *table = "Hot functions, by growth of memory";
    assert_string_equal(row_of(text, table, "memset"),
                        "memset ~24.0 MiB 46.2 % ~24.0 MiB 46.2 % 12.4 MiB to 41.9 MiB memset.S");
    assert_string_equal(row_of(text, table, "square"),
                        "square 20.0 MiB 38.5 % 20.0 MiB 38.5 % square.h");
    assert_has(row_of(text, table, "load"), "load 6.00 MiB 11.5 % 6.00 MiB 11.5 % resmon-test-");
    assert_has(row_of(text, table, "libc.so.6"), "<11.1 MiB 3.8 % <11.1 MiB 3.8 %");
    assert_has(text, "  ~: from few samples, with its 95 % interval; <: an upper bound");
    assert_has(row_of(text, "Hot lines, by growth of memory", "151"), "151 - ~24.0 MiB 12");
    assert_has(text, "memory         52.0 MiB in 416 samples (one each 64 page faults): 52.0 % of "
                     "the 100.0 MiB by which RssAnon rose\n");
    resmon_text_free(text);
    profile->kinds[RESMON_STACK_MEMORY].total =
        30.0 * mib; /* it bounds nothing: pages came again */
    text = report_of(run);
    assert_has(text,
               "): all of the 30.0 MiB by which RssAnon rose (pages that were given back came "
               "again)\n");
    resmon_text_free(text);
    resmon_run_free(run);
}

TEST(peaks_say_of_which_moment_they_are)
{
    resmon_run *run = made_profile(source);
    run->profile.peak.highest_rss_bytes = run->profile.peak.rss_bytes + 4096.0;
    char *text = report_of(run);
    assert_has(text, "  the highest that was seen\n");
    assert_has_not(text, "not the highest");
    resmon_text_free(text);
    run->profile.peak.highest_rss_bytes = RM_NAN;
    text = report_of(run);
    assert_has(text, "  whether it was the highest is not known\n");
    resmon_text_free(text);
    run->columns = rm_arena_alloc(&run->strings, 1, sizeof *run->columns);
    run->columns[0] = (resmon_column){.metric = rm_metric_own_text("proc.mem.peak_rss"),
                                      .unit = "B",
                                      .instance = "",
                                      .source = ""};
    run->columns[0].n = 1;
    run->columns[0].max = 301989888.0;
    run->column_count = 1;
    resmon_run_peak_stack peak = {.struct_size = sizeof peak};
    assert_ok(resmon_run_get_peak_stack(run, 0, &peak));
    assert_near(peak.life_rss_bytes, 301989888.0, 0);
    assert_true(isnan(peak.highest_rss_bytes));
    run->column_count = 0;
    resmon_run_free(run);
}

TEST(without_source)
{
    resmon_run *run = made_profile("/nowhere/train.c");
    char *text = report_of(run);
    assert_has(row_of(text, "Hot lines, by CPU time", "3"), "3 60 600.0 ms 10.00 ms 100.0 %");
    assert_has(row_of(text, "Hot lines, by growth of memory", "151"), "151 - ~2.86 MiB 12");
    resmon_text_free(text);
    resmon_run_free(run);
}

/* A header of the system can be read, and is nobody's own. */
TEST(header_of_the_system)
{
    const char *const header = "/usr/include/stdio.h";
    if (access(header, R_OK) != 0) {
        print_message("skipped: there is no %s\n", header);
        skip();
    }
    resmon_run *run = made_profile(source);
    run->profile.places[MADE_SQUARE].file = header;
    char *text = report_of(run);
    assert_has(row_of(text, "Function: work, 740.0 ms", "20"), "total += square(i);");
    assert_has_not(text, "Function: square");
    resmon_text_free(text);
    run->profile.places[MADE_WORK].file = "";
    run->profile.places[MADE_MAIN].file = "";
    text = report_of(run);
    assert_has(row_of(text, "Function: square", "3"), "3 60 600.0 ms");
    resmon_text_free(text);
    resmon_run_free(run);
}

/* Names from outside lead to no file that is not named like a source. */
TEST(not_a_source)
{
    static const char *const files[] = {"/etc/passwd", "/dev/zero", "/etc", "/etc/passwd.c/..", ""};
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        char *text = NULL;
        resmon_run *run = made_profile(files[i]);
        assert_ok(resmon_report_lines(run, NULL, &text));
        assert_has_not(text, "root:");
        resmon_text_free(text);
        resmon_run_free(run);
    }
}

TEST(without_stacks)
{
    resmon_run *run = made_profile(source);
    run->profile = rm_profile_none();
    char *text = report_of(run), *lines = NULL;
    assert_has_not(text, "Stacks\n");
    assert_has_not(text, "Hot ");
    resmon_text_free(text);
    assert_status(RESMON_ENOENT, resmon_report_lines(run, NULL, &lines));
    run->profile.kinds[RESMON_STACK_CPU].status = RESMON_ENOTSUP;
    run->profile.kinds[RESMON_STACK_CPU].reason = "there is no libunwind";
    run->profile.lost[RM_LOSS_THREADS] = 2;
    text = report_of(run);
    assert_has(text, "Stacks\n  CPU time       not taken: there is no libunwind\n");
    assert_has(text, "2: threads could not be sampled");
    resmon_text_free(text);
    assert_status(RESMON_EINVAL, resmon_report_lines(NULL, NULL, &lines));
    assert_status(RESMON_EINVAL, resmon_report_lines(run, NULL, NULL));
    assert_null(lines);
    resmon_run_free(run);
}

TEST(one_function)
{
    char *text = NULL;
    resmon_run *run = made_profile(source);
    run->profile.places[MADE_LOAD].function = "load(unsigned long)";
    assert_ok(resmon_report_lines(run, "work", &text));
    assert_has(row_of(text, "Function: work", "20"), "20 64 640.0 ms");
    assert_has(row_of(text, "Function: work", "21"), "21 }"); /* between them */
    assert_has_not(text, "Function: main");
    assert_has_not(text, "memory");
    resmon_text_free(text);
    text = NULL;
    assert_ok(resmon_report_lines(run, "load", &text));
    assert_has(row_of(text, "Hot lines, by CPU time", "12"), "12 20 200.0 ms 10.00 ms 100.0 %");
    assert_has(row_of(text, "Hot lines, by growth of memory", "12"), "12 - ~2.86 MiB 12 memset(");
    resmon_text_free(text);
    text = NULL;
    assert_ok(resmon_report_lines(run, "square", &text));
    assert_has(row_of(text, "Function: square", "3"), "3 60 600.0 ms");
    resmon_text_free(text);
    text = NULL;
    assert_status(RESMON_ENOENT, resmon_report_lines(run, "lo", &text));
    assert_status(RESMON_ENOENT, resmon_report_lines(run, "nobody", &text));
    assert_null(text);
    resmon_run_free(run);
}

/* A second of walk (line 22), whose recursion goes through visit and back (line 20), inlined frames
 * included: three of its lines are on most stacks, each several times. */
static void make_recursive(resmon_run *run)
{
    static const int stacks[4][8] = {
        {MADE_WORK_LATER, MADE_LOAD, MADE_WORK, MADE_LOAD, MADE_WORK, MADE_LOAD, MADE_WORK, -1},
        {MADE_SQUARE, MADE_WORK, MADE_WORK_LATER, MADE_WORK, MADE_WORK_LATER, MADE_MAIN, -1},
        {MADE_WORK, MADE_WORK, MADE_WORK, MADE_WORK, MADE_MAIN, -1},
        {MADE_WORK_LATER, MADE_MAIN, -1},
    };
    static const double seconds[] = {0.4, 0.3, 0.2, 0.1};
    struct rm_run_profile *profile = &run->profile;
    profile->stack_count = RM_ARRAY_LEN(stacks);
    profile->frame_count = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(stacks); i++) {
        struct rm_run_stack *stack = &profile->stacks[i];
        *stack = (struct rm_run_stack){.scope = -1, .first = profile->frame_count};
        stack->samples[RESMON_STACK_CPU] = (uint64_t)(seconds[i] * 100.0 + 0.5);
        stack->weight[RESMON_STACK_CPU] = seconds[i] * 1e9;
        while (stacks[i][stack->depth] >= 0) {
            profile->frames[profile->frame_count++] = (uint32_t)stacks[i][stack->depth++];
        }
    }
}

TEST(recursion_counts_once)
{
    resmon_run *run = made_profile(source);
    make_recursive(run);
    char *text = report_of(run);
    assert_has(row_of(text, "Hot functions, by CPU time", "work"), "1.000 s 100.0 %");
    assert_has(row_of(text, "Hot functions, by CPU time", "load"), "400.0 ms 40.0 %");
    assert_string_equal(row_of(text, "Function: work, 1.000 s", "20"),
                        "20 90 900.0 ms 10.00 ms 90.0 % total += square(i);");
    assert_string_equal(row_of(text, "Function: work, 1.000 s", "22"),
                        "22 80 800.0 ms 10.00 ms 80.0 % return total;");
    resmon_text_free(text);
    text = NULL;
    assert_ok(resmon_report_lines(run, "work", &text));
    assert_has(text, "Function: work, 1.000 s");
    assert_has(row_of(text, "Function: work", "22"), "22 80 800.0 ms 10.00 ms 80.0 %");
    resmon_text_free(text);
    resmon_run_free(run);
}

/* Rows that somebody else fills: exact ones, of checkpoints. */
TEST(exact_rows)
{
    struct rm_line lines[30] = {
        {"f", "a.c", 9, 4, 4e6, 8192, 2, 1048576, 4e6, 0, 0, 0},
        {"g", "a.c", 3, 1, 1e6, 0, 0, RM_NAN, 1e6, 0, 0, 0},
        {"f", "a.c", 7, 4, 12e6, -4096, 1, RM_NAN, 12e6, 0, 0, 0},
    };
    struct rm_line_terms terms = {
        .table = RM_LINES_TIME, .most_functions = 1, .most_lines = 10, .width = 100};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 1 << 20);
    assert_int_equal(rm_lines_write(&buffer, lines, 3, &terms), 1);
    assert_has(buffer.text, "Function: f, 16.00 ms\n  File: a.c\n");
    assert_has(row_of(buffer.text, "Function: f", "7"), "7 4 12.00 ms 3.000 ms 75.0 %");
    assert_has(row_of(buffer.text, "Function: f", "9"), "9 4 4.000 ms 1.000 ms 25.0 %");
    assert_has_not(buffer.text, "Function: g");
    rm_buffer_clear(&buffer);
    terms.table = RM_LINES_MEMORY;
    terms.most_functions = 9;
    assert_int_equal(rm_lines_write(&buffer, lines, 3, &terms), 2);
    assert_has(row_of(buffer.text, "Function: f", "9"), "9 1.00 MiB 8.00 KiB 2");
    assert_has(row_of(buffer.text, "Function: f", "7"), "7 - -4.00 KiB 1");
    rm_buffer_clear(&buffer);
    /* The largest few, in the order of the source. */
    for (uint32_t i = 0; i < 30; i++) {
        lines[i] = (struct rm_line){"f", "a.c", 100 + i, 1, i % 10 * 1e6, 0, 0, RM_NAN, 1, 0, 0, 0};
    }
    terms = (struct rm_line_terms){.table = RM_LINES_TIME,
                                   .most_functions = 1,
                                   .most_lines = 2,
                                   .width = 100,
                                   .is_filled = true};
    assert_int_equal(rm_lines_write(&buffer, lines, 30, &terms), 1);
    assert_has(row_of(buffer.text, "Function: f", "109"), "109 1 9.000 ms");
    assert_has(row_of(buffer.text, "Function: f", "119"), "119 1 9.000 ms");
    assert_has_not(buffer.text, " 129 ");
    assert_has_not(buffer.text, " 108 ");
    rm_buffer_clear(&buffer);
    assert_int_equal(rm_lines_write(&buffer, lines, 0, &terms), 0);
    rm_buffer_free(&buffer);
}

FIXTURE(set_up)
{
    (void)snprintf(source, sizeof source, "%s", path_of("resmon-test-train.c"));
    FILE *file = fopen(source, "w");
    if (file == NULL) {
        return -1;
    }
    for (int line = 1; line <= 41; line++) {
        static const struct {
            int line;
            const char *text;
        } texts[] = {{12, "\tmemset(block, 0, bytes);\r"},
                     {20, "        total += square(i);"},
                     {21, "    }"},
                     {22, "    return total;"}};
        const char *text = "";
        for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
            text = texts[i].line == line ? texts[i].text : text;
        }
        (void)fprintf(file, "%s\n", text);
    }
    return fclose(file);
}

TEST_FILE(.set_up = set_up);
