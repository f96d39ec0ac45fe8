/* SPDX-License-Identifier: MIT */
/*
 * format/document: a run saved and loaded is the same run, a failed save leaves the document that
 * was there, and no text whatever brings the reader down.
 */
#define _GNU_SOURCE /* mount */
#include "report_in_full.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comma_locale.h"
#include "format/document.h"
#include "format/json.h"
#include "made_table.h"
#include "random.h"
#include "run/record.h"
#include "run/run.h"

static resmon_run *original, *reloaded;

static void assert_same_content(const char *path_a, const char *path_b)
{
    size_t length_a, length_b;
    char *a = content_of(path_a, &length_a);
    char *b = content_of(path_b, &length_b);
    size_t shared = length_a < length_b ? length_a : length_b;
    for (size_t i = 0; i < shared; i++) {
        if (a[i] != b[i]) {
            size_t from = i > 60 ? i - 60 : 0;
            fail_msg("differ at byte %zu:\n%.120s\n%.120s", i, a + from, b + from);
        }
    }
    assert_int_equal(length_a, length_b);
    free(a);
    free(b);
}

/* ---- a run with something of everything ----------------------------------------------------- */

static void work(void)
{
    RESMON_SCOPE("train");
    for (int i = 0; i < 5; i++) {
        RESMON_SCOPE("epoch \"\\\xc3\xa9");
        for (int k = 0; k < i; k++) {
            RESMON_SCOPE("batch");
        }
    }
}

static resmon_run *recorded_run(void)
{
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    resmon_site *left_open = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .interval_ms = 1,
                                      .rows = 8,
                                      .tags = 4,
                                      .name = "a \"name\" \\ with \xe2\x82\xac and \x01",
                                      .scopes = RESMON_METER_ALL,
                                      .events = 12};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    work();
    assert_ok(resmon_site_intern("left open", &left_open));
    uint64_t open = resmon_scope_begin(left_open);
    for (int i = 0; i < 30; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
        assert_ok(resmon_monitor_tag(monitor, i % 2 == 0 ? "even \"\\\n" : "odd \xff"));
    }
    assert_ok(resmon_monitor_set_label(monitor, "epoch 3 / \xc3\xbc"));
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    resmon_monitor_free(monitor);
    resmon_scope_end(open);
    return run;
}

FIXTURE(set_up)
{
    original = recorded_run();
    resmon_status status = resmon_run_save(original, path_of("run.json"));
    if (rm_json_check() != RESMON_OK) {
        printf("skipped: %s\n", resmon_last_error());
        (void)fflush(stdout);
        (void)unlink(path_of("run.json"));
        _exit(77);
    }
    return status == RESMON_OK && resmon_run_load(path_of("run.json"), &reloaded) == RESMON_OK ? 0
                                                                                               : -1;
}

FIXTURE(tear_down)
{
    resmon_run_free(original);
    resmon_run_free(reloaded);
    (void)unlink(path_of("run.json"));
    (void)unlink(path_of("again.json"));
    (void)unlink(path_of("made.json"));
    return is_left_empty(state);
}

/* ---- there and back ------------------------------------------------------------------------- */

TEST(a_loaded_run_saves_the_same_bytes)
{
    assert_ok(resmon_run_save(reloaded, path_of("again.json")));
    assert_same_content(path_of("run.json"), path_of("again.json"));
}

/* Equal but for the last digits: whether those are kept is another test's matter. */
static void assert_close(double a, double b, const char *what)
{
    if (!(fabs(a - b) <= 1e-15 * fabs(a) || (isnan(a) && isnan(b)))) {
        fail_msg("%s: %.17g, loaded %.17g", what, a, b);
    }
}

