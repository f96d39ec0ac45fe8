/* SPDX-License-Identifier: MIT */
/*
 * net/mlflow_client: how one comes to a run, without ever making two, what the answers of a server
 * mean, and what a person is told of them.
 */
#define _GNU_SOURCE /* asprintf, realpath */
#include "test.h"

#ifndef RM_HAVE_CJSON

TEST_FILE(.skipped = "this build has no JSON (cJSON), and so nothing for MLflow");

#else

#include <sys/stat.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/text.h"
#include "format/json.h"
#include "made_time.h"
#include "net/mlflow_client.h"
#include "strict_json.h"
#include "tiny_server.h"

#define API "/api/2.0/mlflow/"
#define RUN(id) \
    "{\"run\":{\"info\":{\"run_id\":\"" id "\",\"artifact_uri\":\"mlflow-artifacts:/0/a\"}}}"
#define FOUND(id) \
    "{\"runs\":[{\"info\":{\"run_id\":\"" id "\",\"artifact_uri\":\"mlflow-artifacts:/0/a\"}}]}"
#define EXPERIMENT(id, stage) \
    "{\"experiment\":{\"experiment_id\":\"" id "\",\"lifecycle_stage\":\"" stage "\"}}"
#define ERROR(code, text) "{\"error_code\":\"" code "\",\"message\":\"" text "\"}"

static struct tiny_server *server;
static struct rm_mlflow_config config;
static struct rm_mlflow_client client;
static struct rm_mlflow_wanted wanted;

/* A conversation: what is to be asked, and what is answered. */
struct step {
    const char *request; /* how it begins, behind the method and API */
    struct tiny_answer answer;
    const char *body; /* NULL: any */
};

static void begin(const struct tiny_answer *answers, size_t count, unsigned retries)
{
    struct rm_http *http = NULL;
    server = calloc(1, sizeof *server);
    assert_non_null(server);
    server->list = answers;
    server->list_count = count;
    TINY_START(server);
    const struct rm_http_config how = {
        .url = server->url, .timeout_ns = 20 * RM_NS_PER_S, .retries = retries};
    assert_ok(rm_http_open(&how, &http));
    (void)snprintf(config.uri, sizeof config.uri, "%s", server->url);
    rm_mlflow_client_init(&client, &config, http);
}

static void end(void)
{
    rm_mlflow_client_free(&client);
    tiny_stop(server);
    free(server);
    config = (struct rm_mlflow_config){.batch_metrics = 1000};
}

static void set_wanted(enum rm_mlflow_way way, const char *job, int64_t wait_ns)
{
    wanted = (struct rm_mlflow_wanted){.uuid = "0123456789abcdef0123456789abcdef",
                                       .way = way,
                                       .wait_ns = wait_ns,
                                       .body = "\"run_name\":\"r\",\"tags\":[]}"};
    (void)snprintf(wanted.job, sizeof wanted.job, "%s", job);
}

#define PATIENCE_NS (30 * RM_NS_PER_S)

static resmon_status find(void)
{
    return rm_mlflow_find_run(&client, &wanted, rm_clock_monotonic_ns() + PATIENCE_NS);
}

static void check_steps(const struct step *steps, size_t count)
{
    assert_int_equal(tiny_count(server), count);
    for (size_t i = 0; i < count; i++) {
        const struct tiny_request *request = tiny_request(server, i);
        if (!tiny_is(request, steps[i].request) ||
            (steps[i].body != NULL && strcmp(request->body, steps[i].body) != 0)) {
            fail_msg("request %zu is %.300s", i, request->text);
        }
        if (request->length > 0) {
            assert_true(is_strict_json(request->body, request->length));
            assert_true(tiny_has_header(request, "Content-Type: application/json\r\n"));
        }
    }
}

/* Comes to a run by these steps, with this outcome and this text in the message. */
static void converse(const struct step *steps, size_t count, unsigned retries,
                     resmon_status expected, const char *text)
{
    struct tiny_answer answers[16];
    for (size_t i = 0; i < count; i++) {
        answers[i] = steps[i].answer;
    }
    begin(answers, count, retries);
    assert_status(expected, find());
    check_steps(steps, count);
    if (expected != RESMON_OK && strstr(resmon_last_error(), text) == NULL) {
        fail_msg("no '%s' in: %s", text, resmon_last_error());
    }
    if (expected == RESMON_OK) {
        assert_string_equal(client.run_id, text);
        assert_ok(find()); /* known: nothing is asked */
        assert_int_equal(tiny_count(server), count);
    }
}

