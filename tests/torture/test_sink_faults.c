/* SPDX-License-Identifier: MIT */
/*
 * The k-th allocation, open, read, write or exchange failing while results go to MLflow and
 * into files, for k = 0, 1, 2, ... until none fails.  Whatever fails says so and
 * leaves nothing behind, and no result is lost: it is on the server, or in a file from which it can
 * still be sent, or the text says that it is neither.
 */
#define _GNU_SOURCE /* dirent types */
#include "test.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "export/trace.h"
#include "format/csv.h"
#include "format/json.h"
#include "metric/metric.h"
#include "net/http.h"
#include "run/record.h"
#include "sink/sinks.h"
#include "tiny_server.h"
#include "unit/made_run.h"

#define MOST_K    3000
#define MOST_SENT 4000

static bool has_mlflow;

static const enum rm_fault_kind kinds[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_READ,
                                           RM_FAULT_WRITE, RM_FAULT_NET};
static const char *const kind_names[] = {"allocation", "open", "read", "write", "exchange"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Names in the test_directory that contain `part`; removes them if so wanted. */
static int count_files(const char *part, bool removes, char *ret_path)
{
    int count = 0;
    DIR *dir = opendir(test_directory);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL) {
            count++;
            if (ret_path != NULL) {
                (void)snprintf(ret_path, 128, "%.63s/%.60s", test_directory, entry->d_name);
            }
            if (removes) {
                (void)unlinkat(dirfd(dir), entry->d_name, 0);
            }
        }
    }
    (void)closedir(dir);
    return count;
}

static void assert_clear(resmon_status status, enum rm_fault_kind kind)
{
    const char *text = resmon_last_error();
    assert_string_not_equal(resmon_status_name(status), "RESMON_UNKNOWN");
    if (text[0] == '\0' || strstr(text, "Success") != NULL) {
        fail_msg("%s: '%s'", resmon_status_name(status), text);
    }
    if (!rm_fault_fired(kind)) {
        fail_msg("%s without a fault: %s", resmon_status_name(status), text);
    }
}

/* ---- a server that takes results ------------------------------------------------------------ */

static struct {
    struct tiny_server server;
    bool is_made, is_down;
    size_t creates, batches, artifacts, updates;
    size_t breaks_after;   /* so many batches, and is down then */
    char *sent[MOST_SENT]; /* each point as it came */
    size_t sent_count;
} far;

#define RUN "\"info\":{\"run_id\":\"r1\",\"artifact_uri\":\"mlflow-artifacts:/0/a\"}"

static void keep_points(const char *body)
{
    for (const char *at = strstr(body, "{\"key\":\""); at != NULL;
         at = strstr(at + 1, "{\"key\":\"")) {
        size_t length = strcspn(at, "}");
        if (far.sent_count < MOST_SENT) {
            far.sent[far.sent_count++] = strndup(at, length);
        }
    }
}

static void take(const struct tiny_request *request, struct tiny_answer *answer)
{
    if (strstr(request->text, "/runs/search ") != NULL) {
        answer->body = far.is_made ? "{\"runs\":[{" RUN "}]}" : "{}";
    } else if (strstr(request->text, "/runs/create ") != NULL) {
        far.is_made = true;
        far.creates++;
        answer->body = "{\"run\":{" RUN "}}";
    } else if (strstr(request->text, "/runs/get?") != NULL) {
        answer->body = "{\"run\":{" RUN "}}";
    } else if (strstr(request->text, "/runs/log-batch ") != NULL) {
        far.batches++;
        keep_points(request->body);
    } else if (strncmp(request->text, "PUT ", 4) == 0) {
        far.artifacts += request->length > 100 ? 1 : 0;
    } else if (strstr(request->text, "/runs/update ") != NULL) {
        far.updates++;
    } else {
        answer->code = 400;
    }
}

static void answer(void *context, const struct tiny_request *request, struct tiny_answer *answer)
{
    (void)context;
    if (far.is_down || far.batches > far.breaks_after) {
        answer->code = 503;
    } else {
        take(request, answer);
    }
}

static void forget(size_t breaks_after, bool is_down)
{
    (void)pthread_mutex_lock(&far.server.lock);
    for (size_t i = 0; i < far.sent_count; i++) {
        free(far.sent[i]);
    }
    far.sent_count = 0;
    far.is_made = false;
    far.is_down = is_down;
    far.creates = far.batches = far.artifacts = far.updates = 0;
    far.breaks_after = breaks_after;
    (void)pthread_mutex_unlock(&far.server.lock);
}