/* Golden runs are compared as a whole (tests/golden); these have what is odd. */
TEST(odd_texts_and_what_was_dropped)
{
    resmon_run_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
    size_t open_scopes = 0, open_events = 0;
    assert_ok(resmon_run_get_info(original, &a));
    assert_ok(resmon_run_get_info(reloaded, &b));
    assert_string_equal(b.label, "epoch 3 / \xc3\xbc");
    assert_true(b.stride > 1 && a.stride == b.stride); /* it halved */
    assert_int_equal(b.dropped_tags, 26);
    assert_int_equal(b.dropped_events, 4); /* of 1 + 5 + 10 */
    assert_string_equal(resmon_run_fact(reloaded, "run", "name"),
                        "a \"name\" \\ with \xe2\x82\xac and ?");
    assert_int_equal(resmon_run_tag_count(reloaded), 4);
    for (size_t i = 0; i < 4; i++) {
        resmon_run_tag tag = {.struct_size = sizeof tag};
        resmon_run_scope scope = {.struct_size = sizeof scope};
        assert_ok(resmon_run_get_tag(reloaded, i, &tag));
        assert_string_equal(tag.label, i % 2 == 0 ? "even \"\\?" : "odd ?");
        assert_ok(resmon_run_get_scope(reloaded, i, &scope));
        open_scopes += scope.open;
    }
    for (size_t i = 0; i < resmon_run_event_count(reloaded); i++) {
        resmon_run_event event = {.struct_size = sizeof event};
        assert_ok(resmon_run_get_event(reloaded, i, &event));
        open_events += (size_t)event.is_open;
    }
    assert_true(open_scopes == 1 && open_events == 1);
    assert_int_equal(resmon_run_row_count(original), resmon_run_row_count(reloaded));
    for (size_t c = 0; c < resmon_run_column_count(original); c++) {
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            for (size_t i = 0; i < resmon_run_row_count(original); i++) {
                assert_close(resmon_run_series(original, c, kind)[i],
                             resmon_run_series(reloaded, c, kind)[i], original->columns[c].metric);
            }
        }
    }
}

/* 17 significant digits name a double; the reader must not lose the last one. */
TEST(numbers_load_back_exactly)
{
    enum { ROWS = 1000 };
    resmon_run *loaded = NULL;
    struct random random = {2024};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    made_table(run, 1, ROWS);
    run->columns[0] = (resmon_column){
        .metric = "m", .unit = "1", .instance = "", .source = "", .kind = RESMON_GAUGE, .level = 1};
    rm_record_clear(RM_RECORD_statistics, &run->columns[0]);
    for (size_t i = 0; i < ROWS; i++) {
        /* A year in nanoseconds: whole numbers of up to 55 bits. */
        run->t_first[i] = (int64_t)random_below(&random, UINT64_C(31557600000000000) >> 2);
        run->t_last[i] = run->t_first[i] + 1;
        run->row_samples[i] = random_below(&random, UINT64_C(1) << 53);
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            rm_run_series(run, 0, kind)[i] = kind == 3 && i % 7 == 0 ? NAN : random_unit(&random);
        }
    }
    assert_ok(resmon_run_save(run, path_of("made.json")));
    assert_ok(resmon_run_load(path_of("made.json"), &loaded));
    assert_int_equal(loaded->row_count, ROWS);
    size_t wrong_times = 0, wrong_values = 0;
    for (size_t i = 0; i < ROWS; i++) {
        wrong_times += run->t_first[i] != loaded->t_first[i] || run->t_last[i] != loaded->t_last[i];
        wrong_times += run->row_samples[i] != loaded->row_samples[i];
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            double a = rm_run_series(run, 0, kind)[i], b = rm_run_series(loaded, 0, kind)[i];
            wrong_values += !(a == b || (isnan(a) && isnan(b)));
        }
    }
    resmon_run_free(run);
    resmon_run_free(loaded);
    assert_int_equal(wrong_values, 0);
    assert_int_equal(wrong_times, 0);
}

TEST(a_decimal_comma_does_not_reach_the_document)
{
    resmon_run *loaded = NULL;
    enter_comma_locale();
    resmon_status saved = resmon_run_save(original, path_of("again.json"));
    resmon_status status = resmon_run_load(path_of("again.json"), &loaded);
    leave_comma_locale();
    resmon_run_free(loaded);
    assert_ok(saved);
    assert_ok(status);
    assert_same_content(path_of("run.json"), path_of("again.json"));
}

/* ---- saving that fails ---------------------------------------------------------------------- */

