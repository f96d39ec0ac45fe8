/* SPDX-License-Identifier: MIT */
/*
 * A machine without libcurl, with a broken one, or with another library under its name: whatever
 * needs it says so, each time, and everything else works.  The program is this test, run again with
 * a directory of its own in front of the others.
 */
#define _GNU_SOURCE /* dladdr */
#include "test.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <resmon/http.h>

#include "net/http.h"

static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

/* ---- the program ------------------------------------------------------------------------ */

static bool is_said(resmon_status status, const char *words)
{
    bool is_right = status == RESMON_ENOTSUP && strstr(resmon_last_error(), words) != NULL;
    if (!is_right) {
        (void)fprintf(stderr, "%s: %s\n", resmon_status_name(status), resmon_last_error());
    }
    return is_right;
}

/* The program's own client: a reply that depends on the method, and what it was given. */
static char given[4096];
static int calls;

static resmon_status exchange(void *context, const resmon_http_request *request,
                              resmon_http_reply *reply)
{
    (void)snprintf(given, sizeof given, "%s %s\n%s\n%zu %s %llu", request->method, request->url,
                   request->headers, request->length, request->ca_path,
                   (unsigned long long)request->flags);
    calls++;
    for (int i = 0; i < *(int *)context; i++) {
        static const char text[1 << 20] = {'x'};
        if (resmon_http_reply_add(reply, text, sizeof text) != RESMON_OK) {
            return RESMON_OK; /* too long */
        }
    }
    if (*(int *)context < 0) {
        (void)resmon_http_reply_add(reply, "because\nnot", 11);
        return RESMON_EACCES;
    }
    reply->code = 200;
    return RESMON_OK;
}

static bool is_sent(resmon_run *run, resmon_status wanted, const char *words)
{
    resmon_status status = resmon_run_export(
        run, "pushgateway", "url=http://me:SECRET@h/a,ca_path=/etc/hosts,insecure_tls");
    bool is_right = status == wanted &&
                    (wanted == RESMON_OK || strstr(resmon_last_error(), words) != NULL) &&
                    strstr(resmon_last_error(), "SECRET") == NULL;
    if (!is_right) {
        (void)fprintf(stderr, "%s: %s\n", resmon_status_name(status), resmon_last_error());
    }
    return is_right;
}

static bool uses_the_programs(resmon_run *run)
{
    int megabytes = 0;
    bool is_right = resmon_set_http(exchange, &megabytes) == 1 && is_sent(run, RESMON_OK, "");
    is_right =
        is_right && strstr(given, "PUT http://h/a/metrics/job/resmon") == given &&
        strstr(given, "\nAuthorization: Basic bWU6U0VDUkVU\nContent-Type: text/plain") != NULL &&
        strstr(given, " /etc/hosts 1") != NULL;
    megabytes = 5;
    is_right = is_right && is_sent(run, RESMON_EFORMAT, "longer than");
    megabytes = -1;
    calls = 0;
    is_right = is_right && is_sent(run, RESMON_ENET, "PUT http://h/a/metrics/job/resmon") &&
               strstr(resmon_last_error(), ": because") != NULL && calls == 1; /* not tried again */
    if (!is_right) {
        (void)fprintf(stderr, "given: %s\n", given);
    }
    return is_right && resmon_set_http(NULL, NULL) == 0;
}

static int run_program(char **arguments)
{
    const char *words = arguments[0];
    struct rm_http *http = NULL;
    const struct rm_http_config how = {.url = "http://h"};
    const resmon_mlflow_options mlflow = {.struct_size = sizeof mlflow, .tracking_uri = "http://h"};
    const resmon_pushgateway_options push = {.struct_size = sizeof push, .url = "http://h"};
    const resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 10, .domains = RESMON_DOMAIN_PROCESS};
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    bool is_right = resmon_monitor_new(&options, &monitor) == RESMON_OK;
    for (int i = 0; i < 2 && is_right; i++) {
        is_right = is_said(rm_http_open(&how, &http), words) && http == NULL &&
                   is_said(resmon_monitor_add_pushgateway(monitor, &push), words) &&
                   is_said(resmon_monitor_add_otlp(monitor, NULL), words);
#ifdef RM_HAVE_CJSON
        is_right = is_right && is_said(resmon_monitor_add_mlflow(monitor, &mlflow), words);
#endif
    }
    is_right = is_right && resmon_monitor_sink_count(monitor) == 0 &&
               resmon_monitor_start(monitor) == RESMON_OK &&
               resmon_monitor_stop(monitor) == RESMON_OK &&
               resmon_monitor_snapshot(monitor, &run) == RESMON_OK;
#ifdef RM_HAVE_CJSON
    is_right = is_right && is_said(resmon_run_push_mlflow(run, &mlflow), words);
#endif
    (void)mlflow;
    is_right = is_right && uses_the_programs(run) && is_sent(run, RESMON_ENOTSUP, words);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return is_right ? 0 : 1;
}

/* ---- the test --------------------------------------------------------------------------- */

static void put_file(const char *name, const char *from)
{
    char command[600];
    (void)snprintf(command, sizeof command, "cp %s %s/%s", from, test_directory, name);
    assert_int_equal(system(command), 0);
}

static int run_again(const char *words)
{
    int status = -1;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const char *others = getenv("LD_LIBRARY_PATH"); /* cmocka may be there */
        char path[4096];
        (void)snprintf(path, sizeof path, "%s%s%s", test_directory, others != NULL ? ":" : "",
                       others != NULL ? others : "");
        (void)setenv("LD_LIBRARY_PATH", path, 1);
        exec_this_file(words, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(a_library_that_cannot_be_loaded)
{
    for (size_t i = 0; i < 2; i++) {
        put_file(names[i], "/proc/self/status"); /* text, and no library */
    }
    assert_int_equal(run_again("libcurl (7.66 or later; Debian: libcurl4) cannot be loaded: "), 0);
}

/* One that is too old lacks functions, as this one does. */
TEST(a_library_that_lacks_functions)
{
    Dl_info info;
    void *function = NULL;
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction,
               CMFixtureFunction) = _cmocka_run_group_tests;
    memcpy(&function, &run, sizeof function);
    assert_true(dladdr(function, &info) != 0);
    if (strstr(info.dli_fname, ".so") == NULL) {
        print_message("skipped here: cmocka is no shared library\n");
        skip();
    }
    put_file(names[0], info.dli_fname);
    assert_int_equal(
        run_again("libcurl (7.66 or later; Debian: libcurl4): it has no function curl_global_init"),
        0);
}

#ifdef RM_HAVE_CURL
TEST_FILE(.program = run_program);
#else
TEST_FILE(.skipped = "this build has no HTTP (libcurl)");
#endif
