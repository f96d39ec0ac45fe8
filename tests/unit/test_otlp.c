/* SPDX-License-Identifier: MIT */
/*
 * net/otlp_body, sink/otlp: what is sent where, by which settings, and what becomes of what a
 * receiver answers.  The Python tests read the messages with OpenTelemetry's own
 * package.
 */
#include "test.h"

#include "base/clock.h"
#include "base/fault.h"
#include "format/protobuf.h"
#include "made_run.h"
#include "net/http.h"
#include "net/otlp_body.h"
#include "sink/sinks.h"
#include "tiny_server.h"

/* ---- lists of pairs -----------------------------------------------------------------------------
 */

TEST(pairs)
{
    static const struct {
        const char *list;
        resmon_status status;
        const char *key, *value; /* of the last pair */
    } rows[] = {
        {"", RESMON_OK, "", ""},
        {" , ,", RESMON_OK, "", ""},
        {"a=b", RESMON_OK, "a", "b"},
        {"a=1, b = x%20y%2C%3d ,", RESMON_OK, "b", "x y,="},
        {"k=", RESMON_OK, "k", ""},
        {"k=a=b", RESMON_OK, "k", "a=b"},
        {"k=%C3%A9", RESMON_OK, "k", "\xc3\xa9"},
        {"a", RESMON_EFORMAT, "", ""},
        {"=b", RESMON_EFORMAT, "", ""},
        {"a=%", RESMON_EFORMAT, "", ""},
        {"a=%4", RESMON_EFORMAT, "", ""},
        {"a=%4,b=c", RESMON_EFORMAT, "", ""},
        {"a=%zz", RESMON_EFORMAT, "", ""},
        {"a=%00", RESMON_EFORMAT, "", ""},
        {"a=123456789", RESMON_ERANGE, "", ""},
        {"123456789=a", RESMON_ERANGE, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char key[8], value[8], last_key[8] = "", last_value[8] = "";
        const char *at = rows[i].list;
        resmon_status status;
        while ((status = rm_otlp_pair_next(&at, key, sizeof key, value, sizeof value)) ==
                   RESMON_OK &&
               key[0] != '\0') {
            memcpy(last_key, key, sizeof key);
            memcpy(last_value, value, sizeof value);
        }
        assert_status(rows[i].status, status);
        if (status == RESMON_OK) {
            assert_string_equal(last_key, rows[i].key);
            assert_string_equal(last_value, rows[i].value);
        }
    }
}

/* ---- messages -----------------------------------------------------------------------------------
 */

struct bytes {
    const char *at, *end;
};

/* The first field with this number; fails if there is none. */
static struct bytes inside(struct bytes message, uint32_t number)
{
    struct rm_protobuf_field field;
    while (rm_protobuf_next(&message.at, message.end, &field)) {
        if (field.number == number && field.bytes != NULL) {
            return (struct bytes){field.bytes, field.bytes + field.length};
        }
    }
    fail_msg("no field %u", number);
    return message;
}

static bool is_text(struct bytes bytes, const char *text)
{
    return (size_t)(bytes.end - bytes.at) == strlen(text) &&
           memcmp(bytes.at, text, strlen(text)) == 0;
}

/* The metric with a name in a request; {NULL}: none. */
static struct bytes metric_of(struct bytes request, const char *name)
{
    struct bytes metrics = inside(inside(request, 1), 2), found = {NULL, NULL};
    struct rm_protobuf_field field;
    while (rm_protobuf_next(&metrics.at, metrics.end, &field)) {
        struct bytes metric = {field.bytes, field.bytes + field.length};
        if (field.number == 2 && is_text(inside(metric, 1), name)) {
            assert_null(found.at); /* once */
            found = metric;
        }
    }
    return found;
}

static double double_of(struct bytes message, uint32_t number)
{
    struct rm_protobuf_field field;
    while (rm_protobuf_next(&message.at, message.end, &field)) {
        if (field.number == number) {
            double value;
            memcpy(&value, &field.value, sizeof value);
            return value;
        }
    }
    return (double)NAN;
}

static size_t count_of(struct bytes message, uint32_t number)
{
    struct rm_protobuf_field field;
    size_t count = 0;
    while (rm_protobuf_next(&message.at, message.end, &field)) {
        count += field.number == number ? 1 : 0;
    }
    return count;
}

static struct bytes write_run(const resmon_run *run, struct rm_buffer *buffer)
{
    const struct rm_otlp_resource resource = {"", "a.b=c%20d,host.name=other"};
    rm_buffer_init(buffer, (size_t)64 << 20);
    assert_ok(rm_otlp_write(run, &resource, buffer));
    return (struct bytes){buffer->text, buffer->text + buffer->length};
}

TEST(a_hostile_run)
{
    struct rm_buffer buffer;
    resmon_run *run = made_run("stopped", 12);
    struct bytes request = write_run(run, &buffer);
    assert_int_equal(
        double_of(inside(inside(metric_of(request, "resmon.proc.cpu.percent"), 5), 1), 4) == 250.0,
        1);
    struct bytes used = inside(metric_of(request, "system.filesystem.usage"), 7);
    assert_int_equal(count_of(used, 1), 3); /* two used, one free */
    assert_null(metric_of(request, "process.unix.file_descriptor.count").at); /* unreadable */
    assert_null(metric_of(request, "resmon.proc.mem.swap").at);               /* NaN */
    assert_null(metric_of(request, "resmon.scope.calls").at);
    struct bytes scopes = inside(metric_of(request, "resmon.scope.duration"), 9);
    assert_int_equal(count_of(scopes, 1), 11); /* one path comes twice */
    struct bytes first = inside(scopes, 1);
    assert_true(double_of(first, 5) == 1.5);
    assert_true(is_text(inside(inside(first, 9), 1), "scope"));
    assert_true(is_text(inside(inside(inside(first, 9), 2), 1), "top"));
    rm_buffer_free(&buffer);
    rm_run_free(run);
}

TEST(what_the_user_says_of_the_resource_precedes)
{
    struct rm_buffer buffer;
    resmon_run *run = made_run("stopped", 0);
    struct bytes resource = inside(inside(write_run(run, &buffer), 1), 1);
    struct rm_protobuf_field field;
    size_t hosts = 0;
    while (rm_protobuf_next(&resource.at, resource.end, &field)) {
        struct bytes attribute = {field.bytes, field.bytes + field.length};
        if (is_text(inside(attribute, 1), "host.name")) {
            assert_true(is_text(inside(inside(attribute, 2), 1), "other"));
            hosts++;
        }
        if (is_text(inside(attribute, 1), "a.b")) {
            assert_true(is_text(inside(inside(attribute, 2), 1), "c d"));
            hosts += 10;
        }
        if (is_text(inside(attribute, 1), "process.pid")) {
            assert_int_equal(count_of(inside(attribute, 2), 3), 1);
            hosts += 100;
        }
    }
    assert_int_equal(hosts, 111);
    rm_buffer_free(&buffer);
    rm_run_free(run);
}

TEST(replies)
{
    static const struct {
        bool is_success;
        const char *bytes;
        size_t length;
        uint64_t rejected;
        const char *text;
    } rows[] = {
        {true, "", 0, 0, ""},
        {true, "\n\x00", 2, 0, ""},
        {true,
         "\n\x07\x08\x03\x12\x03"
         "bad",
         9, 3, "bad"},
        {true, "\n\x7f\x08\x03", 4, 0, ""}, /* cut */
        {true, "{}", 2, 0, ""},
        {false,
         "\x08\x03\x12\x04"
         "full",
         8, 0, "full"},
        {false, "<html>no\r\nline", 14, 0, "<html>no"},
        {false, "", 0, 0, ""},
        {true, "\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, 0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t rejected;
        char text[16];
        rm_otlp_read_reply(rows[i].is_success, rows[i].bytes, rows[i].length, &rejected, text,
                           sizeof text);
        assert_int_equal(rejected, rows[i].rejected);
        assert_string_equal(text, rows[i].text);
    }
}

/* ---- the sink -----------------------------------------------------------------------------------
 */

static struct tiny_server *server;
static struct resmon_run *run;
static char url[128];

static void serve(const struct tiny_answer *list, size_t count)
{
    server = calloc(1, sizeof *server);
    server->list = list;
    server->list_count = count;
    TINY_START(server);
    (void)snprintf(url, sizeof url, "http://me:SECRET@%s/", server->url + 7);
    run = made_run("stopped", 12);
    assert_non_null(run);
}

static void stop_serving(void)
{
    rm_run_free(run);
    tiny_stop(server);
    free(server);
}

static struct rm_sink sink_of(const resmon_otlp_options *options)
{
    struct rm_sink sink = {0};
    assert_ok(rm_sink_make(rm_sink_kind_find("otlp"), options, &sink));
    assert_string_equal(sink.ops.name, "otlp");
    assert_true((sink.ops.flags & RESMON_SINK_REMOTE) != 0);
    return sink;
}

TEST(a_run_is_posted)
{
    static const struct tiny_answer list[] = {{.code = 200, .body = ""}, {.code = 202}};
    serve(list, 2);
    int64_t live = rm_fault_live(0);
    const resmon_otlp_options options = {.struct_size = sizeof options,
                                         .endpoint = url,
                                         .headers = "x-one=a%20b, x-two=c,x-none=",
                                         .service = "mine",
                                         .interval_ms = 50};
    struct rm_sink sink = sink_of(&options);
    assert_int_equal(sink.ops.snapshot_interval_ms, 50);
    assert_ok(sink.ops.snapshot(sink.context, run));
    assert_ok(sink.ops.stop(sink.context, run));
    assert_int_equal(tiny_count(server), 2);
    const struct tiny_request *request = tiny_request(server, 1);
    assert_true(tiny_is(request, "POST /v1/metrics HTTP"));
    assert_true(tiny_has_header(request, "Content-Type: application/x-protobuf\r\n"));
    assert_true(tiny_has_header(request, "Authorization: Basic bWU6U0VDUkVU\r\n"));
    assert_true(tiny_has_header(request, "x-one: a b\r\n"));
    assert_true(tiny_has_header(request, "x-two: c\r\n"));
    assert_true(tiny_has_header(request, "x-none:\r\n"));
    struct bytes body = {request->body, request->body + request->length};
    assert_non_null(metric_of(body, "system.filesystem.usage").at);
    sink.ops.close(sink.context);
    assert_int_equal(rm_fault_live(0), live);
    stop_serving();
}

TEST(what_a_receiver_refuses)
{
    static const struct {
        struct tiny_answer answer;
        resmon_status status;
        const char *text;
    } rows[] = {
        {{.code = 400,
          .body = "\x12\x08SAD \x01"
                  "abc"},
         RESMON_EREMOTE,
         "HTTP 400: SAD ?abc"},
        {{.code = 401, .body = "no hidden1"}, RESMON_EACCES, "HTTP 401: no *******"},
        {{.code = 401, .body = "the token hidden1 is old"}, RESMON_EACCES, "the token ******* is"},
        {{.code = 403}, RESMON_EACCES, "HTTP 403"},
        {{.code = 500}, RESMON_EREMOTE, "HTTP 500"}, /* and not tried again */
        {{.code = 408}, RESMON_EREMOTE, "HTTP 408"},
        {{.code = 413, .headers = "Retry-After: 1\r\n"}, RESMON_EREMOTE, "HTTP 413"},
        {{.code = 404, .body = "404 page not found\nsecond"}, RESMON_EREMOTE, "404 page not found"},
        {{.code = 301, .headers = "Location: /elsewhere\r\n"}, RESMON_EREMOTE, "HTTP 301"},
        {{.code = 200,
          .body = "\n\x07\x08\x03\x12\x03"
                  "bad"},
         RESMON_EREMOTE,
         "rejected 3 points: bad"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        serve(&rows[i].answer, 1);
        const resmon_otlp_options options = {
            .struct_size = sizeof options,
            .endpoint = url,
            .headers = i % 2 == 0 ? "key=hidden1" : "Authorization=Bearer%20hidden1"};
        struct rm_sink sink = sink_of(&options);
        assert_status(rows[i].status, sink.ops.stop(sink.context, run));
        assert_non_null(strstr(resmon_last_error(), rows[i].text));
        assert_null(strstr(resmon_last_error(), "SECRET"));
        assert_null(strstr(resmon_last_error(), "hidden1"));
        assert_null(strstr(resmon_last_error(), "second"));
        assert_int_equal(tiny_count(server), 1);
        sink.ops.close(sink.context);
        stop_serving();
    }
}

/* ---- settings -----------------------------------------------------------------------------------
 */

#define MOST_VARIABLES 4

static void set_variables(const char *const variables[MOST_VARIABLES], bool is_set)
{
    for (size_t i = 0; i < MOST_VARIABLES && variables[i] != NULL; i++) {
        char name[64];
        const char *equal = strchr(variables[i], '=');
        (void)snprintf(name, sizeof name, "OTEL_%.*s", (int)(equal - variables[i]), variables[i]);
        assert_int_equal(is_set ? setenv(name, equal + 1, 1) : unsetenv(name), 0);
    }
}

TEST(variables_that_are_refused)
{
    static const struct {
        const char *variables[MOST_VARIABLES];
        resmon_status status;
        const char *text; /* "": the sink is made */
    } rows[] = {
        {{NULL}, RESMON_OK, ""},
        {{"EXPORTER_OTLP_ENDPOINT=me:SECRET@h"}, RESMON_EINVAL, "the endpoint of OTLP"},
        {{"EXPORTER_OTLP_PROTOCOL=grpc"}, RESMON_ENOTSUP, "port 4318"},
        {{"EXPORTER_OTLP_PROTOCOL=grpc", "EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf"},
         RESMON_OK,
         ""},
        {{"EXPORTER_OTLP_HEADERS=SECRET"}, RESMON_EINVAL, "OTEL_EXPORTER_OTLP_HEADERS"},
        {{"EXPORTER_OTLP_HEADERS=a b=SECRET"}, RESMON_EINVAL, "OTEL_EXPORTER_OTLP_HEADERS"},
        {{"EXPORTER_OTLP_HEADERS=a=SECRET%0d%0aX: y"}, RESMON_EINVAL, "HEADERS"},
        {{"EXPORTER_OTLP_HEADERS=a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9"}, RESMON_EINVAL, "than 8"},
        {{"EXPORTER_OTLP_TIMEOUT=soon"}, RESMON_EINVAL, "OTEL_EXPORTER_OTLP_TIMEOUT is 'soon'"},
        {{"EXPORTER_OTLP_METRICS_TIMEOUT=0"}, RESMON_EINVAL, "METRICS_TIMEOUT is '0'"},
        {{"METRIC_EXPORT_INTERVAL=-1"}, RESMON_EINVAL, "OTEL_METRIC_EXPORT_INTERVAL"},
        {{"RESOURCE_ATTRIBUTES=a"}, RESMON_EINVAL, "OTEL_RESOURCE_ATTRIBUTES"},
        {{"EXPORTER_OTLP_CERTIFICATE=/nonexistent/a"}, RESMON_EINVAL, "/nonexistent/a"},
        {{"EXPORTER_OTLP_CLIENT_KEY=/nonexistent/b"}, RESMON_EINVAL, "/nonexistent/b"},
        {{"EXPORTER_OTLP_ENDPOINT=", "SERVICE_NAME=", "RESOURCE_ATTRIBUTES="}, RESMON_OK, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rm_sink sink = {0};
        set_variables(rows[i].variables, true);
        resmon_status status = rm_sink_make(rm_sink_kind_find("otlp"), NULL, &sink);
        set_variables(rows[i].variables, false);
        assert_status(rows[i].status, status);
        if (status == RESMON_OK) {
            assert_int_equal(sink.ops.snapshot_interval_ms, 60000);
            sink.ops.close(sink.context);
        } else {
            assert_non_null(strstr(resmon_last_error(), rows[i].text));
            assert_null(strstr(resmon_last_error(), "SECRET"));
        }
    }
}

TEST(the_address)
{
    static const struct {
        const char *path, *variable, *wanted;
    } rows[] = {
        {"", NULL, "POST /v1/metrics HTTP"},
        {"/", NULL, "POST /v1/metrics HTTP"},
        {"/api/v1/otlp", NULL, "POST /api/v1/otlp/v1/metrics HTTP"},
        {"/v1/metrics", NULL, "POST /v1/metrics HTTP"},
        {"", "OTEL_EXPORTER_OTLP_ENDPOINT", "POST /v1/metrics HTTP"},
        {"/a", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "POST /a HTTP"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char address[160];
        serve(NULL, 0);
        (void)snprintf(address, sizeof address, "%s%s", server->url, rows[i].path);
        if (rows[i].variable != NULL) {
            assert_int_equal(setenv(rows[i].variable, address, 1), 0);
        }
        const resmon_otlp_options options = {.struct_size = sizeof options,
                                             .endpoint = rows[i].variable == NULL ? address : NULL};
        struct rm_sink sink = sink_of(&options);
        assert_ok(sink.ops.stop(sink.context, run));
        assert_true(tiny_is(tiny_request(server, 0), rows[i].wanted));
        sink.ops.close(sink.context);
        if (rows[i].variable != NULL) {
            assert_int_equal(unsetenv(rows[i].variable), 0);
        }
        stop_serving();
    }
}

/* ---- failures -----------------------------------------------------------------------------------
 */

TEST(any_allocation_may_fail)
{
    bool has_fired = true;
    int64_t k = 0;
    serve(NULL, 0);
    const resmon_otlp_options options = {
        .struct_size = sizeof options, .endpoint = url, .headers = "a=b"};
    int64_t live = rm_fault_live(0);
    for (; has_fired && k < 200; k++) {
        struct rm_sink sink = {0};
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_sink_make(rm_sink_kind_find("otlp"), &options, &sink);
        if (status == RESMON_OK) {
            status = sink.ops.stop(sink.context, run);
        }
        has_fired = rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_true(status == RESMON_OK || status == RESMON_ENOMEM);
        if (sink.ops.close != NULL) {
            assert_ok(sink.ops.stop(sink.context, run));
            sink.ops.close(sink.context);
        }
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(k > 1 && !has_fired);
    stop_serving();
}