#define CONVERSE(retries, expected, text, ...)                                        \
    do {                                                                              \
        const struct step steps[] = __VA_ARGS__;                                      \
        converse(steps, sizeof steps / sizeof *steps, (retries), (expected), (text)); \
    } while (0)

/* ---- the experiment ------------------------------------------------------------------------- */

#define GET_BY_NAME "GET " API "experiments/get-by-name?experiment_name=my%20%22x%22%2F%26 HTTP"
#define CREATE_IT   "{\"name\":\"my \\\"x\\\"/&\"}"
#define ABSENT                                                        \
    {                                                                 \
        .code = 404, .body = ERROR("RESOURCE_DOES_NOT_EXIST", "none") \
    }

static void name_experiment(void)
{
    (void)snprintf(config.experiment, sizeof config.experiment, "my \"x\"/&");
}

TEST(an_experiment_by_name)
{
    set_wanted(RM_MLFLOW_MAKE, "", 0);
    name_experiment();
    CONVERSE(0, RESMON_OK, "r1",
             {{GET_BY_NAME, {.body = EXPERIMENT("7", "active")}, NULL},
              {"POST " API "runs/create",
               {.body = RUN("r1")},
               "{\"experiment_id\":\"7\",\"run_name\":\"r\",\"tags\":[]}"}});
    end();
    name_experiment();
    CONVERSE(0, RESMON_OK, "r1",
             {{GET_BY_NAME, ABSENT, NULL},
              {"POST " API "experiments/create", {.body = "{\"experiment_id\":\"8\"}"}, CREATE_IT},
              {"POST " API "runs/create", {.body = RUN("r1")}, NULL}});
    end();
    /* Another rank was faster. */
    name_experiment();
    CONVERSE(0, RESMON_OK, "r1",
             {{GET_BY_NAME, ABSENT, NULL},
              {"POST " API "experiments/create",
               {.code = 400, .body = ERROR("RESOURCE_ALREADY_EXISTS", "there")},
               CREATE_IT},
              {GET_BY_NAME, {.body = EXPERIMENT("9", "active")}, NULL},
              {"POST " API "runs/create", {.body = RUN("r1")}, NULL}});
    assert_string_equal(client.experiment_id, "9");
    end();
}

TEST(an_experiment_that_cannot_be)
{
    set_wanted(RM_MLFLOW_MAKE, "", 0);
    name_experiment();
    CONVERSE(0, RESMON_EREMOTE, "was deleted",
             {{GET_BY_NAME, {.body = EXPERIMENT("7", "deleted")}, NULL}});
    assert_true(client.is_refused);
    end();
    name_experiment();
    (void)snprintf(config.experiment_id, sizeof config.experiment_id, "1");
    CONVERSE(0, RESMON_EINVAL, "MLFLOW_EXPERIMENT_ID",
             {{GET_BY_NAME, {.body = EXPERIMENT("7", "active")}, NULL}});
    assert_true(client.is_refused);
    end();
    name_experiment();
    CONVERSE(0, RESMON_EREMOTE, "is the tracking URI right",
             {{GET_BY_NAME, {.code = 404, .body = "<h1>Not Found</h1>"}, NULL}});
    end();
    name_experiment();
    CONVERSE(0, RESMON_EREMOTE, "INVALID_PARAMETER_VALUE: too odd",
             {{GET_BY_NAME, ABSENT, NULL},
              {"POST " API "experiments/create",
               {.code = 400, .body = ERROR("INVALID_PARAMETER_VALUE", "too odd")},
               CREATE_IT}});
    end();
    name_experiment();
    CONVERSE(0, RESMON_EFORMAT, "not from an MLflow server: '<html>hotel",
             {{GET_BY_NAME, {.body = "<html>hotel wifi: please log in"}, NULL}});
    assert_true(client.is_refused);
    end();
}

/* ---- the run -------------------------------------------------------------------------------- */