TEST(an_unwritable_directory_keeps_the_document)
{
    int status = 0;
    assert_int_equal(chmod(test_directory, 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* Root may write anywhere: become nobody. */
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(77);
        }
        resmon_status saved = resmon_run_save(reloaded, path_of("run.json"));
        _exit(saved == RESMON_EACCES && strstr(resmon_last_error(), test_directory) != NULL ? 0
                                                                                            : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(test_directory, 0755), 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: this root may not become nobody\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path_of("run.json"), &run));
    resmon_run_free(run);
    assert_status(RESMON_ENOENT, resmon_run_save(original, path_of("no/such/run.json")));
}

TEST(a_full_disk_keeps_the_document)
{
    size_t length = 0;
    const char *place = path_of("full");
    char document[160], filler[160];
    assert_int_equal(mkdir(place, 0755), 0);
    if (mount("tmpfs", place, "tmpfs", 0, "size=64k") != 0) {
        int error = errno;
        (void)rmdir(place);
        print_message("skipped: cannot mount a small tmpfs here: %s\n", strerror(error));
        skip();
    }
    (void)snprintf(document, sizeof document, "%s/run.json", place);
    (void)snprintf(filler, sizeof filler, "%s/filler", place);
    FILE *file = fopen(document, "w");
    FILE *rest = fopen(filler, "w");
    int wrote = file != NULL && fputs("the document of before", file) >= 0 && fclose(file) == 0;
    while (rest != NULL && fputs("fill the disk up to its end ", rest) >= 0 && fflush(rest) == 0) {
    }
    if (rest != NULL) {
        (void)fclose(rest);
    }
    resmon_status saved = resmon_run_save(original, document);
    char *text = content_of(document, &length);
    int is_kept = strcmp(text, "the document of before") == 0;
    free(text);
    int left = 0;
    DIR *dir = opendir(place);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        left += strstr(entry->d_name, ".tmp") != NULL ? 1 : 0;
    }
    (void)closedir(dir);
    (void)umount(place);
    (void)rmdir(place);
    assert_true(wrote);
    assert_int_equal(saved, RESMON_ENOSPC);
    assert_true(is_kept);
    assert_int_equal(left, 0);
}

TEST(saving_leaves_no_other_file)
{
    size_t before = count_files_in(test_directory);
    assert_ok(resmon_run_save(original, path_of("run.json")));
    assert_int_equal(count_files_in(test_directory), before);
    assert_true(resmon_run_save(original, test_directory) !=
                RESMON_OK); /* a directory is in the way */
    assert_int_equal(count_files_in(test_directory), before);
}

/* ---- garbage -------------------------------------------------------------------------------- */

/* Whatever comes out must bear being looked at. */
static void look_at(const resmon_run *run)
{
    char *text = NULL;
    double sum = 0.0;
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        for (int kind = 0; kind < 4 && resmon_run_row_count(run) > 0; kind++) {
            sum += resmon_run_series(run, c, kind)[resmon_run_row_count(run) - 1];
        }
    }
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = {.struct_size = sizeof scope};
        assert_ok(resmon_run_get_scope(run, i, &scope));
        assert_true(scope.parent < (int64_t)i && scope.name != NULL);
    }
    assert_ok(report_in_full(run, &text));
    resmon_text_free(text);
    assert_ok(resmon_run_save(run, path_of("made.json")));
    (void)sum;
}

static resmon_status parse(const char *text)
{
    resmon_run *run = NULL;
    /* At the very end of its memory, so that ASan sees a read past it. */
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    resmon_status status = rm_document_parse(copy, length, &run);
    free(copy);
    if (status == RESMON_OK) {
        look_at(run);
        resmon_run_free(run);
    } else {
        assert_null(run);
    }
    return status;
}

#define HEAD "{\"format\":\"resmon-run\",\"version\":1"