static void mend(void)
{
    (void)pthread_mutex_lock(&far.server.lock);
    far.is_down = false;
    far.breaks_after = SIZE_MAX;
    (void)pthread_mutex_unlock(&far.server.lock);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* How many different points are there. */
static size_t count_sent(void)
{
    size_t count = 0;
    qsort(far.sent, far.sent_count, sizeof *far.sent, compare_texts);
    for (size_t i = 0; i < far.sent_count; i++) {
        count += i == 0 || strcmp(far.sent[i], far.sent[i - 1]) != 0 ? 1 : 0;
    }
    return count;
}

/* ---- a run ---------------------------------------------------------------------------------- */

#define ROWS 40

static struct resmon_run *run_of(size_t rows)
{
    static const char *const metrics[] = {"node.cpu.percent", "node.mem.used", "tree.mem.rss",
                                          "tree.threads"};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = MADE_START_NS;
    run->info.duration_ns = INT64_C(3000000001);
    run->info.samples = rows;
    made_facts(run);
    run->column_count = 4;
    run->row_count = rows;
    run->columns = rm_arena_alloc(&run->strings, 4, sizeof *run->columns);
    run->t_first = rm_arena_alloc(&run->strings, rows, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, rows, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, rows, sizeof *run->row_samples);
    run->values = rm_arena_alloc(&run->strings, rows * 4 * RM_SERIES_KINDS, sizeof *run->values);
    for (size_t c = 0; c < 4; c++) {
        run->columns[c] = (resmon_column){.metric = rm_metric_own_text(metrics[c]),
                                          .unit = "1",
                                          .instance = "",
                                          .source = "",
                                          .kind = RESMON_GAUGE};
        rm_record_clear(RM_RECORD_statistics, &run->columns[c]);
        for (size_t r = 0; r < rows; r++) {
            run->t_first[r] = run->t_last[r] = (int64_t)r * 1000000;
            run->row_samples[r] = 1;
            for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
                rm_run_series(run, c, kind)[r] = (double)(r * 10 + c) + 0.5;
            }
        }
    }
    made_scopes(run, 30);
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].name = rm_arena_text(&run->strings, run->scopes[i].name, SIZE_MAX);
    }
    return run;
}

/* As it comes back from a document, which does not keep all that a made run may claim. */
static struct resmon_run *as_document(struct resmon_run *made)
{
    char *text = NULL;
    struct resmon_run *run = NULL;
    assert_ok(resmon_run_document(made, &text));
    assert_ok(resmon_run_parse(text, strlen(text), &run));
    resmon_text_free(text);
    rm_run_free(made);
    return run;
}

/* ---- to MLflow ------------------------------------------------------------------------------ */

static char spool_pattern[96];

static resmon_mlflow_options options_now(void)
{
    return (resmon_mlflow_options){.struct_size = sizeof(resmon_mlflow_options),
                                   .flags = RESMON_MLFLOW_SERIES,
                                   .tracking_uri = far.server.url,
                                   .spool = spool_pattern,
                                   .batch_metrics = 60};
}

static struct resmon_run *whole_run, *early_run;
static bool was_made; /* the sink: else nothing was promised, and nothing asked */
static resmon_status (*deliver_again)(void); /* what a push left; NULL: a document has it */

static resmon_status push(void)
{
    resmon_mlflow_options options = options_now();
    return resmon_run_push_mlflow(whole_run, &options);
}

/* As a monitor calls it; what a start or a snapshot could not do, the stop does. */
static resmon_status live_as_sink(void)
{
    struct rm_sink sink = {0};
    resmon_mlflow_options options = options_now();
    resmon_status status = rm_sink_make(rm_sink_kind_find("mlflow"), &options, &sink);
    was_made = status == RESMON_OK;
    if (status == RESMON_OK) {
        status = sink.ops.start(sink.context, whole_run);
        if (status == RESMON_OK) {
            (void)sink.ops.snapshot(sink.context, early_run);
            (void)sink.ops.snapshot(sink.context, whole_run);
            status = sink.ops.stop(sink.context, whole_run);
        }
        sink.ops.close(sink.context);
    }
    return status;
}

/* Sends the document that waits, now that nothing fails. */
static int push_kept(void)
{
    char path[128];
    int count = 0;
    for (; count_files("unsent", false, path) > 0 && count < 10; count++) {
        resmon_run *run = NULL;
        resmon_mlflow_options options = options_now();
        assert_ok(resmon_run_load(path, &run));
        if (resmon_run_push_mlflow(run, &options) != RESMON_OK) {
            fail_msg("%s cannot be sent: %s", path, resmon_last_error());
        }
        resmon_run_free(run);
        assert_int_equal(unlink(path), 0);
    }
    return count;
}

