/* SPDX-License-Identifier: MIT */
/*
 * The k-th allocation or mapping failing while a run is exported to Arrow, read from memory or
 * printed, for k = 0, 1, 2, ... until none fails.  Whatever fails says so, leaves the outputs as
 * they were and nothing behind, and works when it is asked again.
 */
#include "test.h"

#include <errno.h>
#include <stdbool.h>

#include "arrow_consumer.h"
#include "base/fault.h"
#include "format/json.h"
#include "run/run.h"
#include "unit/made_run.h"

#define MOST_K 5000

static resmon_run *run;
static struct {
    char *data;
    size_t length;
} recording, document;

static struct ArrowArrayStream patterned(void)
{
    struct ArrowArrayStream stream;
    memset(&stream, 0x55, sizeof stream);
    return stream;
}

static bool is_patterned(const struct ArrowArrayStream *stream)
{
    const struct ArrowArrayStream pattern = patterned();
    return memcmp(stream, &pattern, sizeof pattern) == 0;
}

static void assert_clear(resmon_status status, resmon_status expected)
{
    assert_status(expected, status);
    assert_non_null(strstr(resmon_last_error(), "out of memory"));
}

/* ---- one try each: RESMON_OK, or how it failed ---------------------------------------------- */

/* A callback that failed says so, may be asked again, and then gives what it owes. */
static resmon_status take_stream(struct ArrowArrayStream *stream)
{
    resmon_status status = RESMON_OK;
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    for (int tries = 0; tries < 2 && schema.release == NULL; tries++) {
        int error = stream->get_schema(stream, &schema);
        assert_true(error == 0 || (error == ENOMEM && tries == 0 && schema.format == NULL));
        assert_int_equal(stream->get_last_error(stream) != NULL, error != 0);
        status = error != 0 ? RESMON_ENOMEM : status;
    }
    for (int tries = 0; tries < 2 && array.release == NULL; tries++) {
        int error = stream->get_next(stream, &array);
        assert_true(error == 0 || (error == ENOMEM && tries == 0 && array.buffers == NULL));
        assert_int_equal(stream->get_last_error(stream) != NULL, error != 0);
        status = error != 0 ? RESMON_ENOMEM : status;
    }
    struct arrow_verdict verdict = {""};
    if (!arrow_check_schema(&verdict, &schema, run, RESMON_SERIES_VALUE) ||
        !arrow_check_array(&verdict, &array, run, RESMON_SERIES_VALUE)) {
        fail_msg("%s", verdict.why);
    }
    array.release(&array);
    schema.release(&schema);
    return status;
}

static resmon_status export_arrow(void)
{
    struct ArrowArrayStream stream = patterned();
    resmon_status status = resmon_run_export_arrow(run, RESMON_SERIES_VALUE, &stream);
    if (status != RESMON_OK) {
        assert_clear(status, RESMON_ENOMEM);
        assert_true(is_patterned(&stream));
        return status;
    }
    status = take_stream(&stream);
    stream.release(&stream);
    return status;
}

static resmon_status parse(const void *data, size_t length)
{
    resmon_run *parsed = NULL;
    resmon_status status = resmon_run_parse(data, length, &parsed);
    assert_int_equal(parsed != NULL, status == RESMON_OK);
    if (status != RESMON_OK) {
        assert_int_equal(status, RESMON_ENOMEM);
        assert_true(resmon_last_error()[0] != '\0');
    }
    resmon_run_free(parsed);
    return status;
}

static resmon_status parse_recording(void)
{
    return parse(recording.data, recording.length);
}

static resmon_status parse_document(void)
{
    return parse(document.data, document.length);
}

static resmon_status print_document(void)
{
    char *text = NULL;
    resmon_status status = resmon_run_document(run, &text);
    assert_int_equal(text != NULL, status == RESMON_OK);
    if (status != RESMON_OK) {
        assert_clear(status, RESMON_ENOMEM);
    }
    resmon_text_free(text);
    return status;
}

static resmon_status write_page(void)
{
    char *text = NULL;
    const resmon_run *const runs[] = {run, run};
    resmon_status status = resmon_report_page(runs, 2, NULL, &text);
    assert_int_equal(text != NULL, status == RESMON_OK);
    if (status != RESMON_OK) {
        assert_int_equal(status, RESMON_ENOMEM);
    }
    resmon_text_free(text);
    return status;
}

/* ---- groups of runs ------------------------------------------------------------------------- */

static const char *form; /* in which comparisons are written */

