/* SPDX-License-Identifier: MIT */
/*
 * net/mlflow_config: what the options, the variables and the credentials file of MLflow's client
 * come to; that what is wrong is said with its name; and that no credential stays in the
 * configuration or gets into a text.
 */
#define _GNU_SOURCE /* memmem */
#include "faults.h"
#include "test.h"

#ifndef RM_HAVE_CJSON

TEST_FILE(.skipped = "this build has no JSON (cJSON), and so nothing for MLflow");

#else

#include <ctype.h>
#include <sys/stat.h>

#include "base/clock.h"
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
    forget();
    set("MLFLOW_TRACKING_URI", "");
    assert_refused(RESMON_EINVAL, NULL, "set MLFLOW_TRACKING_URI");
    assert_int_equal(unsetenv("MLFLOW_TRACKING_URI"), 0);
    assert_refused(RESMON_EINVAL, NULL, "set MLFLOW_TRACKING_URI");
    set("MLFLOW_TRACKING_URI", "http://u:SECRET@h/?x"); /* others: test_address.c */
    assert_refused(RESMON_EINVAL, NULL, "the MLflow tracking URI");
    set("MLFLOW_TRACKING_URI", "https://u:SECRET@h:5000/prefix/");
    assert_ok(open_plain());
    assert_string_equal(config.uri, "https://h:5000/prefix");
    const resmon_mlflow_options options = {.struct_size = sizeof options,
                                           .tracking_uri = "http://other"};
    assert_ok(open_with(&options));
    assert_string_equal(config.uri, "http://other");
    close_client();
}

/* ---- variables ------------------------------------------------------------------------------ */

/* What the options say of the experiment, no variable says otherwise. */
TEST(options_win)
{
    resmon_mlflow_options options = {.struct_size = sizeof options, .experiment = "option"};
    forget();
    set("MLFLOW_EXPERIMENT_NAME", "variable \"\xc3\xa9\"");
    set("MLFLOW_EXPERIMENT_ID", "1variable");
    set("MLFLOW_RUN_ID", "2variable");
    assert_ok(open_plain());
    assert_string_equal(config.experiment, "variable \"\xc3\xa9\"");
    assert_string_equal(config.experiment_id, "1variable");
    assert_string_equal(config.run_id, "2variable");
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "option");
    assert_string_equal(config.experiment_id, "");
    options = (resmon_mlflow_options){.struct_size = sizeof options,
                                      .experiment = "",
                                      .experiment_id = "1option",
                                      .run_id = "2option",
                                      .run_name = "3 option",
                                      .workspace = "4 option"};
    assert_ok(open_with(&options));
    assert_string_equal(config.experiment, "");
    assert_string_equal(config.experiment_id, "1option");
    assert_string_equal(config.run_id, "2option");
    assert_string_equal(config.run_name, "3 option");
    assert_string_equal(config.workspace, "4 option");
    close_client();
}

#define WORDS    "0", "1", "true", "FALSE", ""
#define NO_WORDS "yes", "2", " true", "true ", "t", "\xff"
#define NO_NUMBERS                                                                    \
    "x", "1x", "1 ", "nan", "inf", "1e3", "0x10", "--1", ".", "1,5", "1.2.3", "\xff", \
        "99999999999999999999999"

/* The refusals name the variable; mlflow_faults_settings.py has what a program makes of them. */
TEST(values_of_variables)
{
    static char longest[257], longer[20000];
    static const struct {
        const char *name, *good[6], *bad[20];
    } rows[] = {
        {"MLFLOW_HTTP_REQUEST_MAX_RETRIES", {"0", "10", ""}, {"-1", "11", NO_NUMBERS}},
        {"MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", {"0", "120", ""}, {"-0.5", "120.5", NO_NUMBERS}},
        {"MLFLOW_HTTP_REQUEST_BACKOFF_JITTER", {"0.0", "120.0", ""}, {"-1", "121", NO_NUMBERS}},
        {"MLFLOW_HTTP_REQUEST_TIMEOUT", {"0.001", "86400", ""}, {"0", "86401", NO_NUMBERS}},
        {"MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL",
         {"0.5", "86400", ""},
         {"0", "86401", NO_NUMBERS}},
        {"MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING",
         {"1", "1000000", ""},
         {"0", "1000001", NO_NUMBERS}},
        {"MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER", {WORDS}, {NO_WORDS}},
        {"MLFLOW_ALLOW_HTTP_REDIRECTS", {WORDS}, {NO_WORDS}},
        {"MLFLOW_TRACKING_INSECURE_TLS", {WORDS}, {NO_WORDS}},
        {"MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", {WORDS}, {NO_WORDS}},
        {"MLFLOW_RUN_ID", {longest}, {"-a", "_a", "a b", "a/b", "a?b", "a&b", "..", "a\n", longer}},
        {"MLFLOW_EXPERIMENT_ID", {longest}, {"-a", "a b", "a/b", "..", "\xc3\xa9", longer}},
        {"MLFLOW_EXPERIMENT_NAME", {"a b"}, {longer}},
        {"MLFLOW_WORKSPACE", {"a b"}, {"a\r\nX-Evil: yes", longer}},
        {"MLFLOW_SYSTEM_METRICS_NODE_ID", {"a b"}, {longer}},
        {"MLFLOW_RUN_CONTEXT", {"{}"}, {longer}},
        {"MLFLOW_TRACKING_USERNAME", {"a b"}, {longer}},
        {"MLFLOW_TRACKING_PASSWORD", {"SECRET"}, {longer}},
        {"MLFLOW_TRACKING_TOKEN", {"SECRET"}, {"SECRET\r\nX-Evil: yes", longer}},
    };
    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i < sizeof longer - 7; i += 6) {
        memcpy(longer + i, "SECRET", 7);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        forget();
        for (size_t k = 0; k < 6 && rows[i].good[k] != NULL; k++) {
            set(rows[i].name, rows[i].good[k]);
            assert_ok(open_plain());
        }
        for (size_t k = 0; k < 20 && rows[i].bad[k] != NULL; k++) {
            set(rows[i].name, rows[i].bad[k]);
            assert_refused(RESMON_EINVAL, NULL, rows[i].name);
        }
    }
    close_client();
}

