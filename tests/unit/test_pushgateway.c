/* SPDX-License-Identifier: MIT */
/*
 * sink/pushgateway: what is put where, and what becomes of what a gateway answers.
 */
#include "test.h"

#include "base/clock.h"
#include "base/fault.h"
#include "made_run.h"
#include "net/http.h"
#include "sink/sinks.h"
#include "tiny_server.h"

static struct tiny_server *server;
static struct resmon_run *run;
static char url[128];

static void serve(const struct tiny_answer *list, size_t count)
{
    server = calloc(1, sizeof *server);
    server->list = list;
    server->list_count = count;
    TINY_START(server);
    (void)snprintf(url, sizeof url, "http://me:SECRET@%s/sub/", server->url + 7);
    run = made_run("stopped", 12);
    assert_non_null(run);
}

static void stop_serving(void)
{
    rm_run_free(run);
    tiny_stop(server);
    free(server);
}

static struct rm_sink sink_of(const resmon_pushgateway_options *options)
{
    struct rm_sink sink = {0};
    assert_ok(rm_sink_make(rm_sink_kind_find("pushgateway"), options, &sink));
    assert_string_equal(sink.ops.name, "pushgateway");
    assert_true((sink.ops.flags & RESMON_SINK_REMOTE) != 0);
    return sink;
}

TEST(a_run_is_put)
{
    static const struct tiny_answer list[] = {{.code = 200}, {.code = 202}};
    static const resmon_label labels[] = {{"team", "a/b"}, {"empty", ""}};
    serve(list, 2);
    int64_t live = rm_fault_live(0);
    const resmon_pushgateway_options options = {.struct_size = sizeof options,
                                                .url = url,
                                                .job = "my job",
                                                .labels = labels,
                                                .label_count = 2,
                                                .interval_ms = 50};
    struct rm_sink sink = sink_of(&options);
    assert_int_equal(sink.ops.snapshot_interval_ms, 50);
    assert_ok(sink.ops.snapshot(sink.context, run));
    assert_ok(sink.ops.stop(sink.context, run));
    assert_int_equal(tiny_count(server), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct tiny_request *request = tiny_request(server, i);
        assert_true(tiny_is(request, "PUT /sub/metrics/job/my%20job/team@base64/YS9i/empty@base64/="
                                     "/node/n%221%5C%0A2 HTTP"));
        assert_true(tiny_has_header(request, "Content-Type: text/plain; version=0.0.4"));
        assert_true(tiny_has_header(request, "Authorization: Basic bWU6U0VDUkVU\r\n"));
        assert_true(request->length > 500 && request->body[request->length - 1] == '\n');
        assert_non_null(strstr(request->body, "# TYPE resmon_"));
    }
    sink.ops.close(sink.context);
    assert_int_equal(rm_fault_live(0), live);
    stop_serving();
}