TEST(what_is_no_document_is_refused)
{
    static const struct {
        const char *text;
        resmon_status status;
    } cases[] = {
        {"", RESMON_EFORMAT},
        {"not JSON", RESMON_EFORMAT},
        {"{", RESMON_EFORMAT},
        {"[]", RESMON_EFORMAT},
        {"null", RESMON_EFORMAT},
        {"7", RESMON_EFORMAT},
        {"{}", RESMON_EFORMAT},
        {"{\"format\":\"other\",\"version\":1}", RESMON_EFORMAT},
        {"{\"format\":1,\"version\":1}", RESMON_EFORMAT},
        {"{\"format\":\"resmon-run\"}", RESMON_EVERSION},
        {"{\"format\":\"resmon-run\",\"version\":2}", RESMON_EVERSION},
        {"{\"format\":\"resmon-run\",\"version\":\"1\"}", RESMON_EVERSION},
        {HEAD, RESMON_EFORMAT},
        {HEAD "}", RESMON_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        resmon_status status = parse(cases[i].text);
        if (status != cases[i].status) {
            fail_msg("'%s': %s", cases[i].text, resmon_status_name(status));
        }
    }
}

TEST(members_of_wrong_types_are_as_good_as_missing)
{
    static const char *const keys[] = {"run",     "machine", "settings", "sources", "columns",
                                       "tags",    "scopes",  "summary",  "series",  "overhead",
                                       "dropped", "events",  "lines"};
    static const char *const values[] = {
        "null",
        "true",
        "\"text\"",
        "-1",
        "1e999",
        "[]",
        "{}",
        "[null]",
        "[1,2,3]",
        "[[[]]]",
        "[{}]",
        "{\"a\":{}}",
        "[\"\"]",
        "{\"columns\":[null,{}]}",
        "{\"columns\":{}}",
        "[{\"children\":7}]",
        "[{\"children\":[{}]}]",
        "{\"t_last_ns\":{}}",
        "{\"start\":\"not a time\"}",
    };
    char text[256];
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            (void)snprintf(text, sizeof text, HEAD ",\"%s\":%s}", keys[k], values[v]);
            assert_status(RESMON_OK, parse(text));
        }
    }
}

TEST(numbers_beyond_their_types_are_harmless)
{
    static const char *const members[] = {
        "\"run\":{\"duration_ns\":%s,\"samples\":%s,\"stride\":%s,\"halvings\":%s}",
        "\"tags\":[{\"t_ns\":%s,\"label\":%s}]",
        "\"sources\":[{\"reads\":%s,\"cost_ns\":%s,\"every\":%s,\"provenance\":%s}]",
        "\"scopes\":[{\"line\":%s,\"threads\":%s,\"calls\":%s,\"wall_ns\":%s,\"open\":%s}]",
        "\"lines\":[{\"file\":%s,\"line\":%s,\"hits\":%s,\"wall_ns\":%s,\"rss_hits\":%s,"
        "\"rss_bytes\":%s}]",
        "\"lines\":[{\"hits\":2,\"wall_ns\":%s,\"rss_hits\":2,\"rss_bytes\":%s}]",
        "\"overhead\":{\"scopes_ns\":%s,\"memory_bytes\":%s},\"dropped\":{\"rows\":%s}",
        "\"settings\":{\"a\":%s,\"b\":%s},\"machine\":{\"cpus\":%s}",
        "\"columns\":[{\"kind\":%s,\"level\":%s}],\"summary\":{\"columns\":[{\"n\":1,\"min\":%s,"
        "\"over_s\":[%s,%s]}]}",
        "\"columns\":[{}],\"series\":{\"t_first_ns\":[%s],\"t_last_ns\":[%s],\"samples\":[%s],"
        "\"columns\":[{\"last\":[%s],\"min\":[%s],\"max\":[1],\"mean\":[1]}]}",
    };
    static const char *const numbers[] = {"1e308",      "-1e308",  "1e999",   "-1e999",
                                          "9.3e18",     "-9.3e18", "1.85e19", "-0.5",
                                          "4294967296", "1e-320",  "null"};
    char text[512], format[400];
    for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            size_t length = 0;
            (void)snprintf(format, sizeof format, HEAD ",%s}", members[m]);
            for (const char *p = format; *p != '\0'; p++) {
                int is_place = p[0] == '%' && p[1] == 's';
                length += (size_t)snprintf(text + length, sizeof text - length, "%.*s",
                                           is_place ? 99 : 1, is_place ? numbers[i] : p);
                p += is_place ? 1 : 0;
            }
            resmon_status status = parse(text);
            if (status != RESMON_OK) {
                fail_msg("%s: %s", text, resmon_last_error());
            }
        }
    }
}