/* ENOMEM, or all that was asked for. */
static resmon_status take_text(resmon_status status, char *text)
{
    assert_int_equal(text != NULL, status == RESMON_OK);
    if (status != RESMON_OK) {
        assert_int_equal(status, RESMON_ENOMEM);
    }
    resmon_text_free(text);
    return status;
}

static resmon_status make_bench(resmon_bench **ret_bench)
{
    resmon_bench *bench = NULL;
    resmon_status status = resmon_bench_new(&bench);
    for (int i = 0; i < 4 && status == RESMON_OK; i++) {
        status = resmon_bench_add(bench, i % 2 == 0 ? "one" : "other", run);
    }
    if (status != RESMON_OK) {
        assert_clear(status, RESMON_ENOMEM);
        resmon_bench_free(bench);
        bench = NULL;
    }
    *ret_bench = bench;
    return status;
}

static resmon_status write_bench(void)
{
    resmon_bench *bench = NULL;
    char *text = NULL;
    resmon_status status = make_bench(&bench);
    if (status == RESMON_OK) {
        status = resmon_bench_text(bench, form, &text);
        status = take_text(status, text);
    }
    resmon_bench_free(bench);
    return status;
}

static resmon_status write_diff(void)
{
    resmon_bench *bench = NULL;
    resmon_diff *diff = NULL;
    char *text = NULL;
    resmon_status status = make_bench(&bench);
    status = status == RESMON_OK ? resmon_diff_make(bench, 0, bench, 1, "wall>5%", &diff) : status;
    if (status == RESMON_OK) {
        status = resmon_diff_text(diff, form, 0, 1, &text);
        status = take_text(status, text);
    }
    resmon_diff_free(diff);
    resmon_bench_free(bench);
    return status;
}

static resmon_status write_trend(void)
{
    resmon_bench *bench = NULL;
    resmon_trend *trend = NULL;
    char *text = NULL;
    resmon_status status = make_bench(&bench);
    status = status == RESMON_OK ? resmon_trend_new(&trend) : status;
    for (int i = 0; i < 3 && status == RESMON_OK; i++) {
        status = resmon_trend_add(trend, "commit", bench);
    }
    if (status == RESMON_OK) {
        status = resmon_trend_text(trend, form, 0, &text);
        status = take_text(status, text);
    }
    resmon_trend_free(trend);
    resmon_bench_free(bench);
    return status;
}

/* ---- each failure --------------------------------------------------------------------------- */

static void fail_each(resmon_status (*act)(void), enum rm_fault_kind kind, int64_t least)
{
    const int64_t before = rm_fault_live(0);
    int64_t k = 0;
    for (bool has_fired = true; has_fired && k < MOST_K; k++) {
        rm_fault_arm(kind, k);
        resmon_status status = act();
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        assert_int_equal(status, has_fired ? RESMON_ENOMEM : RESMON_OK);
        assert_int_equal(rm_fault_live(0), before);
        assert_ok(act());
    }
    print_message("%lld failures\n", (long long)k - 1);
    assert_in_range(k - 1, least, MOST_K - 2);
}

/* Each failure of an act whose parts may say in their place that they found no memory. */
static void fail_softly(resmon_status (*act)(void), int64_t least)
{
    const int64_t before = rm_fault_live(0);
    int64_t k = 0, whole = 0;
    for (bool has_fired = true; has_fired && k < MOST_K; k++) {
        rm_fault_arm(RM_FAULT_ALLOC, k);
        whole += act() == RESMON_OK ? 1 : 0;
        has_fired = rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_int_equal(rm_fault_live(0), before);
    }
    assert_in_range(k, least, MOST_K - 1);
    assert_in_range(whole, 1, k / 2);
}

TEST(arrow)
{
    fail_each(export_arrow, RM_FAULT_ALLOC, 7);
}