TEST(series_by_a_variable)
{
    forget();
    set("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "True");
    assert_ok(open_plain());
    assert_int_equal(config.flags, RESMON_MLFLOW_SERIES);
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

/* Bounds of options are those of their table (test_option.c). */
TEST(options_that_are_refused)
{
    static const struct {
        resmon_mlflow_options options;
        resmon_status status;
        const char *name;
    } rows[] = {
        {{.flags = UINT64_C(1) << 40}, RESMON_EINVAL, "flags has unknown bits"},
        {{.batch_metrics = 1001}, RESMON_ERANGE, "batch_metrics"},
        {{.node_index = -1}, RESMON_ERANGE, "node_index"},
        {{.timeout_ms = UINT64_MAX}, RESMON_ERANGE, "mlflow.timeout is "},
        {{.ca_path = "/nonexistent/ca.pem"}, RESMON_EINVAL, "/nonexistent/ca.pem"},
        {{.ca_path = "/etc/passwd", .flags = RESMON_MLFLOW_INSECURE_TLS},
         RESMON_EINVAL,
         "contradict"},
    };
    forget();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        resmon_mlflow_options options = rows[i].options;
        options.struct_size = sizeof options;
        assert_refused(rows[i].status, &options, rows[i].name);
    }
    const resmon_mlflow_options options = {.struct_size = sizeof options,
                                           .ca_path = "/etc/passwd"}; /* a file that is there */
    set("MLFLOW_TRACKING_INSECURE_TLS", "true");
    assert_refused(RESMON_EINVAL, &options, "contradict");
    forget();
    set("MLFLOW_TRACKING_SERVER_CERT_PATH", "/nonexistent/variable.pem");
    assert_refused(RESMON_EINVAL, NULL, "/nonexistent/variable.pem");
    forget();
    set("MLFLOW_TRACKING_CLIENT_CERT_PATH", "/nonexistent/client.pem");
    assert_refused(RESMON_EINVAL, NULL, "/nonexistent/client.pem");
}

/* ---- the place of what was not sent --------------------------------------------------------- */

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
#define AS_FILE "Authorization: Basic ZmlsZTpTRUNSRVRm\r\n"

/* What the file's text comes to: test_ini.c.  Who wins: mlflow_faults_settings.py. */
TEST(the_credentials_file)
{
    static const char half[] = "[mlflow]\nmlflow_tracking_username = file\n";
    static char large[8192];
    forget();
    serve(NULL, 0);
    put_credentials(FILE_TEXT, sizeof FILE_TEXT - 1);
    assert_authorized(NULL, AS_FILE);
    assert_string_equal(config.user, "file");
    memset(large, '#', sizeof large);
    memcpy(large, FILE_TEXT, sizeof FILE_TEXT - 1);
    put_credentials(large, sizeof large); /* none that anybody wrote by hand */
    assert_authorized(NULL, "");
    put_credentials(large, 4096);
    assert_authorized(NULL, AS_FILE);
    memset(large, '\xff', sizeof large);
    put_credentials(large, 4000);
    assert_authorized(NULL, "");
    /* One half of a pair is none. */
    put_credentials(half, sizeof half - 1);
    assert_authorized(NULL, "");
    set("MLFLOW_TRACKING_TOKEN", "SECRETt");
    assert_authorized(NULL, "Authorization: Bearer SECRETt\r\n");
    assert_int_equal(unsetenv("MLFLOW_TRACKING_TOKEN"), 0);
    put_credentials(FILE_TEXT, sizeof FILE_TEXT - 1);
    set("HOME", "/nonexistent");
    assert_authorized(NULL, "");
    set("HOME", "");
    assert_authorized(NULL, "");
    assert_int_equal(unsetenv("HOME"), 0);
    assert_authorized(NULL, "");
    put_credentials("", 0);
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

static resmon_status open_and_close(void *unused)
{
    (void)unused;
    resmon_status status = open_plain();
    close_client();
    return status;
}

TEST(any_allocation_may_fail)
{
    forget();
    set("MLFLOW_WORKSPACE", "w");
    fail_each(RM_FAULT_ALLOC, open_and_close, NULL, 2);
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