static size_t points_of_all;

static void check_delivery(resmon_status status, const char *text, const char *what)
{
    bool is_whole = status == RESMON_OK;
    assert_int_equal(count_files(".tmp", true, NULL), 0);
    mend();
    int files = push_kept();
    assert_true(!is_whole || files == 0);
    if (!is_whole && deliver_again != NULL) {
        assert_ok(deliver_again());
    }
    if (count_sent() == points_of_all && far.artifacts > 0 && far.updates > 0) {
        assert_true(far.creates <= 1);
        return;
    }
    if (!was_made && !is_whole) {
        assert_int_equal(far.sent_count, 0);
        return;
    }
    if (is_whole || strstr(text, "could not be kept") == NULL) {
        fail_msg("%s: %zu of %zu points, %zu documents, %zu ends, and the text is: %s", what,
                 count_sent(), points_of_all, far.artifacts, far.updates, text);
    }
}

static int64_t fail_delivery(resmon_status (*deliver)(void), size_t which, size_t breaks_after,
                             bool is_down, const char *what)
{
    int64_t live = rm_fault_live(0);
    bool has_fired = true;
    int64_t k = 0;
    for (; has_fired && k < MOST_K; k++) {
        char text[600], name[160];
        forget(breaks_after, is_down);
        rm_fault_arm(kinds[which], k);
        resmon_status status = deliver();
        has_fired = rm_fault_fired(kinds[which]);
        if (status != RESMON_OK && !is_down && breaks_after == SIZE_MAX) {
            assert_clear(status, kinds[which]);
        }
        rm_fault_arm(kinds[which], -1);
        (void)snprintf(text, sizeof text, "%s", resmon_last_error());
        (void)snprintf(name, sizeof name, "%s, %s %lld", what, kind_names[which], (long long)k);
        check_delivery(status, text, name);
        if (rm_fault_live(0) != live) {
            fail_msg("%s: %lld allocations are left", name, (long long)(rm_fault_live(0) - live));
        }
    }
    assert_false(has_fired);
    return k - 1;
}

static void fail_all_deliveries(resmon_status (*deliver)(void), const char *what)
{
    static const struct {
        const char *what;
        size_t breaks_after;
        bool is_down;
    } servers[] = {{"a server that works", SIZE_MAX, false},
                   {"one that breaks down", 2, false},
                   {"one that is down", SIZE_MAX, true}};
    for (size_t s = 0; s < 3; s++) {
        for (size_t i = 0; i < KINDS; i++) {
            char name[100];
            (void)snprintf(name, sizeof name, "%s to %s", what, servers[s].what);
            int64_t faults =
                fail_delivery(deliver, i, servers[s].breaks_after, servers[s].is_down, name);
            print_message("%s: %lld times %s\n", name, (long long)faults, kind_names[i]);
        }
    }
}

TEST(pushes)
{
    if (!has_mlflow) {
        skip();
    }
    deliver_again = push;
    fail_all_deliveries(push, "a push");
    deliver_again = NULL;
}

TEST(sinks_of_mlflow)
{
    if (!has_mlflow) {
        skip();
    }
    fail_all_deliveries(live_as_sink, "a sink");
}