TEST(what_a_gateway_refuses)
{
    static const struct {
        struct tiny_answer answer;
        resmon_status status;
        const char *text;
    } rows[] = {
        {{.code = 400, .body = "pushed metrics are invalid: SAD\nsecond line"},
         RESMON_EREMOTE,
         "HTTP 400: pushed metrics are invalid: SAD"},
        {{.code = 401, .body = "no"}, RESMON_EACCES, "HTTP 401: no"},
        {{.code = 403}, RESMON_EACCES, "HTTP 403"},
        {{.code = 404, .body = "\r\n<html>"}, RESMON_EREMOTE, "HTTP 404"},
        {{.code = 301}, RESMON_EREMOTE, "HTTP 301"},
        {{.code = 405, .body = "\xff\x01"}, RESMON_EREMOTE, "HTTP 405: ??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        serve(&rows[i].answer, 1);
        const resmon_pushgateway_options options = {.struct_size = sizeof options, .url = url};
        struct rm_sink sink = sink_of(&options);
        assert_status(rows[i].status, sink.ops.stop(sink.context, run));
        assert_non_null(strstr(resmon_last_error(), rows[i].text));
        assert_null(strstr(resmon_last_error(), "SECRET"));
        assert_null(strstr(resmon_last_error(), "second"));
        assert_ok(sink.ops.stop(sink.context, run)); /* the next one may do */
        assert_int_equal(tiny_count(server), 2);
        sink.ops.close(sink.context);
        stop_serving();
    }
}

TEST(what_passes_is_tried_again)
{
    static const struct tiny_answer list[] = {{.code = 503}, {.hangs = true, .closes = true}};
    serve(list, 1);
    const resmon_pushgateway_options options = {.struct_size = sizeof options, .url = url};
    struct rm_sink sink = sink_of(&options);
    assert_ok(sink.ops.stop(sink.context, run));
    assert_int_equal(tiny_count(server), 2);
    assert_string_equal(tiny_request(server, 0)->body, tiny_request(server, 1)->body);
    sink.ops.close(sink.context);
    stop_serving();
}

TEST(options_that_are_refused)
{
    static const resmon_label job[] = {{"job", "x"}};
    static const resmon_label twice[] = {{"a", "x"}, {"a", "y"}};
    static const struct {
        resmon_pushgateway_options options;
        resmon_status status;
        const char *text;
    } rows[] = {
        {{.url = NULL}, RESMON_EINVAL, "pushgateway.url is missing"},
        {{.url = ""}, RESMON_EINVAL, ""},
        {{.url = "me:SECRET@h"}, RESMON_EINVAL, "the URL of the Pushgateway"},
        {{.url = "http://me:SECRET@h/?a"}, RESMON_EINVAL, ""},
        {{.url = "http://h", .flags = 2}, RESMON_EINVAL, "flags"},
        {{.url = "http://h", .interval_ms = UINT64_MAX}, RESMON_ERANGE, ""},
        {{.url = "http://h", .timeout_ms = 86400001}, RESMON_ERANGE, ""},
        {{.url = "http://h", .job = ""}, RESMON_EINVAL, "job is empty"},
        {{.url = "http://h", .labels = job, .label_count = 1}, RESMON_EINVAL, ""},
        {{.url = "http://h", .labels = twice, .label_count = 2}, RESMON_EINVAL, ""},
        {{.url = "http://h", .ca_path = "/nonexistent/ca.pem"},
         RESMON_EINVAL,
         "/nonexistent/ca.pem"},
        {{.url = "http://h", .struct_size = 3}, RESMON_EINVAL, ""},
    };
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rm_sink sink = {.context = &sink};
        resmon_pushgateway_options options = rows[i].options;
        options.struct_size = options.struct_size != 0 ? options.struct_size : sizeof options;
        assert_status(rows[i].status,
                      rm_sink_make(rm_sink_kind_find("pushgateway"), &options, &sink));
        assert_non_null(strstr(resmon_last_error(), rows[i].text));
        assert_null(strstr(resmon_last_error(), "SECRET"));
        assert_ptr_equal(sink.context, &sink);
        assert_int_equal(rm_fault_live(0), live);
    }
    struct rm_sink sink;
    assert_status(RESMON_EINVAL, rm_sink_make(rm_sink_kind_find("pushgateway"), NULL, &sink));
}

/* Any allocation, any exchange: it is said, and the next push is whole. */
static void fail_each(enum rm_fault_kind kind)
{
    static const resmon_label labels[] = {{"team", "a"}};
    const resmon_pushgateway_options options = {
        .struct_size = sizeof options, .url = url, .labels = labels, .label_count = 1};
    bool has_fired = true;
    int64_t k = 0;
    serve(NULL, 0);
    int64_t live = rm_fault_live(0);
    int64_t soon_ns = 1;
    for (; has_fired && k < 100; k++) {
        struct rm_sink sink = {0};
        rm_fault_arm(kind, k);
        resmon_status status = rm_sink_make(rm_sink_kind_find("pushgateway"), &options, &sink);
        if (status == RESMON_OK) {
            status = sink.ops.stop(sink.context, run);
        }
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        assert_true(status == RESMON_OK || status == RESMON_ENOMEM);
        if (sink.ops.close != NULL) {
            size_t before = tiny_count(server);
            assert_ok(sink.ops.stop(sink.context, run));
            assert_int_equal(tiny_count(server), before + 1);
            rm_deadline_follow(&soon_ns); /* no time left */
            assert_status(RESMON_ETIMEDOUT, sink.ops.stop(sink.context, run));
            rm_deadline_follow(NULL);
            sink.ops.close(sink.context);
        }
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(k > 1 && !has_fired);
    stop_serving();
}

TEST(any_allocation_may_fail)
{
    fail_each(RM_FAULT_ALLOC);
}

TEST(any_exchange_may_fail)
{
    fail_each(RM_FAULT_NET);
}

TEST_FILE(.missing = missing_http);