static void attach(void)
{
    (void)snprintf(config.run_id, sizeof config.run_id, "given");
}

TEST(a_run_that_is_given)
{
    set_wanted(RM_MLFLOW_MAKE, "", 0);
    attach();
    CONVERSE(0, RESMON_OK, "given",
             {{"GET " API "runs/get?run_id=given HTTP", {.body = RUN("given")}, NULL}});
    end();
    attach();
    CONVERSE(0, RESMON_EREMOTE, "RESOURCE_DOES_NOT_EXIST: no such run",
             {{"GET " API "runs/get?run_id=given HTTP",
               {.code = 404, .body = ERROR("RESOURCE_DOES_NOT_EXIST", "no such run")},
               NULL}});
    assert_true(client.is_refused);
    end();
    attach();
    CONVERSE(0, RESMON_EACCES, "check MLFLOW_TRACKING_USERNAME",
             {{"GET " API "runs/get", {.code = 401, .body = "go away"}, NULL}});
    end();
    attach();
    CONVERSE(0, RESMON_EACCES, "--allowed-hosts",
             {{"GET " API "runs/get",
               {.code = 403, .body = "Invalid Host header - possible DNS rebinding attack"},
               NULL}});
    end();
    attach();
    CONVERSE(0, RESMON_EREMOTE, "HTTP 500",
             {{"GET " API "runs/get", {.code = 500, .body = "<p>oops</p>"}, NULL}});
    assert_false(client.is_refused); /* another time, perhaps */
    end();
}

#define SEARCH_UUID                                                         \
    "{\"experiment_ids\":[\"0\"],\"filter\":\"tags.`resmon.uuid` = "        \
    "'0123456789abcdef0123456789abcdef'\",\"max_results\":1,\"order_by\":[" \
    "\"attributes.start_time DESC\"]}"

/* The server made it, and the answer was lost: it is looked for, not made again. */
TEST(an_answer_that_was_lost)
{
    set_wanted(RM_MLFLOW_MAKE, "", 0);
    CONVERSE(3, RESMON_OK, "r1",
             {{"POST " API "runs/create", {.hangs = true, .closes = true}, NULL},
              {"POST " API "runs/search", {.body = FOUND("r1")}, SEARCH_UUID}});
    end();
    CONVERSE(3, RESMON_OK, "r2",
             {{"POST " API "runs/create", {.code = 504, .body = "gateway"}, NULL},
              {"POST " API "runs/search", {.body = "{}"}, SEARCH_UUID},
              {"POST " API "runs/create", {.body = RUN("r2")}, NULL}});
    end();
    CONVERSE(3, RESMON_OK, "r3",
             {{"POST " API "runs/create",
               {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"run", .closes = true},
               NULL},
              {"POST " API "runs/search", {.body = FOUND("r3")}, SEARCH_UUID}});
    end();
}

/* The server said yes, in words that are none: the next attempt looks for what that one made. */
TEST(a_yes_that_is_not_understood)
{
    static const char *const bodies[] = {
        "", "{}", "[]", "{\"run\":{\"info\":{\"run_id\":7}}}", "\"", "null", RUN(""), "<html>"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct tiny_answer answers[] = {{.body = bodies[i]}, {.body = FOUND("r1")}};
        const struct step steps[] = {{"POST " API "runs/create", {0}, NULL},
                                     {"POST " API "runs/search", {0}, SEARCH_UUID}};
        set_wanted(RM_MLFLOW_MAKE, "", 0);
        begin(answers, 2, 0);
        assert_status(RESMON_EFORMAT, find());
        assert_string_equal(client.run_id, "");
        assert_ok(find());
        assert_string_equal(client.run_id, "r1");
        check_steps(steps, 2);
        end();
    }
}

#define SEARCH_JOB                                                              \
    "{\"experiment_ids\":[\"0\"],\"filter\":\"tags.`resmon.job` = 'slurm/7'\"," \
    "\"max_results\":1,\"order_by\":[\"attributes.start_time DESC\"]}"

