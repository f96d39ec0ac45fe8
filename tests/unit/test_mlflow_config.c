/* SPDX-License-Identifier: MIT */
/*
 * net/mlflow_config: what the options, the variables and the credentials file of MLflow's client
 * come to; that what is wrong is said with its name; and that no credential stays in the
 * configuration or gets into a text.
 */
#define _GNU_SOURCE /* memmem */
#include "test.h"

#ifndef RM_HAVE_CJSON

TEST_FILE(.skipped = "this build has no JSON (cJSON), and so nothing for MLflow");

#else

#include <ctype.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fault.h"
#include "net/mlflow_config.h"
#include "sink/sinks.h"
#include "tiny_server.h"

static struct rm_mlflow_config config;
static struct rm_http *http;

static const char *const variables[] = {
    "MLFLOW_TRACKING_URI",
    "MLFLOW_EXPERIMENT_NAME",
    "MLFLOW_EXPERIMENT_ID",
    "MLFLOW_RUN_ID",
    "MLFLOW_TRACKING_USERNAME",
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_TRACKING_TOKEN",
    "MLFLOW_TRACKING_INSECURE_TLS",
    "MLFLOW_TRACKING_SERVER_CERT_PATH",
    "MLFLOW_TRACKING_CLIENT_CERT_PATH",
    "MLFLOW_WORKSPACE",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER",
    "MLFLOW_HTTP_REQUEST_TIMEOUT",
    "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER",
    "MLFLOW_ALLOW_HTTP_REDIRECTS",
    "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING",
    "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL",
    "MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING",
    "MLFLOW_SYSTEM_METRICS_NODE_ID",
    "MLFLOW_RUN_CONTEXT",
    "LOGNAME",
    "USER",
};

static void set(const char *variable, const char *value)
{
    assert_int_equal(setenv(variable, value, 1), 0);
}

static void forget(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        assert_int_equal(unsetenv(variables[i]), 0);
    }
    set("HOME", test_directory);
    set("MLFLOW_TRACKING_URI", "http://h");
    set("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0");
    set("MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0");
}

static void close_client(void)
{
    rm_http_close(http);
    http = NULL;
}

static resmon_status open_with(const resmon_mlflow_options *options)
{
    close_client();
    resmon_mlflow_options known;
    resmon_status status = rm_sink_take(rm_sink_kind_find("mlflow"), options, &known);
    status = status == RESMON_OK ? rm_mlflow_config_open(&known, &config, &http) : status;
    assert_true(status == RESMON_OK || http == NULL);
    if (memmem(&config, sizeof config, "SECRET", 6) != NULL) {
        fail_msg("a credential is in the configuration");
    }
    if (status != RESMON_OK && strstr(resmon_last_error(), "SECRET") != NULL) {
        fail_msg("a credential is in the text: %s", resmon_last_error());
    }
    return status;
}

static resmon_status open_plain(void)
{
    return open_with(NULL);
}

/* The text of the refusal names what is wrong. */
static void assert_refused(resmon_status expected, const resmon_mlflow_options *options,
                           const char *name)
{
    assert_status(expected, open_with(options));
    if (strstr(resmon_last_error(), name) == NULL) {
        fail_msg("no %s in: %s", name, resmon_last_error());
    }
}

/* ---- the server ----------------------------------------------------------------------------- */

TEST(an_address_is_needed)
{
    static const char *const bad[] = {
        "databricks", "file:/tmp/x", "./mlruns",   "sqlite:///x",
        "ftp://h",    "http://",     "u:SECRET@h", "http://u:SECRET@h/?x"};
    forget();
    set("MLFLOW_TRACKING_URI", "");
    assert_refused(RESMON_EINVAL, NULL, "set MLFLOW_TRACKING_URI");
    assert_int_equal(unsetenv("MLFLOW_TRACKING_URI"), 0);
    assert_refused(RESMON_EINVAL, NULL, "set MLFLOW_TRACKING_URI");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set("MLFLOW_TRACKING_URI", bad[i]);
        assert_refused(RESMON_EINVAL, NULL, "the MLflow tracking URI");
    }
    set("MLFLOW_TRACKING_URI", "https://u:SECRET@h:5000/prefix/");
    assert_ok(open_plain());
    assert_string_equal(config.uri, "https://h:5000/prefix");
    const resmon_mlflow_options options = {.struct_size = sizeof options,
                                           .tracking_uri = "http://other"};
    assert_ok(open_with(&options));
    assert_string_equal(config.uri, "http://other");
    close_client();
}