/* Whatever the order of keys is; and what is missing is not known, and never 0 or OK. */
TEST(missing_members_and_ends_of_intervals)
{
    static const char text[] = HEAD
        ",\"sources\":[{\"name\":\"a\"}],\"counters\":[{\"name\":\"c\"},{\"name\":\"d\"}],"
        "\"scopes\":[{\"name\":\"s\",\"calls\":9,\"cpu_calls\":3,\"cpu_ns_low\":1,\"cpu_ns\":2,"
        "\"cpu_ns_high\":null,\"counters_calls\":3,\"counters_high\":[7],"
        "\"counters\":[5],\"children\":[]},{\"name\":\"t\",\"calls\":9,\"cpu_calls\":3,"
        "\"cpu_ns\":2,\"counters_calls\":3,\"counters_low\":[7],\"children\":[]}]}";
    resmon_run *run = NULL;
    assert_ok(resmon_run_parse(text, strlen(text), &run));
    resmon_run_source source = {.struct_size = sizeof source};
    assert_ok(resmon_run_get_source(run, 0, &source));
    assert_int_equal(source.status, RESMON_EFORMAT);
    assert_int_equal(run->scope_count, 2);
    const resmon_run_scope *scope = &run->scopes[0];
    assert_true(scope->cpu_ns.value == 2.0 && scope->cpu_ns.low == 1.0 &&
                isnan(scope->cpu_ns.high));
    assert_true(scope->counters[0].value == 5.0 && scope->counters[0].low == 5.0 &&
                scope->counters[0].high == 7.0);
    assert_true(isnan(scope->counters[1].value) && isnan(scope->counters[1].high));
    scope = &run->scopes[1];
    assert_true(scope->cpu_ns.low == 2.0 && scope->cpu_ns.high == 2.0);
    assert_true(isnan(scope->counters[0].value) && scope->counters[0].low == 7.0);
    run->info.start_realtime_ns = -1500000000;
    char *written = NULL;
    assert_ok(resmon_run_document(run, &written));
    assert_non_null(strstr(written, "\"start\":\"1970-01-01T00:00:00.000000000Z\""));
    resmon_text_free(written);
    resmon_run_free(run);
}

TEST(dates_that_do_not_exist_are_harmless)
{
    static const char *const dates[] = {
        "2261-255-01T00:00:00.000000000Z",   "2261-12-255T255:255:255.999999999Z",
        "1970-00-00T00:00:00.000000000Z",    "2024-02-30T25:61:61.0Z",
        "99999999999999999999-1-1T0:0:0.0Z", "2262-04-12T00:00:00.000000000Z",
        "1969-12-31T23:59:59.000000000Z",
    };
    char text[160];
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        (void)snprintf(text, sizeof text, HEAD ",\"run\":{\"start\":\"%s\"}}", dates[i]);
        assert_status(RESMON_OK, parse(text));
    }
}

TEST(arrays_of_wrong_lengths_are_refused)
{
    static const char *const series[] = {
        /* fewer and more columns than there are */
        "{\"t_last_ns\":[1,2],\"columns\":[]}",
        "{\"t_last_ns\":[1,2],\"columns\":[{},{}]}",
        /* a column without its numbers, or with one too few or too many */
        "{\"t_last_ns\":[1,2],\"columns\":[{}]}",
        "{\"t_last_ns\":[1,2],\"columns\":[{\"last\":[1],\"min\":[1,2],\"max\":[1,2],\"mean\":[1,"
        "2]}]}",
        "{\"t_last_ns\":[1,2],\"columns\":[{\"last\":[1,2],\"min\":[1,2],\"max\":[1,2],\"mean\":[1,"
        "2,3]}]}",
    };
    char text[512];
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
        (void)snprintf(text, sizeof text, HEAD ",\"columns\":[{}],\"series\":%s}", series[i]);
        assert_status(RESMON_EFORMAT, parse(text));
    }
    /* Times beside the rows' number are cut or filled up. */
    assert_status(RESMON_OK,
                  parse(HEAD ",\"columns\":[],\"series\":{\"t_first_ns\":[1],\"t_last_ns\":[1,2],"
                             "\"samples\":[1,2,3]}}"));
}

