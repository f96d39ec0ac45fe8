/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of lines (RESMON_LINE) after the run: bounds of what a document has of them, and the
 * tables of the report.  (A document that is read and written again, and whole tables: goldens.)
 */
#include "report_in_full.h"
#include "runs.h"

#include <unistd.h>

#include "base/compiler.h"
#include "format/json.h"
#include "made_profile.h"

#define MIB     1048576.0
#define HOSTILE "a\nb\t\x01\xff\"\\ \xc3\xa9"

#define LINE(at, in, number, passed, known, ns, grown, most)                                     \
    {                                                                                            \
        .file = (at), .function = (in), .line = (number), .hits = (passed), .rss_hits = (known), \
        .wall_ns = (ns), .rss_bytes = (grown), .rss_max_bytes = (most)                           \
    }

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s in %s", part, text);
    }
}

/* Without stacks; `lines` must outlive it. */
static struct resmon_run *made_lines(resmon_run_line *lines, size_t count)
{
    struct resmon_run *run = made_profile("/src/train.c");
    run->profile = rm_profile_none();
    run->scopes[2].name = "odd"; /* those that are recorded are clean */
    run->lines = lines;
    run->line_count = count;
    return run;
}

static char *report_of(const resmon_run *run)
{
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    return text;
}

static char *lines_of(const resmon_run *run, const char *function)
{
    char *text = NULL;
    assert_ok(resmon_report_lines(run, function, &text));
    return text;
}

static char *document_of(const resmon_run *run)
{
    char *text = NULL;
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    assert_ok(resmon_run_document(run, &text));
    return text;
}

/* ---- documents -------------------------------------------------------------------------- */

/* What cannot be, of a damaged recording, does not get into a document ... */
TEST(written_bounds)
{
    resmon_run_line lines[] = {
        LINE("a.c", "f", 1, UINT64_MAX, UINT64_MAX, (double)INFINITY, (double)-INFINITY,
             (double)INFINITY),
        LINE("a.c", "f", 2, 1, 1, RM_NAN, 1e300, -1),
        LINE("a.c", "f", 3, 1, 1, -5.0, -9.3e18, 9.3e18),
        LINE(HOSTILE, HOSTILE, 0, 1, 0, 1.0, RM_NAN, 1.0),
    };
    resmon_run *run = made_lines(lines, RM_ARRAY_LEN(lines));
    char *text = document_of(run);
    resmon_run *again = parsed(text);
    assert_int_equal(again->lines[0].hits, (UINT64_C(1) << 53) - 1);
    assert_int_equal(again->lines[0].rss_hits, (UINT64_C(1) << 53) - 1);
    assert_string_equal(again->lines[3].file, "a?b??\xef\xbf\xbd\"\\ \xc3\xa9");
    for (size_t i = 0; i < RM_ARRAY_LEN(lines); i++) {
        assert_false(isinf(again->lines[i].wall_ns));
        assert_false(isinf(again->lines[i].rss_bytes));
        assert_false(isinf(again->lines[i].rss_max_bytes));
    }
    resmon_text_free(report_of(again));
    resmon_run_free(again);
    resmon_text_free(text);
    resmon_text_free(report_of(run));
    resmon_run_free(run);
}

/* ... and out of one that somebody made up. */
TEST(read_bounds)
{
    static const char *const values[] = {
        "-1",  "0.5", "9007199254740992", "4294967296e9", "1e999", "{}", "null", "\"7\"",
        "[1]", "true"};
    resmon_run *run = made_lines(NULL, 0);
    resmon_text_free(document_of(run)); /* or it is skipped here */
    resmon_run_free(run);
    for (size_t i = 0; i < RM_ARRAY_LEN(values); i++) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "{\"format\":\"resmon-run\",\"version\":1,\"lines\":[7,{\"file\":%s,"
                       "\"line\":%s,\"hits\":%s,\"rss_hits\":%s,\"wall_ns\":-1,\"rss_bytes\":"
                       "1e19%s}]}",
                       values[i], values[i], values[i], values[i],
                       i % 2 == 0 ? "" : ",\"rss_max_bytes\":-1"); /* older ones have none */
        run = parsed(text);
        assert_int_equal(run->line_count, 2);
        assert_string_equal(run->lines[0].file, "");
        assert_int_equal(run->lines[1].line, 0);
        assert_int_equal(run->lines[1].hits, 0);
        assert_int_equal(run->lines[1].rss_hits, 0);
        assert_true(run->lines[1].rss_bytes == 1e19);
        assert_true(isnan(run->lines[1].rss_max_bytes) == (i % 2 == 0));
        resmon_text_free(report_of(run));
        resmon_run_free(run);
    }
}

/* ---- tables ----------------------------------------------------------------------------- */