/* ---- texts ---------------------------------------------------------------------------------- */

TEST(texts)
{
    resmon_mlflow_options options = {.struct_size = sizeof options,
                                     .experiment = "option",
                                     .experiment_id = "1option",
                                     .run_id = "2option",
                                     .run_name = "3 option",
                                     .workspace = "4 option"};
    forget();
    assert_ok(open_plain());
    assert_string_equal(config.experiment, "");
    assert_string_equal(config.experiment_id, "");
    assert_string_equal(config.run_id, "");
    set("MLFLOW_EXPERIMENT_NAME", "variable \"\xc3\xa9\"");
    set("MLFLOW_EXPERIMENT_ID", "1variable");
    set("MLFLOW_RUN_ID", "2variable");
    set("MLFLOW_WORKSPACE", "4 variable");
    set("MLFLOW_SYSTEM_METRICS_NODE_ID", "5 variable");
    set("MLFLOW_RUN_CONTEXT", "{\"6\":\"variable\"}");
    assert_ok(open_plain());
    assert_string_equal(config.experiment, "variable \"\xc3\xa9\"");
    assert_string_equal(config.experiment_id, "1variable");
    assert_string_equal(config.run_id, "2variable");
    assert_string_equal(config.workspace, "4 variable");
    assert_string_equal(config.node_id, "5 variable");
    assert_string_equal(config.context, "{\"6\":\"variable\"}");
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "option");
    assert_string_equal(config.experiment_id, "1option");
    assert_string_equal(config.run_id, "2option");
    assert_string_equal(config.run_name, "3 option");
    assert_string_equal(config.workspace, "4 option");
    /* What the options say of the experiment, no variable says otherwise. */
    options.experiment_id = NULL;
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "option");
    assert_string_equal(config.experiment_id, "");
    options.experiment_id = "1option";
    options.experiment = "";
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "");
    assert_string_equal(config.experiment_id, "1option");
    close_client();
}

TEST(texts_that_are_too_long)
{
    static const char *const names[] = {
        "MLFLOW_EXPERIMENT_NAME",   "MLFLOW_EXPERIMENT_ID",          "MLFLOW_RUN_ID",
        "MLFLOW_WORKSPACE",         "MLFLOW_SYSTEM_METRICS_NODE_ID", "MLFLOW_RUN_CONTEXT",
        "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD",      "MLFLOW_TRACKING_TOKEN",
    };
    static char text[20000];
    for (size_t i = 0; i < sizeof text - 7; i += 6) {
        memcpy(text + i, "SECRET", 7);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        forget();
        set(names[i], text);
        assert_refused(RESMON_EINVAL, NULL, names[i]);
    }
    forget();
    memset(text, 'h', sizeof text - 1);
    memcpy(text, "http://", 7);
    set("MLFLOW_TRACKING_URI", text);
    assert_refused(RESMON_EINVAL, NULL, "the MLflow tracking URI");
}

TEST(ids)
{
    static const char *const bad[] = {"-a",  "_a", "a b",      "a/b", "a?b",
                                      "a&b", "..", "\xc3\xa9", "a\n"};
    static char longest[260];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        forget();
        set("MLFLOW_RUN_ID", bad[i]);
        assert_refused(RESMON_EINVAL, NULL, "MLFLOW_RUN_ID");
        forget();
        set("MLFLOW_EXPERIMENT_ID", bad[i]);
        assert_refused(RESMON_EINVAL, NULL, "MLFLOW_EXPERIMENT_ID");
    }
    memset(longest, 'a', 256);
    forget();
    set("MLFLOW_RUN_ID", longest);
    assert_ok(open_plain());
    longest[256] = 'a';
    set("MLFLOW_RUN_ID", longest);
    assert_refused(RESMON_EINVAL, NULL, "MLFLOW_RUN_ID");
    forget();
    set("MLFLOW_WORKSPACE", "a\r\nX-Evil: yes");
    assert_refused(RESMON_EINVAL, NULL, "MLFLOW_WORKSPACE");
    close_client();
}