/* With retries, one failure of the net is none. */
TEST(one_failure_of_the_net_is_mended)
{
    if (!has_mlflow) {
        skip();
    }
    assert_int_equal(setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1", 1), 0);
    bool has_fired = true;
    for (int64_t k = 0; has_fired; k++) {
        forget(SIZE_MAX, false);
        rm_fault_arm(RM_FAULT_NET, k);
        assert_ok(push());
        has_fired = rm_fault_fired(RM_FAULT_NET);
        rm_fault_arm(RM_FAULT_NET, -1);
        check_delivery(RESMON_OK, "", "with retries");
    }
    assert_int_equal(setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0", 1), 0);
}

/* ---- into files ----------------------------------------------------------------------------- */

static struct resmon_run *file_run;

/* One that saves a whole file: what is there is that file, or what was there before. */
struct saver {
    const char *name;
    resmon_status (*make)(const char *path, struct rm_sink *sink);
};

static resmon_status make_json(const char *path, struct rm_sink *sink)
{
    const resmon_json_options options = {.struct_size = sizeof options, .path = path};
    return rm_sink_make(rm_sink_kind_find("json"), &options, sink);
}

static resmon_status make_trace(const char *path, struct rm_sink *sink)
{
    const resmon_trace_options options = {
        .struct_size = sizeof options, .path = path, .interval_ms = 1};
    return rm_sink_make(rm_sink_kind_find("trace"), &options, sink);
}

static resmon_status make_whole_csv(const char *path, struct rm_sink *sink)
{
    const resmon_csv_options options = {
        .struct_size = sizeof options, .path = path, .flags = RESMON_CSV_WHOLE_RUN};
    return rm_sink_make(rm_sink_kind_find("csv"), &options, sink);
}

static const struct saver savers[] = {
    {"json", make_json}, {"trace", make_trace}, {"csv of a whole run", make_whole_csv}};

static resmon_status save_with(const struct saver *saver, const char *path)
{
    struct rm_sink sink = {0};
    resmon_status status = saver->make(path, &sink);
    if (status != RESMON_OK) {
        return status;
    }
    if (sink.ops.start != NULL) {
        status = sink.ops.start(sink.context, file_run);
    }
    status = status == RESMON_OK ? sink.ops.stop(sink.context, file_run) : status;
    sink.ops.close(sink.context);
    return status;
}

static void fail_saver(const struct saver *saver, enum rm_fault_kind kind)
{
    const char *path = path_of("saved.file");
    int64_t live = rm_fault_live(0);
    bool has_fired = true;
    assert_ok(save_with(saver, path));
    char *good = content_of(path, NULL);
    assert_non_null(good);
    for (int64_t k = 0; has_fired && k < MOST_K; k++) {
        FILE *file = fopen(path, "w");
        assert_true(file != NULL && fputs("before", file) >= 0 && fclose(file) == 0);
        rm_fault_arm(kind, k);
        resmon_status status = save_with(saver, path);
        has_fired = rm_fault_fired(kind);
        if (status != RESMON_OK) {
            assert_clear(status, kind);
        }
        rm_fault_arm(kind, -1);
        char *text = content_of(path, NULL);
        assert_non_null(text);
        if (strcmp(text, good) != 0 && (status == RESMON_OK || strcmp(text, "before") != 0)) {
            fail_msg("%s, fault %lld: neither whole nor as before: %.200s", saver->name,
                     (long long)k, text);
        }
        free(text);
        assert_int_equal(count_files(".tmp", true, NULL), 0);
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_false(has_fired);
    free(good);
    (void)count_files("saved", true, NULL);
}

TEST(savers)
{
    static const enum rm_fault_kind each[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    for (size_t i = 0; i < sizeof savers / sizeof *savers; i++) {
        if (i == 0 && rm_json_check() != RESMON_OK) {
            print_message("skipped here: run documents: %s\n", resmon_last_error());
            continue;
        }
        for (size_t k = 0; k < 3; k++) {
            fail_saver(&savers[i], each[k]);
        }
    }
}

/* ---- CSV line by line ----------------------------------------------------------------------- */

#define LINES 6

/* How many of the calls failed; -1: there was no start. */
static int write_lines(const char *path, enum rm_fault_kind kind)
{
    struct rm_sink sink = {0};
    double values[sizeof made_columns / sizeof *made_columns] = {0};
    int failures = 0;
    const resmon_csv_options options = {.struct_size = sizeof options, .path = path};
    if (rm_sink_make(rm_sink_kind_find("csv"), &options, &sink) != RESMON_OK) {
        assert_clear(-1, kind);
        return -1;
    }
    resmon_status status = sink.ops.start(sink.context, file_run);
    for (int64_t i = 0; i < LINES && status == RESMON_OK; i++) {
        const resmon_rows rows = {.struct_size = sizeof rows,
                                  .run = file_run,
                                  .row_count = 1,
                                  .column_count = file_run->column_count,
                                  .t_ns = &i,
                                  .values = values};
        failures += sink.ops.rows(sink.context, &rows) < RESMON_OK ? 1 : 0;
    }
    if (status == RESMON_OK && sink.ops.tag != NULL) {
        failures += sink.ops.tag(sink.context, 1, "tag") < RESMON_OK ? 1 : 0;
    }
    if (status == RESMON_OK && sink.ops.stop != NULL) {
        failures += sink.ops.stop(sink.context, file_run) < RESMON_OK ? 1 : 0;
    }
    if (status < RESMON_OK || failures > 0) {
        assert_clear(status < RESMON_OK ? status : -1, kind);
    }
    sink.ops.close(sink.context);
    return status < RESMON_OK ? -1 : failures;
}

TEST(lines)
{
    static const enum rm_fault_kind each[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < 3; i++) {
        bool has_fired = true;
        for (int64_t k = 0; has_fired && k < MOST_K; k++) {
            rm_fault_arm(each[i], k);
            int failures = write_lines(path_of("lines.csv"), each[i]);
            has_fired = rm_fault_fired(each[i]);
            rm_fault_arm(each[i], -1);
            char *text = content_of(path_of("lines.csv"), NULL);
            int lines = 0;
            for (const char *at = text; at != NULL && *at != '\0'; at++) {
                lines += *at == '\n' && (at[1] == '\0' || (at[1] >= '0' && at[1] <= '9')) ? 1 : 0;
            }
            if (failures >= 0) {
                assert_true(failures <= 2 &&
                            text != NULL); /* the line, and what the end says of it */
                /* And the names, and the tag; one is lacking if anything failed. */
                assert_int_equal(lines, LINES + 2 - (failures > 0 ? 1 : 0));
                assert_int_equal(text[strlen(text) - 1], '\n'); /* no half line */
            }
            free(text);
            assert_int_equal(count_files(".tmp", true, NULL), 0);
            assert_int_equal(rm_fault_live(0), live);
            (void)count_files("lines", true, NULL);
        }
        assert_false(has_fired);
    }
}

/* ---- the textfile collector ----------------------------------------------------------------- */

static resmon_status keep_textfile(void)
{
    struct rm_sink sink = {0};
    const resmon_prometheus_options options = {.struct_size = sizeof options,
                                               .directory = test_directory};
    resmon_status status = rm_sink_make(rm_sink_kind_find("prometheus"), &options, &sink);
    if (status != RESMON_OK) {
        return status;
    }
    status = sink.ops.start != NULL ? sink.ops.start(sink.context, file_run) : RESMON_OK;
    for (int i = 0; i < 2 && status == RESMON_OK; i++) {
        status = sink.ops.snapshot(sink.context, file_run);
    }
    /* A failure is over when there is room again. */
    resmon_status second = status != RESMON_OK ? sink.ops.snapshot(sink.context, file_run) : status;
    assert_int_equal(second, RESMON_OK);
    char path[128];
    assert_int_equal(count_files(".prom", false, path), 1);
    resmon_status ended = sink.ops.stop != NULL ? sink.ops.stop(sink.context, file_run) : RESMON_OK;
    sink.ops.close(sink.context);
    return status != RESMON_OK ? status : ended;
}

TEST(textfiles)
{
    static const enum rm_fault_kind each[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < 3; i++) {
        bool has_fired = true;
        for (int64_t k = 0; has_fired && k < MOST_K; k++) {
            rm_fault_arm(each[i], k);
            resmon_status status = keep_textfile();
            has_fired = rm_fault_fired(each[i]);
            rm_fault_arm(each[i], -1);
            assert_true(status == RESMON_OK || has_fired);
            assert_int_equal(count_files("", true, NULL), 0); /* it is gone, and all of it */
            assert_int_equal(rm_fault_live(0), live);
        }
        assert_false(has_fired);
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool start_mlflow(void)
{
    static const char *const quick[] = {"MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR",
                                        "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER",
                                        "MLFLOW_HTTP_REQUEST_MAX_RETRIES"};
    struct rm_http *http = NULL;
    const struct rm_http_config how = {.url = "http://h"};
    for (size_t i = 0; i < 3; i++) {
        (void)setenv(quick[i], "0", 1);
    }
    if (rm_json_check() != RESMON_OK || rm_http_open(&how, &http) != RESMON_OK) {
        printf("skipped here: MLflow: %s\n", resmon_last_error());
        return false;
    }
    rm_http_close(http);
    far.server.answer = answer;
    return tiny_start(&far.server);
}

FIXTURE(set_up)
{
    (void)snprintf(spool_pattern, sizeof spool_pattern, "%s/unsent.json", test_directory);
    file_run = made_run("stopped", 40);
    whole_run = as_document(run_of(ROWS));
    early_run = run_of(ROWS / 2);
    has_mlflow = start_mlflow();
    if (has_mlflow) {
        forget(SIZE_MAX, false);
        assert_ok(push());
        points_of_all = count_sent();
        assert_true(points_of_all > 200);
    }
    return 0;
}

FIXTURE(tear_down)
{
    if (has_mlflow) {
        forget(0, false);
        tiny_stop(&far.server);
    }
    rm_run_free(file_run);
    rm_run_free(whole_run);
    rm_run_free(early_run);
    (void)count_files("", true, NULL);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
