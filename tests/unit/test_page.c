/* SPDX-License-Identifier: MIT */
/*
 * view: what becomes of rows, readings and stacks before they are drawn; tables of many scopes and
 * runs; and that nothing from a run becomes markup.  How a browser shows it is tested from Python
 * (bindings/python/tests/test_reports.py).
 */
#include "test.h"

#include "made_profile.h"
#include "made_run.h"
#include "made_table.h"
#include "run/record.h"
#include "view/builders.h"
#include "view/charts.h"
#include "view/plots.h"
#include "view/renderers.h"
#include "view/view.h"

#define MOST ((size_t)64 << 20)

/* ---- runs of one column --------------------------------------------------------------------- */

/* Rows that end `step_s` after each other; the caller fills the values. */
static struct resmon_run *column_run(size_t rows, double step_s)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    made_table(run, 1, rows);
    for (size_t row = 0; row < rows; row++) {
        run->t_last[row] = (int64_t)((double)row * step_s * 1e9);
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            rm_run_series(run, 0, kind)[row] = 1.0;
        }
    }
    return run;
}

TEST(thinning_keeps_extremes)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *run = column_run(1000, 1.0);
    double sum = 0.0, expected = 0.0, low = 1e9, high = 0.0;
    for (size_t row = 0; row < 1000; row++) {
        rm_run_series(run, 0, RESMON_SERIES_MEAN)[row] = (double)(row % 7);
        rm_run_series(run, 0, RESMON_SERIES_MIN)[row] = row == 500 ? 0.0 : 1.0;
        rm_run_series(run, 0, RESMON_SERIES_MAX)[row] = row == 123 ? 99.0 : 7.0;
        expected += (double)(row % 7) / 1000.0;
    }
    const struct rm_points points = rm_points_of_column(&page, run, 0, 1.0, 100);
    assert_int_equal(points.count, 100);
    assert_near(points.times[99], 999.0, 0.0);
    assert_non_null(points.low);
    for (size_t i = 0; i < points.count; i++) {
        sum += points.mean[i] / 100.0;
        low = points.low[i] < low ? points.low[i] : low;
        high = points.high[i] > high ? points.high[i] : high;
    }
    assert_near(low, 0.0, 0.0);
    assert_near(high, 99.0, 0.0);
    assert_near(sum, expected, 0.05); /* the first row has no length */
    rm_page_free(&page);
    rm_run_free(run);
}

static size_t count_gaps(const struct rm_points *points, double *ret_time)
{
    size_t gaps = 0;
    for (size_t i = 0; i < points->count; i++) {
        gaps += isnan(points->mean[i]) ? 1 : 0;
        *ret_time = isnan(points->mean[i]) ? points->times[i] : *ret_time;
    }
    return gaps;
}

TEST(gaps_are_where_readings_fail_and_not_between_slow_ones)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *run = column_run(200, 1.0);
    double *mean = rm_run_series(run, 0, RESMON_SERIES_MEAN), at = 0.0;
    for (size_t row = 0; row < 200; row++) {
        mean[row] = row % 8 == 0 ? 1.0 : (double)NAN;
    }
    struct rm_points points = rm_points_of_column(&page, run, 0, 1.0, 800);
    assert_int_equal(points.count, 25);
    assert_int_equal(count_gaps(&points, &at), 0);
    for (size_t row = 0; row < 200; row++) {
        mean[row] = row > 50 && row < 150 ? (double)NAN : 1.0;
    }
    points = rm_points_of_column(&page, run, 0, 1.0, 800);
    assert_int_equal(count_gaps(&points, &at), 1);
    assert_near(at, 100.0, 0.0);
    assert_null(points.low); /* a band of no width */
    rm_page_free(&page);
    rm_run_free(run);
}

TEST(power_is_that_of_the_counter)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *run = column_run(101, 0.1);
    double *joules = rm_run_series(run, 0, RESMON_SERIES_LAST), watts[101];
    for (int is_idle = 0; is_idle < 2; is_idle++) {
        for (size_t row = 0; row < 101; row++) { /* read at every fifth row; 20 W */
            double total = 2.0 * (double)(row - row % 5);
            joules[row] = is_idle && total > 100.0 ? 100.0 : total;
            watts[row] = (double)NAN;
        }
        rm_points_add_power(&page, run, 0, 1, watts);
        assert_true(isnan(watts[0]));
        assert_near(watts[30], 20.0, 1e-9);
        assert_near(watts[90], is_idle ? 0.0 : 20.0, 1e-9);
    }
    for (size_t row = 0; row < 101; row++) {
        joules[row] = watts[row] = (double)NAN;
    }
    rm_points_add_power(&page, run, 0, 1, watts);
    assert_true(isnan(watts[50]));
    rm_page_free(&page);
    rm_run_free(run);
}