/* ---- numbers and switches ------------------------------------------------------------------- */

TEST(numbers)
{
    static const struct {
        const char *name, *least, *most, *less, *more;
    } rows[] = {
        {"MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0", "10", "-1", "11"},
        {"MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0", "120", "-0.5", "120.5"},
        {"MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", "0.0", "120.0", "-1", "121"},
        {"MLFLOW_HTTP_REQUEST_TIMEOUT", "0.001", "86400", "0", "86401"},
        {"MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.5", "86400", "0", "86401"},
        {"MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING", "1", "1000000", "0", "1000001"},
    };
    static const char *const bad[] = {"x",   "1x",  "1 ",    "nan",
                                      "inf", "1e3", "0x10",  "--1",
                                      ".",   "1,5", "1.2.3", "99999999999999999999999",
                                      "\xff"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forget();
        set(rows[i].name, "");
        assert_ok(open_plain());
        set(rows[i].name, rows[i].least);
        assert_ok(open_plain());
        set(rows[i].name, rows[i].most);
        assert_ok(open_plain());
        set(rows[i].name, rows[i].less);
        assert_refused(RESMON_EINVAL, NULL, rows[i].name);
        set(rows[i].name, rows[i].more);
        assert_refused(RESMON_EINVAL, NULL, rows[i].name);
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            set(rows[i].name, bad[k]);
            assert_refused(RESMON_EINVAL, NULL, rows[i].name);
        }
    }
    close_client();
}

TEST(switches)
{
    static const char *const names[] = {
        "MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", "MLFLOW_ALLOW_HTTP_REDIRECTS",
        "MLFLOW_TRACKING_INSECURE_TLS", "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING"};
    static const char *const good[] = {"true", "false", "1", "0", "True", "FALSE", ""};
    static const char *const bad[] = {"yes", "no", "on", "2", " true", "true ", "t", "\xff"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        forget();
        for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
            set(names[i], good[k]);
            assert_ok(open_plain());
            bool is_on = tolower(good[k][0]) == 't' || good[k][0] == '1';
            assert_int_equal(config.flags, i == 3 && is_on ? RESMON_MLFLOW_SERIES : 0);
        }
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            set(names[i], bad[k]);
            assert_refused(RESMON_EINVAL, NULL, names[i]);
        }
    }
    close_client();
}

TEST(intervals_and_portions)
{
    resmon_mlflow_options options = {.struct_size = sizeof options};
    forget();
    assert_ok(open_with(&options));
    assert_int_equal(config.interval_ms, 10000);
    assert_int_equal(config.batch_metrics, 1000);
    assert_int_equal(config.node_index, -1);
    assert_true(config.budget_ns == 60 * RM_NS_PER_S);
    set("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.25");
    set("MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING", "8");
    assert_ok(open_with(&options));
    assert_int_equal(config.interval_ms, 2000);
    options.interval_ms = 7;
    options.batch_metrics = 1;
    options.node_index = 4;
    options.budget_ms = 1;
    assert_ok(open_with(&options));
    assert_int_equal(config.interval_ms, 7);
    assert_int_equal(config.batch_metrics, 1);
    assert_int_equal(config.node_index, 3);
    assert_true(config.budget_ns == RM_NS_PER_MS);
    options = (resmon_mlflow_options){.struct_size = sizeof options};
    options.tracking_uri = "https://westeurope.api.azureml.ms/mlflow/v2.0";
    assert_ok(open_with(&options));
    assert_int_equal(config.batch_metrics, 200);
    options.batch_metrics = 1000;
    assert_ok(open_with(&options));
    assert_int_equal(config.batch_metrics, 200);
    options.tracking_uri = "https://h/azureml";
    assert_ok(open_with(&options));
    assert_int_equal(config.batch_metrics, 1000);
    close_client();
}