/* ---- what other programs leave out ----------------------------------------------------------- */

#define FOREIGN(columns, series) HEAD ",\"columns\":[" columns "],\"series\":{" series "}}"

static resmon_run *parsed(const char *text)
{
    resmon_run *run = NULL;
    assert_ok(resmon_run_parse(text, strlen(text), &run));
    return run;
}

static resmon_column column_of(const resmon_run *run, size_t index)
{
    resmon_column column = {.struct_size = sizeof column};
    assert_ok(resmon_run_get_column(run, index, &column));
    return column;
}

/* Levels stand for the time since the reading before, the first for that since the start. */
TEST(statistics_of_readings_alone)
{
    resmon_run *run = parsed(FOREIGN("{\"metric\":\"a\",\"kind\":\"gauge\"}",
                                     "\"t_last_ns\":[1000000000,3000000000,4000000000,6000000000],"
                                     "\"columns\":[{\"last\":[10,40,null,90]}]"));
    resmon_column column = column_of(run, 0);
    assert_int_equal(column.n, 3);
    assert_true(column.first == 10.0 && column.last == 90.0);
    assert_true(column.min == 10.0 && column.max == 90.0);
    assert_true(column.integral == 10.0 + 2 * 40.0 + 3 * 90.0 && column.duration_s == 6.0);
    assert_true(column.mean == column.integral / 6.0);
    assert_true(column.p50 == 40.0 && column.p95 == 90.0);
    assert_true(column.over_s[0] == 5.0 && column.over_s[1] == 5.0 && column.over_s[2] == 3.0 &&
                column.over_s[3] == 0.0);
    for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
        const double *series = resmon_run_series(run, 0, kind);
        assert_true(series[0] == 10.0 && series[1] == 40.0 && isnan(series[2]) &&
                    series[3] == 90.0);
    }
    assert_int_equal(run->t_first[1], run->t_last[1]);
    assert_int_equal(run->row_samples[3], 1);
    resmon_run_free(run);
}

/* A counter that fell was reset: nothing is known of the gap, nor made up. */
TEST(rates_of_readings_alone)
{
    resmon_run *run = parsed(FOREIGN("{\"metric\":\"a\",\"kind\":\"counter\"},"
                                     "{\"metric\":\"b\",\"kind\":\"counter\"}",
                                     "\"t_last_ns\":[2000000000,3000000000,5000000000,6000000000],"
                                     "\"columns\":[{\"last\":[0,50,7,8]},{\"last\":[8,8,10,14]}]"));
    resmon_column column = column_of(run, 0);
    assert_int_equal(column.resets, 1);
    assert_true(column.first == 0.0 && column.last == 51.0 && column.integral == 51.0);
    assert_true(column.min == 1.0 && column.max == 50.0 && column.duration_s == 2.0);
    const double *last = resmon_run_series(run, 0, RESMON_SERIES_LAST);
    const double *mean = resmon_run_series(run, 0, RESMON_SERIES_MEAN);
    assert_true(last[1] == 50.0 && last[2] == 50.0 && last[3] == 51.0);
    assert_true(isnan(mean[0]) && mean[1] == 50.0 && isnan(mean[2]) && mean[3] == 1.0);
    column = column_of(run, 1); /* has counted since the start */
    assert_true(column.first == 8.0 && column.integral == 14.0 && column.duration_s == 6.0);
    assert_true(column.mean == 14.0 / 6.0 && column.max == 4.0);
    resmon_run_free(run);
}

/* Of rows that stand for several samples, extremes are exact. */
TEST(statistics_of_rows)
{
    const char *const series = "\"t_last_ns\":[2000000000,4000000000],\"columns\":[{"
                               "\"last\":[3,5],\"min\":[1,2],\"max\":[9,6],\"mean\":[4,5]}]";
    char text[512];
    static const char *const summaries[] = {"",
                                            "\"summary\":{\"columns\":[{\"n\":7,\"max\":99}]},"};
    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       HEAD ",\"columns\":[{\"metric\":\"a\"}],%s\"series\":{%s}}", summaries[i],
                       series);
        resmon_run *run = parsed(text);
        resmon_column column = column_of(run, 0);
        assert_int_equal(column.n, i == 0 ? 2 : 7);
        assert_true(column.max == (i == 0 ? 9.0 : 99.0));
        assert_true(i == 1 || (column.min == 1.0 && column.last == 5.0 && column.mean == 4.5));
        assert_true(resmon_run_series(run, 0, RESMON_SERIES_MEAN)[1] == 5.0);
        resmon_run_free(run);
    }
}