/* ---- flame graphs --------------------------------------------------------------------------- */

static struct rm_subject subject_of(struct rm_page *page, const struct resmon_run *run)
{
    struct rm_subject subject;
    rm_subject_open(&subject, page, run, NULL, 800);
    return subject;
}

static const struct rm_box *box_named(const struct rm_boxes *boxes, const char *name)
{
    for (size_t i = 0; i < boxes->count; i++) {
        if (strcmp(boxes->items[i].name, name) == 0) {
            return &boxes->items[i];
        }
    }
    fail_msg("there is no box %s", name);
    return NULL;
}

/* Each box stands below one that it is in, in its row from left to right. */
static void assert_in_order(const struct rm_boxes *boxes)
{
    for (size_t i = 1; i < boxes->count; i++) {
        const struct rm_box *box = &boxes->items[i], *before = box - 1;
        bool is_inside = false;
        assert_true(box->depth == before->depth ? before->start + before->share <= box->start + 1e-9
                                                : box->depth == before->depth + 1);
        for (size_t k = 0; k < i; k++) {
            const struct rm_box *outer = &boxes->items[k];
            is_inside |= outer->depth + 1 == box->depth && outer->start <= box->start + 1e-9 &&
                         box->start + box->share <= outer->start + outer->share + 1e-9;
        }
        assert_true(is_inside);
    }
}

TEST(there_is_a_bound_to_boxes)
{
    enum { NAMES = 400, DEPTH = 30, STACKS = 3000 };
    struct rm_page page = {.title = ""};
    struct resmon_run *run = made_profile("/src/train.c");
    struct rm_run_profile *profile = &run->profile;
    profile->places = rm_arena_alloc(&run->strings, NAMES, sizeof *profile->places);
    profile->frames = rm_arena_alloc(&run->strings, DEPTH * STACKS, sizeof *profile->frames);
    profile->stacks = rm_arena_alloc(&run->strings, STACKS, sizeof *profile->stacks);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "function_%u", i);
        profile->places[i] =
            made_place(rm_arena_text(&run->strings, name, sizeof name), "", 0, 0, 0x401000 + i);
    }
    for (uint32_t i = 0; i < STACKS; i++) {
        profile->stacks[i] = (struct rm_run_stack){.scope = -1,
                                                   .first = (size_t)i * DEPTH,
                                                   .depth = DEPTH,
                                                   .samples = {1},
                                                   .weight = {1e7}};
        for (uint32_t level = 0; level < DEPTH; level++) {
            profile->frames[i * DEPTH + level] = (i >> level) * 7 % NAMES;
        }
    }
    profile->place_count = NAMES;
    profile->stack_count = STACKS;
    const struct rm_subject subject = subject_of(&page, run);
    const struct rm_flame *flame = rm_flame_of(&subject, RESMON_STACK_CPU, 500);
    const struct rm_boxes boxes = flame->boxes;
    assert_int_equal(boxes.count, 500);
    assert_in_order(&boxes);
    rm_page_free(&page);
    rm_run_free(run);
}

/* Stacks of CPU time of one run all in `function`. */
static void set_one_function(struct resmon_run *run, const char *function, uint32_t samples)
{
    struct rm_run_profile *profile = &run->profile;
    profile->places = rm_arena_alloc(&run->strings, 1, sizeof *profile->places);
    profile->frames = rm_arena_alloc(&run->strings, 1, sizeof *profile->frames);
    profile->stacks = rm_arena_alloc(&run->strings, 1, sizeof *profile->stacks);
    profile->places[0] = made_place(function, "", 0, 0, 0x401000);
    profile->stacks[0] = (struct rm_run_stack){
        .scope = -1, .depth = 1, .samples = {samples}, .weight = {1e7 * samples}};
    profile->place_count = profile->stack_count = 1;
}