TEST(options_that_are_refused)
{
    const resmon_mlflow_options none = {.struct_size = sizeof none};
    resmon_mlflow_options options = none;
    forget();
    options.flags = UINT64_C(1) << 40;
    assert_refused(RESMON_EINVAL, &options, "flags has unknown bits");
    options = none;
    options.batch_metrics = 1001;
    assert_refused(RESMON_ERANGE, &options, "batch_metrics");
    options = none;
    options.node_index = -1;
    assert_refused(RESMON_ERANGE, &options, "node_index");
    options = none;
    options.timeout_ms = UINT64_MAX;
    assert_refused(RESMON_ERANGE, &options, "mlflow.timeout is ");
    options = none;
    options.interval_ms = UINT64_MAX;
    assert_refused(RESMON_ERANGE, &options, "mlflow.interval is ");
    options = none;
    options.budget_ms = UINT64_MAX;
    assert_refused(RESMON_ERANGE, &options, "mlflow.budget is ");
    options = none;
    options.struct_size = 4;
    assert_refused(RESMON_EINVAL, &options, "struct_size");
    options = none;
    options.ca_path = "/nonexistent/ca.pem";
    assert_refused(RESMON_EINVAL, &options, "/nonexistent/ca.pem");
    options.ca_path = "/etc/passwd"; /* a file that is there */
    set("MLFLOW_TRACKING_INSECURE_TLS", "true");
    assert_refused(RESMON_EINVAL, &options, "contradict");
    options.flags = RESMON_MLFLOW_INSECURE_TLS;
    set("MLFLOW_TRACKING_INSECURE_TLS", "");
    assert_refused(RESMON_EINVAL, &options, "contradict");
    forget();
    set("MLFLOW_TRACKING_SERVER_CERT_PATH", "/nonexistent/variable.pem");
    assert_refused(RESMON_EINVAL, NULL, "/nonexistent/variable.pem");
    forget();
    set("MLFLOW_TRACKING_CLIENT_CERT_PATH", "/nonexistent/client.pem");
    assert_refused(RESMON_EINVAL, NULL, "/nonexistent/client.pem");
}

/* ---- the place of what was not sent
 * ----------------------------------------------------------------- */

TEST(what_was_not_sent_has_a_place)
{
    char here[4096];
    resmon_mlflow_options options = {.struct_size = sizeof options};
    forget();
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(test_directory), 0);
    assert_ok(open_with(&options));
    assert_int_equal(strncmp(config.spool, test_directory, strlen(test_directory)), 0);
    assert_non_null(strstr(config.spool, "/resmon-mlflow-"));
    assert_null(strchr(config.spool, '%'));
    options.spool = "my-%p.json";
    assert_ok(open_with(&options));
    assert_non_null(strstr(config.spool, "/my-"));
    options.spool = "none/x.json";
    assert_refused(RESMON_ENOENT, &options, "none");
    options.spool = "x-%q";
    assert_refused(RESMON_EINVAL, &options, "%q");
    options.spool = "/dev/null";
    assert_refused(RESMON_EINVAL, &options, "/dev/null");
    options.spool = "none/x.json";
    options.flags = RESMON_MLFLOW_NO_SPOOL;
    assert_ok(open_with(&options));
    assert_string_equal(config.spool, "");
    assert_int_equal(chdir(here), 0);
    close_client();
}

/* ---- who one is, and how one talks ---------------------------------------------------------- */

static struct tiny_server *server;

static void serve(const struct tiny_answer *list, size_t count)
{
    server = calloc(1, sizeof *server);
    server->list = list;
    server->list_count = count;
    TINY_START(server);
    set("MLFLOW_TRACKING_URI", server->url);
}

static void stop_serving(void)
{
    close_client();
    tiny_stop(server);
    free(server);
}

static resmon_status ask(int *ret_code)
{
    struct rm_http_reply reply = {0};
    const struct rm_http_request request = {.method = "GET", .url = config.uri};
    resmon_status status = rm_http_send(http, &request, RM_DEADLINE_NONE, &reply);
    *ret_code = reply.code;
    rm_http_reply_free(&reply);
    return status;
}