static resmon_run_line table_lines[] = {
    LINE("train.c", "load", 10, 4, 0, 0.0, RM_NAN, 16 * MIB), /* the first of its scope */
    LINE("train.c", "load", 12, 4, 4, 12e6, 64 * MIB, 80 * MIB),
    LINE("train.c", "load", 14, 4, 4, 4e6, -32 * MIB, 64 * MIB),
    LINE("train.c", "fit", 30, 1, 0, 1e6, RM_NAN, RM_NAN), /* the RSS could not be read */
    LINE("train.c", "fit", 31, 1, 1, 3e6, 0, RM_NAN),      /* of an older document */
    LINE("train.c", "main", 50, 0, 0, 0.0, RM_NAN, RM_NAN),
};

/* Their tables are a golden (lines.full). */
TEST(what_is_not_shown_is_counted)
{
    resmon_run *run = made_lines(table_lines, RM_ARRAY_LEN(table_lines));
    run->info.dropped_lines = 7;
    char *text = report_of(run);
    assert_has(text, "\n  and 7 more places of RESMON_LINE() that had no room: 256 have\n");
    assert_has(text, "7 places of RESMON_LINE() past the bound of a run\n");
    assert_has_not(text, "Function: main"); /* never passed */
    resmon_text_free(text);
    run->lines = &table_lines[5];
    run->line_count = 1;
    text = report_of(run);
    assert_has_not(text, "Function: ");
    assert_has_not(text, "Checkpoints, ");
    resmon_text_free(text);
    resmon_run_free(run);
}

TEST(one_function)
{
    char *none = NULL;
    resmon_run *run = made_lines(table_lines, RM_ARRAY_LEN(table_lines));
    char *text = lines_of(run, "load");
    assert_has(text, "      12     4  12.00 ms  3.000 ms  75.0 %\n"
                     "      13\n" /* between them */
                     "      14     4  4.000 ms  1.000 ms  25.0 %\n");
    assert_has_not(text, "Function: fit");
    resmon_text_free(text);
    text = lines_of(run, NULL);
    assert_has(text, "Function: load");
    assert_has(text, "Function: fit");
    resmon_text_free(text);
    assert_status(RESMON_ENOENT, resmon_report_lines(run, "nobody", &none));
    assert_has(resmon_last_error(), "no checkpoints of a function nobody");
    run->line_count = 0;
    assert_status(RESMON_ENOENT, resmon_report_lines(run, NULL, &none));
    assert_null(none);
    resmon_run_free(run);
}

/* Functions with checkpoints, with samples, with both, and with neither. */
TEST(beside_stacks)
{
    char *none = NULL;
    resmon_run *run = made_profile("/nowhere/train.c");
    run->lines = table_lines;
    run->line_count = RM_ARRAY_LEN(table_lines);
    char *text = report_of(run);
    assert_true(strstr(text, "Checkpoints, by wall time") < strstr(text, "Hot functions"));
    resmon_text_free(text);
    text = lines_of(run, "load");
    assert_has(text, "Checkpoints, by wall time");
    assert_has(text, "Hot lines, by CPU time");
    resmon_text_free(text);
    text = lines_of(run, "fit");
    assert_has(text, "Checkpoints, by wall time");
    assert_has_not(text, "Hot lines");
    resmon_text_free(text);
    text = lines_of(run, "work");
    assert_has_not(text, "Checkpoints");
    assert_has(text, "Hot lines, by CPU time");
    resmon_text_free(text);
    assert_status(RESMON_ENOENT, resmon_report_lines(run, "nobody", &none));
    resmon_run_free(run);
}

/* Of more lines than are shown, those that matter: a loss as much as a gain. */
TEST(many_lines)
{
    resmon_run_line lines[60];
    for (uint32_t i = 0; i < 60; i++) {
        double growth = i == 5 ? -32 * MIB : i;
        lines[i] = (resmon_run_line)LINE("a.c", "f", 100 + i, 1, 1, 1e6 * (i + 1), growth, RM_NAN);
    }
    resmon_run *run = made_lines(lines, 60);
    char *text = report_of(run);
    assert_has(text, "     105          -  -32.0 MiB            1\n");
    assert_has(text, "     159          -       59 B            1\n");
    assert_has_not(text, "     104 ");
    resmon_text_free(text);
    text = lines_of(run, "f");
    assert_has(text, "     104          -        4 B            1\n");
    resmon_text_free(text);
    resmon_run_free(run);
}

/* ---- recorded --------------------------------------------------------------------------- */

static void marked(void)
{
    RESMON_FUNCTION();
    RESMON_LINE();
    (void)getppid();
    RESMON_LINE(); /* getppid */
}

static resmon_run *recorded(void)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
    for (int i = 0; i < 10; i++) {
        marked();
    }
    return finish(monitor);
}

TEST(recorded)
{
    resmon_run *run = recorded();
    char *text = lines_of(run, "marked");
    assert_has(text, "Function: marked");
    assert_has(text, "Checkpoints, by wall time");
    if (access(__FILE__, R_OK) == 0) {
        assert_has(text, "  RESMON_LINE(); /* getppid */\n");
    } else {
        print_message("skipped in part: %s cannot be read from here\n", __FILE__);
    }
    resmon_text_free(text);
    resmon_run_free(run);
}