TEST(a_run_of_a_job)
{
    set_wanted(RM_MLFLOW_AWAIT, "slurm/7", 0);
    CONVERSE(0, RESMON_OK, "theirs",
             {{"POST " API "runs/search", {.body = "{}"}, SEARCH_JOB},
              {"POST " API "runs/search", {.body = "{\"runs\":[]}"}, SEARCH_JOB},
              {"POST " API "runs/search", {.body = FOUND("theirs")}, SEARCH_JOB}});
    end();
    CONVERSE(0, RESMON_EFORMAT, "not from an MLflow server",
             {{"POST " API "runs/search", {.body = "{\"runs\":[{\"info\":{}}]}"}, SEARCH_JOB}});
    end();
    /* Whoever may make it does, when nobody has. */
    set_wanted(RM_MLFLOW_LOOK, "slurm/7", 0);
    CONVERSE(0, RESMON_OK, "mine",
             {{"POST " API "runs/search", {.body = "{}"}, SEARCH_JOB},
              {"POST " API "runs/create", {.body = RUN("mine")}, NULL}});
    end();
}

TEST(a_run_of_a_job_that_nobody_makes, IN_MADE_TIME)
{
    set_wanted(RM_MLFLOW_AWAIT, "slurm/7", 0);
    begin(NULL, 0, 0); /* it answers "{}" */
    assert_status(RESMON_ETIMEDOUT, find());
    assert_non_null(
        strstr(resmon_last_error(), "rank 0 of the job slurm/7 has not created its run yet"));
    assert_int_equal(rm_clock_monotonic_ns(), MADE_TIME_BEGIN + PATIENCE_NS);
    assert_int_equal(tiny_count(server), 2 * PATIENCE_NS / RM_NS_PER_S); /* twice a second */
    end();
}

/* ---- items ---------------------------------------------------------------------------------- */

static resmon_status send_item(enum rm_mlflow_call call, const char *body)
{
    const struct rm_mlflow_item item = {
        .call = call, .path = "resmon/run.json", .body = body, .length = strlen(body)};
    return rm_mlflow_send(&client, &item, RM_DEADLINE_NONE);
}

/* Only the tracking server's own; nothing of ours goes to another one. */
TEST(where_artifacts_go)
{
    static const char *const none[] = {"s3://bucket/x",
                                       "/tmp/mlruns/0/a",
                                       "file:///tmp/a",
                                       "http://other/api/2.0/x",
                                       "mlflow-artifacts:/a/../b",
                                       "mlflow-artifacts:/a?b",
                                       "mlflow-artifacts:",
                                       "mlflow-artifacts:a",
                                       "mlflow-artifacts://other/a",
                                       "dbfs:/x",
                                       "mlflow-artifacts:/a b",
                                       "mlflow-artifacts:/a#b"};
    char own[256];
    begin(NULL, 0, 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        (void)snprintf(client.artifact_uri, sizeof client.artifact_uri, "%s", none[i]);
        assert_status(RESMON_ENOTSUP, send_item(RM_MLFLOW_ARTIFACT, "{}"));
        assert_true(client.is_refused);
    }
    assert_int_equal(tiny_count(server), 0);
    (void)snprintf(own, sizeof own, "%s/api/2.0/mlflow-artifacts/artifacts/1/b", server->url);
    const char *const good[] = {"mlflow-artifacts:/1/b", "mlflow-artifacts:///1/b", own};
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(client.artifact_uri, sizeof client.artifact_uri, "%s", good[i]);
        assert_ok(send_item(RM_MLFLOW_ARTIFACT, "{}"));
        assert_true(tiny_is(tiny_request(server, i),
                            "PUT /api/2.0/mlflow-artifacts/artifacts/1/b/resmon/run.json HTTP"));
    }
    end();
}

static char *joined(const char *one, const char *two, const char *three)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s%s%s", one, two, three) > 0);
    return text;
}

static void say_artifacts(const char *scheme, const char *root, const char *rest)
{
    char *uri = joined(scheme, root, rest);
    (void)rm_text_set(client.artifact_uri, sizeof client.artifact_uri, uri);
    free(uri);
}

/* A server whose artifacts are in a directory has its clients write there, as MLflow's own does:
 * in the run's place alone, and where the directory is this machine's. */