/* The library's own statistics are of every sample; those of its rows are close to them. */
TEST(a_document_without_its_summary)
{
    size_t length = 0;
    char *text = content_of(path_of("run.json"), &length);
    char *key = strstr(text, "\"summary\":{\"columns\":");
    assert_non_null(key);
    memcpy(key, "\"nothing\"", strlen("\"nothing\""));
    resmon_run *run = parsed(text);
    size_t read = 0;
    for (size_t c = 0; c < original->column_count; c++) {
        const resmon_column *a = &original->columns[c];
        const resmon_column *b = &run->columns[c];
        assert_int_equal(a->n > 0, b->n > 0);
        if (a->n == 0) {
            continue;
        }
        read++;
        assert_close(a->last, b->last, a->metric);
        assert_close(a->min, b->min, a->metric);
        assert_close(a->max, b->max, a->metric);
        if (a->kind == RESMON_COUNTER && a->resets == 0) {
            assert_true(fabs(a->integral - b->integral) <= 1e-9 * fabs(a->integral));
        }
    }
    assert_true(read > 20);
    resmon_run_free(run);
    free(text);
}

TEST(hostile_readings_are_harmless)
{
    static const char *const readings[] = {"1e308,-1e308,1e308", "-5,1e999,3", "null,null,null",
                                           "\"x\",[],{}", "5e-324,0,-0.0"};
    static const char *const times[] = {"3,2,1", "0,0,0", "9.3e18,-1,null", "1,9e18,2"};
    static const char *const kinds[] = {"gauge", "counter", "none"};
    char text[512];
    for (size_t i = 0; i < RM_ARRAY_LEN(readings) * RM_ARRAY_LEN(times) * RM_ARRAY_LEN(kinds);
         i++) {
        (void)snprintf(text, sizeof text,
                       HEAD ",\"columns\":[{\"kind\":\"%s\"}],\"series\":{\"t_last_ns\":[%s],"
                            "\"columns\":[{\"last\":[%s]}]}}",
                       kinds[i % 3], times[i / 3 % RM_ARRAY_LEN(times)],
                       readings[i / 3 / RM_ARRAY_LEN(times)]);
        assert_ok(parse(text));
    }
}

static char *repeated(const char *head, const char *part, size_t times, const char *middle,
                      const char *tail_part, const char *tail)
{
    size_t bytes = strlen(head) + strlen(middle) + strlen(tail) +
                   times * (strlen(part) + strlen(tail_part)) + 1;
    char *text = malloc(bytes);
    assert_non_null(text);
    char *at = stpcpy(text, head);
    for (size_t i = 0; i < times; i++) {
        at = stpcpy(at, part);
    }
    at = stpcpy(at, middle);
    for (size_t i = 0; i < times; i++) {
        at = stpcpy(at, tail_part);
    }
    (void)stpcpy(at, tail);
    return text;
}