TEST(boxes_of_two_runs)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *runs[2];
    struct rm_buffer out;
    rm_buffer_init(&out, 1 << 20);
    for (uint32_t i = 0; i < 2; i++) {
        runs[i] = made_profile("/src/train.c");
        set_one_function(runs[i], i == 0 ? "gone" : "fresh", i == 0 ? 100 : 300);
    }
    const struct rm_subject before = subject_of(&page, runs[0]), after = subject_of(&page, runs[1]);
    const struct rm_flame *flame = rm_flame_of_two(&before, &after, RESMON_STACK_CPU, 4000);
    const struct rm_boxes boxes = flame->boxes;
    assert_int_equal(boxes.count, 3);
    assert_near(box_named(&boxes, "all")->share, 1.0, 1e-12);
    assert_near(box_named(&boxes, "gone")->share, 0.25, 1e-12);
    assert_near(box_named(&boxes, "gone")->weight[0], 1e9, 1.0);
    assert_near(box_named(&boxes, "gone")->weight[1], 0.0, 1e-12);
    assert_near(box_named(&boxes, "fresh")->share, 0.75, 1e-12);
    assert_int_equal(box_named(&boxes, "fresh")->samples[1], 300);
    assert_in_order(&boxes);
    rm_flame_draw(&out, flame);
    assert_non_null(strstr(out.text, "<b class=less style=\"--d:0.80;"));
    assert_non_null(strstr(out.text, "<b class=more style=\"--d:0.80;"));
    assert_null(rm_flame_of_two(&before, &after, RESMON_STACK_MEMORY, 4000));
    rm_buffer_free(&out);
    rm_page_free(&page);
    rm_run_free(runs[0]);
    rm_run_free(runs[1]);
}

/* 20 samples more of 200 are no difference. */
TEST(what_chance_has_is_no_difference)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *runs[2];
    struct rm_buffer out;
    rm_buffer_init(&out, 1 << 20);
    for (uint32_t i = 0; i < 2; i++) {
        runs[i] = made_profile("/src/train.c");
        set_one_function(runs[i], "work", 200 + 20 * i);
    }
    const struct rm_subject before = subject_of(&page, runs[0]), after = subject_of(&page, runs[1]);
    const struct rm_flame *flame = rm_flame_of_two(&before, &after, RESMON_STACK_CPU, 4000);
    rm_flame_draw(&out, flame);
    assert_null(strstr(out.text, "<b class=more"));
    assert_non_null(strstr(out.text, "before 2.000 s, after 2.200 s: +200.0 ms (+10.0 %), 200 and "
                                     "220 samples"));
    rm_buffer_free(&out);
    rm_page_free(&page);
    rm_run_free(runs[0]);
    rm_run_free(runs[1]);
}

/* ---- scopes --------------------------------------------------------------------------------- */

TEST(of_many_scopes_the_longest_are_shown)
{
    struct rm_page page = {.title = ""};
    struct resmon_run *run = made_run("stopped", 1000);
    run->scopes[700].wall_ns = 9e9;
    run->scopes[900].parent = 800; /* short, with a long one in it */
    run->scopes[900].wall_ns = 8e9;
    run->scopes[800].wall_ns = 1.0;
    const struct rm_subject subject = subject_of(&page, run);
    const struct rm_page_table *table = rm_scopes_table(&subject, RM_COLUMN_FULL, 0);
    bool has_longest = false, has_parent = false;
    for (size_t i = 0; i < table->count; i++) {
        has_longest |= strcmp(rm_page_cells(table, i)[1].text, "s700") == 0;
        has_parent |= strcmp(rm_page_cells(table, i)[1].text, "s800") == 0;
    }
    assert_int_equal(table->count, 400);
    assert_true(has_longest && has_parent);
    assert_non_null(
        strstr(table->notes[table->note_count - 1], "and 600 more, which took less time"));
    rm_page_free(&page);
    rm_run_free(run);
}

/* ---- texts ---------------------------------------------------------------------------------- */

TEST(what_cannot_be_seen_is_spelled_out)
{
    struct rm_page page = {.title = ""};
    assert_string_equal(rm_page_shown(&page, "a\x01\xe2\x80\xae<\xc3\xa9"),
                        "a\\u0001\\u202e<\xc3\xa9");
    assert_string_equal(rm_page_shown_at_most(&page, "\xc3\xa9\xc3\xa9\xc3\xa9", 2),
                        "\xc3\xa9\xc3\xa9");
    assert_string_equal(rm_page_shown_at_most(&page, "ab\x7f", 5), "ab\\u0");
    assert_string_equal(rm_page_grouped(&page, 1234567), "1,234,567");
    assert_string_equal(rm_page_grouped(&page, 123), "123");
    rm_page_free(&page);
}