/* The line that the server sees; "": none. */
static void assert_authorized(const resmon_mlflow_options *options, const char *line)
{
    int code;
    assert_ok(open_with(options));
    assert_ok(ask(&code));
    const struct tiny_request *request = tiny_request(server, tiny_count(server) - 1);
    const char *wanted = line[0] != '\0' ? line : "Authorization:";
    if (tiny_has_header(request, wanted) != (line[0] != '\0')) {
        fail_msg("not '%s' in: %s", line, request->text);
    }
}

static void put_credentials(const char *text, size_t length)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/.mlflow", test_directory);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/.mlflow/credentials", test_directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

#define FILE_TEXT                                 \
    "[mlflow]\nmlflow_tracking_username = file\n" \
    "mlflow_tracking_password = SECRETf\n"

/* base64 of "file:SECRETf" and so on */
#define AS_FILE     "Authorization: Basic ZmlsZTpTRUNSRVRm\r\n"
#define AS_URI      "Authorization: Basic dXJpOlNFQ1JFVHU=\r\n"
#define AS_VARIABLE "Authorization: Basic dmFyOlNFQ1JFVHY=\r\n"
#define AS_OPTION   "Authorization: Basic b3B0OlNFQ1JFVG8=\r\n"

TEST(who_goes_before_whom)
{
    char uri[128];
    resmon_mlflow_options options = {.struct_size = sizeof options};
    forget();
    serve(NULL, 0);
    assert_authorized(NULL, "");
    set("MLFLOW_TRACKING_TOKEN", "SECRETt");
    assert_authorized(NULL, "Authorization: Bearer SECRETt\r\n");
    put_credentials(FILE_TEXT, sizeof FILE_TEXT - 1);
    assert_authorized(NULL, AS_FILE);
    assert_string_equal(config.user, "file");
    (void)snprintf(uri, sizeof uri, "http://uri:SECRETu@%s", server->url + 7);
    set("MLFLOW_TRACKING_URI", uri);
    assert_authorized(NULL, AS_URI);
    set("MLFLOW_TRACKING_USERNAME", "var");
    set("MLFLOW_TRACKING_PASSWORD", "SECRETv");
    assert_authorized(NULL, AS_VARIABLE);
    options.user = "opt";
    options.password = "SECRETo";
    options.token = "SECRETx";
    assert_authorized(&options, AS_OPTION);
    options.user = NULL;
    options.password = NULL;
    put_credentials("", 0);
    forget();
    set("MLFLOW_TRACKING_URI", server->url);
    assert_authorized(&options, "Authorization: Bearer SECRETx\r\n");
    /* One half of a pair is none. */
    options.token = NULL;
    options.user = "half";
    assert_authorized(&options, "");
    options.token = "SECRETx";
    assert_authorized(&options, "Authorization: Bearer SECRETx\r\n");
    options.user = NULL;
    options.token = "SECRET\r\nX-Evil: yes";
    assert_refused(RESMON_EINVAL, &options, "MLFLOW_TRACKING_TOKEN");
    stop_serving();
}