/* Names, metadata and bitmaps that take many pieces of memory. */
TEST(arrow_of_many_columns)
{
    enum { COLUMNS = 300, ROWS = 1000 };
    resmon_run *narrow = run;
    struct resmon_run *wide = made_run("stopped", 0);
    assert_non_null(wide);
    wide->column_count = COLUMNS;
    wide->row_count = ROWS;
    wide->columns = rm_arena_alloc(&wide->strings, COLUMNS, sizeof *wide->columns);
    wide->t_first = wide->t_last = rm_arena_alloc(&wide->strings, ROWS, sizeof *wide->t_last);
    wide->row_samples = rm_arena_alloc(&wide->strings, ROWS, sizeof *wide->row_samples);
    wide->values = rm_arena_alloc(&wide->strings, (size_t)COLUMNS * ROWS * RM_SERIES_KINDS,
                                  sizeof *wide->values);
    for (size_t c = 0; c < COLUMNS; c++) {
        wide->columns[c] = narrow->columns[0];
        for (size_t row = c % 7; row < ROWS; row += 1 + c) {
            rm_run_series(wide, c, RESMON_SERIES_LAST)[row] = (double)NAN;
            rm_run_series(wide, c, RESMON_SERIES_MEAN)[row] = (double)NAN;
        }
    }
    run = wide;
    fail_each(export_arrow, RM_FAULT_ALLOC, 15);
    run = narrow;
    rm_run_free(wide);
}

TEST(recordings)
{
    fail_each(parse_recording, RM_FAULT_ALLOC, 2);
    fail_each(parse_recording, RM_FAULT_MAP, 1);
    rm_fault_arm(RM_FAULT_READ, 0); /* no file is read */
    assert_ok(parse_recording());
    assert_false(rm_fault_fired(RM_FAULT_READ));
    rm_fault_arm(RM_FAULT_READ, -1);
}

TEST(documents)
{
    if (document.data == NULL) {
        print_message("skipped: built without JSON\n");
        skip();
    }
    fail_each(parse_document, RM_FAULT_ALLOC, 2);
    fail_each(print_document, RM_FAULT_ALLOC, 2);
}

/* They may be left out of a build. */
static bool has_pages(void)
{
    char *text = NULL;
    const resmon_run *const runs[] = {run};
    resmon_status status = resmon_report_page(runs, 1, NULL, &text);
    resmon_text_free(text);
    return status != RESMON_ENOTSUP;
}

TEST(pages)
{
    if (!has_pages()) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    fail_softly(write_page, 20);
}

TEST(groups)
{
    static resmon_status (*const acts[])(void) = {write_bench, write_diff, write_trend};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        form = "json";
        fail_each(acts[i], RM_FAULT_ALLOC, 20);
        form = "text";
        fail_softly(acts[i], 20);
        form = "html";
        if (has_pages()) {
            fail_softly(acts[i], 20);
        }
    }
}

/* ---- the run of a job ----------------------------------------------------------------------- */

/* A merge refuses a process that comes twice, and its run stays the only one. */
static resmon_status merge_runs(void)
{
    resmon_merge *merge = NULL;
    resmon_run *merged = NULL;
    resmon_status status = resmon_merge_new(&merge);
    status = status == RESMON_OK ? resmon_merge_add(merge, run) : status;
    if (status == RESMON_OK && resmon_merge_add(merge, run) == RESMON_OK) {
        fail_msg("a process was taken twice");
    }
    status = status == RESMON_OK ? resmon_merge_run(merge, &merged) : status;
    if (status != RESMON_OK) {
        assert_clear(status, RESMON_ENOMEM);
    }
    resmon_merge_free(merge);
    resmon_run_free(merged);
    return status;
}

TEST(merging)
{
    fail_each(merge_runs, RM_FAULT_ALLOC, 20);
}

/* ---- the run that all of them work on ------------------------------------------------------- */

static int record(const char *path)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 1000,
                                            .rows = 4,
                                            .tags = 4,
                                            .scope_paths = 16,
                                            .scope_threads = 2,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .record = path};
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        return -1;
    }
    {
        RESMON_SCOPE("work");
    }
    resmon_status status = resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
    return status == RESMON_OK ? 0 : -1;
}

static int read_recording(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return -1;
    }
    recording.length = (size_t)ftell(file);
    rewind(file);
    recording.data = malloc(recording.length);
    bool is_read = recording.data != NULL &&
                   fread(recording.data, 1, recording.length, file) == recording.length;
    (void)fclose(file);
    return is_read ? 0 : -1;
}

FIXTURE(set_up)
{
    char path[] = "export-faults-XXXXXX";
    int fd = mkstemp(path);
    int result = fd >= 0 ? record(path) : -1;
    result = result == 0 ? read_recording(path) : result;
    (void)remove(path);
    run = made_run("stopped", 9);
    if (run != NULL && rm_json_check() == RESMON_OK &&
        resmon_run_document(run, &document.data) == RESMON_OK) {
        document.length = strlen(document.data);
    }
    return run != NULL ? result : -1;
}

FIXTURE(tear_down)
{
    free(recording.data);
    resmon_text_free(document.data);
    resmon_run_free(run);
    return 0;
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