TEST(artifacts_in_a_directory)
{
    char *here = realpath(test_directory, NULL);
    assert_non_null(here);
    char *root = joined(here, "/mlruns", ""), *place = joined("/7/", "0123abcd", "/artifacts");
    static const char *const schemes[] = {"", "file://", "file:"};
    begin(NULL, 0, 0);
    (void)snprintf(client.run_id, sizeof client.run_id, "%s", "0123abcd");
    say_artifacts("", root, place);
    assert_status(RESMON_ENOTSUP, send_item(RM_MLFLOW_ARTIFACT, "{}"));
    assert_true(client.is_refused && strstr(resmon_last_error(), "this machine does not have"));
    assert_int_equal(mkdir(root, 0700), 0);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        char body[] = "{\"a\":0}";
        body[5] = (char)('0' + i);
        say_artifacts(schemes[i], root, place);
        assert_ok(send_item(RM_MLFLOW_ARTIFACT, body));
        char *path = joined(root, place, "/resmon/run.json");
        char *text = content_of(path, NULL);
        assert_string_equal(text, body);
        free(text);
        free(path);
    }
    static const char *const others[] = {"/7/other/artifacts", "/7/0123abcd",
                                         "/7/../0123abcd/artifacts", "/7/0123abcd/artifacts?x",
                                         "/%37/0123abcd/artifacts"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        say_artifacts("", root, others[i]);
        assert_status(RESMON_ENOTSUP, send_item(RM_MLFLOW_ARTIFACT, "{}"));
    }
    assert_int_equal(tiny_count(server), 0);
    free(place);
    free(root);
    free(here);
    end();
}

/* ---- what a server says --------------------------------------------------------------------- */

/* Bounded, on one line, without markup; whatever it is. */
TEST(words_of_a_server)
{
    static char endless[100000];
    static char deep[4000];
    memset(endless, 'w', sizeof endless - 1);
    memset(deep, '[', sizeof deep - 1);
    memcpy(deep, "{\"a\":", 5);
    const struct tiny_answer answers[] = {
        {.code = 400, .body = endless},
        {.code = 400, .body = deep},
        {.code = 400, .body = "{\"error_code\":{},\"message\":[1,2]}"},
        {.code = 400, .body = "{\"error_code\":null}"},
        {.code = 400, .body = "{"},
        {.code = 400, .body = "{}"},
        {.code = 400, .body = ""},
        {.code = 400, .body = "<<<<"},
        {.code = 400, .body = "\xff\xfe\x01\x02\r\n\t x"},
        {.code = 400, .body = "{\"error_code\":\"A\\u0000B\",\"message\":\"a\\nb\\u0007\"}"},
        {.code = 400, .raw = "HTTP/1.1 400 B\r\nContent-Length: 3\r\n\r\na\0b", .raw_length = 40},
        {.code = 999, .body = "x"},
    };
    size_t count = sizeof answers / sizeof *answers;
    begin(answers, count, 0);
    for (size_t i = 0; i < count; i++) {
        assert_status(RESMON_EREMOTE, send_item(RM_MLFLOW_UPDATE, "}"));
        const char *text = resmon_last_error();
        assert_true(strlen(text) < 500);
        assert_non_null(strstr(text, "runs/update: HTTP "));
        for (const char *at = text; *at != '\0'; at++) {
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        }
    }
    end();
}

/* ---- faults --------------------------------------------------------------------------------- */

/* One failure of any kind on the way: it is said, and the second attempt comes to one run. */
static void fail_each(enum rm_fault_kind kind)
{
    resmon_status status = RESMON_ENOMEM;
    int64_t k = 0;
    int64_t live = rm_fault_live(0);
    for (; status != RESMON_OK && k < 200; k++) {
        static const struct tiny_answer yes = {.body = RUN("r1")};
        begin(&yes, 1, 0);
        set_wanted(RM_MLFLOW_MAKE, "", 0);
        rm_fault_arm(kind, k);
        status = find();
        rm_fault_arm(kind, -1);
        if (status != RESMON_OK) {
            assert_true(status == RESMON_ENOMEM || status == RESMON_ENET);
            size_t before = tiny_count(server);
            (void)find();
            /* If the server was asked to make it, it is asked for it, before anything else. */
            const char *next = before == 0 ? "POST " API "runs/create" : "POST " API "runs/search";
            assert_true(tiny_is(tiny_request(server, before), next));
        }
        end();
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(k >= 2 && status == RESMON_OK);
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

#endif