TEST(the_credentials_file)
{
    static const char *const good[] = {
        FILE_TEXT,
        ("\n# comment\n[other]\nmlflow_tracking_username = no\n" FILE_TEXT
         "[third]\nmlflow_tracking_password = no\n"),
        "[mlflow]\r\nmlflow_tracking_username=file\r\nmlflow_tracking_password\t=\tSECRETf\t\r\n",
        "[mlflow]\nno equals\n=\n mlflow_tracking_username =  file "
        "\nmlflow_tracking_password=SECRETf",
    };
    static const char *const none[] = {
        "mlflow_tracking_username = file\nmlflow_tracking_password = SECRETf\n",
        "[other]\nmlflow_tracking_username = file\nmlflow_tracking_password = SECRETf\n",
        "[mlflow]\nmlflow_tracking_username = file\n",
        "[mlflow]\nmlflow_tracking_password = SECRETf\n",
        "[mlflow]\nmlflow_tracking_usernames = file\nmlflow_tracking_password = SECRETf\n",
        "[mlflow\nmlflow_tracking_username = file\nmlflow_tracking_password = SECRETf\n",
        "\0",
    };
    static char large[8192];
    forget();
    serve(NULL, 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        put_credentials(good[i], strlen(good[i]));
        assert_authorized(NULL, AS_FILE);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        put_credentials(none[i], strlen(none[i]));
        assert_authorized(NULL, "");
    }
    memset(large, '#', sizeof large);
    memcpy(large, FILE_TEXT, sizeof FILE_TEXT - 1);
    put_credentials(large, sizeof large); /* none that anybody wrote by hand */
    assert_authorized(NULL, "");
    put_credentials(large, 4096);
    assert_authorized(NULL, AS_FILE);
    memset(large, '\xff', sizeof large);
    put_credentials(large, 4000);
    assert_authorized(NULL, "");
    set("HOME", "/nonexistent");
    assert_authorized(NULL, "");
    set("HOME", "");
    assert_authorized(NULL, "");
    assert_int_equal(unsetenv("HOME"), 0);
    assert_authorized(NULL, "");
    put_credentials("", 0);
    stop_serving();
}

TEST(how_one_talks)
{
    static const struct tiny_answer list[] = {
        {.code = 503},  {.code = 503},
        {.code = 503},  {.code = 503, .headers = "Retry-After: 3600\r\n"},
        {.code = 200},  {.code = 302, .headers = "Location: /x\r\n"},
        {.body = "{}"}, {.hangs = true}};
    int code;
    forget();
    serve(list, sizeof list / sizeof *list);
    set("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2");
    assert_ok(open_plain());
    assert_ok(ask(&code));
    assert_int_equal(code, 503);
    assert_int_equal(tiny_count(server), 3);
    set("MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", "false");
    assert_ok(open_plain());
    assert_ok(ask(&code));
    assert_int_equal(code, 200);
    set("MLFLOW_ALLOW_HTTP_REDIRECTS", "false");
    assert_ok(open_plain());
    assert_ok(ask(&code));
    assert_int_equal(code, 302);
    set("MLFLOW_WORKSPACE", "team a");
    assert_ok(open_plain());
    assert_ok(ask(&code));
    assert_true(tiny_has_header(tiny_request(server, 6), "X-MLFLOW-WORKSPACE: team a\r\n"));
    set("MLFLOW_HTTP_REQUEST_TIMEOUT", "0.15");
    set("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0");
    assert_ok(open_plain());
    assert_status(RESMON_ETIMEDOUT, ask(&code));
    stop_serving();
}

TEST(the_user_of_a_run)
{
    forget();
    assert_ok(open_plain());
    assert_string_equal(config.user, "");
    set("USER", "user");
    assert_ok(open_plain());
    assert_string_equal(config.user, "user");
    set("LOGNAME", "log\nname");
    assert_ok(open_plain());
    assert_string_equal(config.user, "log?name");
    set("MLFLOW_TRACKING_USERNAME", "tracking");
    set("MLFLOW_TRACKING_PASSWORD", "SECRET");
    assert_ok(open_plain());
    assert_string_equal(config.user, "tracking");
    close_client();
}

TEST(any_allocation_may_fail)
{
    int64_t live = rm_fault_live(0);
    resmon_status status = RESMON_ENOMEM;
    int64_t k = 0;
    forget();
    set("MLFLOW_WORKSPACE", "w");
    for (; status != RESMON_OK && k < 100; k++) {
        rm_fault_arm(RM_FAULT_ALLOC, k);
        status = open_plain();
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_true(status == RESMON_OK || status == RESMON_ENOMEM);
        close_client();
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(k > 2 && status == RESMON_OK);
}

TEST(names_are_utf8)
{
    resmon_mlflow_options options = {.struct_size = sizeof options};
    forget();
    set("MLFLOW_EXPERIMENT_NAME", "caf\xc3\xa9 \xff\xc3.");
    options.run_name = "a\nb\x80";
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "caf\xc3\xa9 ??.");
    assert_string_equal(config.run_name, "a?b?");
    close_client();
    forget();
}

TEST_FILE(.missing = missing_http);

#endif