TEST(lines_are_broken_between_words)
{
    static const struct {
        const char *text, *broken;
    } rows[] = {
        {"", "\n"},
        {"short", "short\n"},
        {"one two three four", "one two\n  three\n  four\n"},
        {"averylongwordindeed and", "averylong\n  wordind\n  eed and\n"},
        {"end  ", "end\n"},
        {"a\xc3 \x1b[2J \xc2\x9b", "a? ?[2J\n  ??\n"},
        {"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
         "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        struct rm_page page = {.title = ""};
        struct rm_buffer out;
        rm_buffer_init(&out, 4096);
        (void)rm_page_add(&page, RM_BLOCK_LINE, rows[i].text, NULL);
        rm_text_write(&out, &page, 9);
        assert_string_equal(out.text, rows[i].broken);
        rm_buffer_free(&out);
        rm_page_free(&page);
    }
}

/* The text between two marks. */
static void assert_between(const char *text, const char *from, const char *to, const char *without)
{
    const char *begin = strstr(text, from), *end = begin != NULL ? strstr(begin, to) : NULL;
    assert_non_null(end);
    for (const char *at = begin + strlen(from); at < end; at++) {
        assert_null(strchr(without, *at));
    }
}

TEST(nothing_of_a_run_becomes_markup)
{
    static const char bad[] = "</script><script>alert(1)</script>\"'&";
    struct resmon_run *run = made_run("stopped", 9);
    run->info.label = bad;
    run->scopes[3].name = bad;
    run->sources[1].reason = bad;
    run->columns[8].instance = bad;
    const resmon_run *const runs[] = {run, run};
    for (size_t count = 1; count <= 2; count++) {
        struct rm_buffer out;
        rm_buffer_init(&out, MOST);
        struct rm_view_terms terms = {
            .runs = runs, .count = count, .title = bad, .form = RM_FORM_HTML};
        assert_ok(rm_view_write(&out, &terms));
        assert_has(out.text,
                   "<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
        assert_null(strstr(out.text, "<script>alert"));
        assert_null(strstr(out.text, "<script&gt;alert"));
        assert_null(strstr(out.text, "nan"));
        assert_between(out.text, "id=resmon-data>", "</script>", "<>&");
        assert_int_equal(strncmp(out.text, "<!DOCTYPE html>", 15), 0);
        assert_non_null(strstr(out.text, "</html>"));
        rm_buffer_free(&out);
        rm_buffer_init(&out, MOST);
        terms.form = RM_FORM_DATA;
        assert_ok(rm_view_write(&out, &terms));
        assert_non_null(strstr(out.text, "\"runs\""));
        rm_buffer_free(&out);
        rm_buffer_init(&out, MOST);
        terms.form = RM_FORM_MARKDOWN;
        assert_ok(rm_view_write(&out, &terms));
        assert_int_equal(strncmp(out.text, "# \\</script\\>", 13), 0);
        assert_non_null(strstr(out.text, "\n### Scopes\n\n| scope |"));
        for (const char *at = out.text; (at = strpbrk(at, "<>")) != NULL; at++) {
            assert_int_equal(at[-1], '\\');
        }
        rm_buffer_free(&out);
    }
    rm_run_free(run);
}

TEST(wrong_arguments)
{
    struct resmon_run *run = made_run("stopped", 1);
    const resmon_run *const runs[] = {run, NULL};
    char *text = NULL;
    assert_status(RESMON_EINVAL, resmon_report_page(NULL, 1, NULL, &text));
    assert_status(RESMON_EINVAL, resmon_report_page(runs, 0, NULL, &text));
    assert_status(RESMON_EINVAL, resmon_report_page(runs, 2, NULL, &text));
    assert_status(RESMON_EINVAL, resmon_report_page(runs, 1, NULL, NULL));
    assert_status(RESMON_EINVAL, resmon_report_save(runs, 1, NULL, NULL));
    assert_status(RESMON_ENOENT, resmon_report_save(runs, 1, NULL, "/nowhere/at/all.html"));
    resmon_page_options options = {.struct_size = sizeof options, .form = 77};
    assert_status(RESMON_EINVAL, resmon_report_page(runs, 1, &options, &text));
    options.form = RESMON_PAGE_DATA;
    options.title = "a title";
    options.parts = RESMON_PAGE_FIGURES;
    assert_ok(resmon_report_page(runs, 1, &options, &text));
    assert_non_null(strstr(text, "\"a title\""));
    assert_null(strstr(text, "\"tables\""));
    resmon_text_free(text);
    rm_run_free(run);
}