/* Each entry of a table of events is asked for: an index must be right. */
TEST(events_that_cannot_be_are_refused)
{
    static const char *const good[] = {"[{\"id\":1,\"name\":\"t\"}]",
                                       "[\"a\"]",
                                       "[0,0]",
                                       "[0,0]",
                                       "[20,10]",
                                       "[3,0]",
                                       "[0,255]",
                                       "[1,0]"};
    static const char *const bad[][8] = {
        {"[]"},
        {NULL, "[]"},
        {NULL, NULL, "[0,1]"},
        {NULL, NULL, "[0,-1]"},
        {NULL, NULL, "[0]"},
        {NULL, NULL, "[0,\"a\"]"},
        {NULL, NULL, NULL, "[1,0]"},
        {NULL, NULL, NULL, "[0.5,0]"},
        {NULL, NULL, NULL, "{}"},
        {NULL, NULL, NULL, NULL, "[-1,0]"},
        {NULL, NULL, NULL, NULL, "[1e17,0]"},
        {NULL, NULL, NULL, NULL, NULL, "[null,0]"},
        {NULL, NULL, NULL, NULL, NULL, "[1,2,3]"},
        {NULL, NULL, NULL, NULL, NULL, NULL, "[256,0]"},
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "[2,0]"},
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "null"},
    };
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        const char *use[8];
        char text[512];
        resmon_run *run = NULL;
        for (size_t k = 0; k < 8; k++) {
            use[k] = i > 0 && bad[i - 1][k] != NULL ? bad[i - 1][k] : good[k];
        }
        (void)snprintf(text, sizeof text,
                       HEAD ",\"events\":{\"threads\":%s,\"names\":%s,\"name\":%s,\"thread\":%s,"
                            "\"start_ns\":%s,\"duration_ns\":%s,\"depth\":%s,\"open\":%s}}",
                       use[0], use[1], use[2], use[3], use[4], use[5], use[6], use[7]);
        assert_status(i == 0 ? RESMON_OK : RESMON_EFORMAT,
                      rm_document_parse(text, strlen(text), &run));
        assert_true(i > 0 || run->events[0].start_ns == 10); /* put in order */
        rm_run_free(run);
    }
}

TEST(scopes_nested_too_deep_are_cut_or_refused)
{
    static const struct {
        size_t levels;
        resmon_status status;
        size_t kept;
    } cases[] = {{255, RESMON_OK, 255},
                 {256, RESMON_OK, 256},
                 {400, RESMON_OK, 256},
                 {600, RESMON_EFORMAT, 0},
                 {100000, RESMON_EFORMAT, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        resmon_run *run = NULL;
        char *text =
            repeated(HEAD ",\"scopes\":", "[{\"name\":\"x\",\"children\":", cases[i].levels, "[]",
                     "}]", "}");
        assert_status(cases[i].status, rm_document_parse(text, strlen(text), &run));
        if (run != NULL) {
            /* The cut itself may fall on either side of the last level. */
            size_t spare = cases[i].levels > 256 ? 1 : 0;
            assert_in_range(run->scope_count, cases[i].kept, cases[i].kept + spare);
            look_at(run);
        }
        resmon_run_free(run);
        free(text);
    }
}

/* Columns times rows must not be asked of the memory before the numbers were seen to be there. */
TEST(a_claimed_table_costs_no_memory)
{
    enum { COUNT = 100000 };
    char *columns = repeated("", "{},", COUNT - 1, "{}", "", "");
    char *rows = repeated("", "0,", COUNT - 1, "0", "", "");
    size_t bytes = 2 * strlen(columns) + strlen(rows) + 200;
    char *text = malloc(bytes);
    assert_non_null(text);
    (void)snprintf(text, bytes,
                   HEAD ",\"columns\":[%s],\"series\":{\"t_last_ns\":[%s],\"columns\":[%s]}}",
                   columns, rows, columns);
    resmon_run *run = NULL;
    resmon_status status = rm_document_parse(text, strlen(text), &run);
    resmon_run_free(run);
    free(columns);
    free(rows);
    free(text);
    assert_status(RESMON_EFORMAT, status);
}

TEST(damaged_documents_never_crash)
{
    size_t length = 0;
    size_t loaded = 0;
    struct random random = {5};
    char *text = content_of(path_of("run.json"), &length);
    for (int i = 0; i < 300; i++) {
        char *damaged = malloc(length);
        assert_non_null(damaged);
        memcpy(damaged, text, length);
        size_t cut = i % 3 == 0 ? random_below(&random, length) : length;
        for (int k = 0; k < 1 + i % 4 && i % 3 != 0; k++) {
            static const char marks[] = "0-9e.,:{}[]\"\\ntf\xff";
            damaged[random_below(&random, length)] = marks[random_below(&random, sizeof marks)];
        }
        resmon_run *run = NULL;
        if (rm_document_parse(damaged, cut, &run) == RESMON_OK) {
            look_at(run);
            loaded++;
        }
        resmon_run_free(run);
        free(damaged);
    }
    assert_true(loaded > 5); /* some damage is only in a number or a name */
    free(text);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
