/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP */
/*
 * The environment variable RESMON: starts a monitor when the library is loaded and finishes it when
 * the program exits.  The one place of the library that prints, because it was asked to.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "engine/autorun.h"
#include "engine/monitor.h"
#include "sys/kept.h"
#include "sys/signal_guard.h"

/* Set by the constructor, and cleared under the lock when the program exits. */
static struct rm_autorun *plan;
static resmon_monitor *monitor;
static pid_t owner; /* the process; 0: nothing was started */
static pthread_mutex_t finish_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct rm_kept stderr_file; /* what descriptor 2 was; never closed */

#define UNOBSERVED "; the program runs on unobserved"

/* Never into another file that has got the number 2, nor the end of the program for a closed pipe.
 */
static void print(const char *text, size_t length)
{
    struct rm_signal_guard guard;
    rm_signal_guard_begin(&guard);
    for (size_t done = 0; done < length && rm_kept_is_ours(&stderr_file);) {
        ssize_t wrote = write(STDERR_FILENO, text + done, length - done);
        if (wrote <= 0 && errno != EINTR) {
            break;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    rm_signal_guard_end(&guard);
}

/* A line in one write, so that threads' lines do not mix. */
static void say(const char *what, const char *text, const char *end)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "resmon: %s%.900s%s\n", what, text, end);
    if (length > 0) {
        print(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    }
}

static void log_line(void *context, int32_t level, const char *line)
{
    (void)context, (void)level;
    say("", line, "");
}

static void print_summary(const resmon_run *run)
{
    char *text = NULL;
    if (resmon_report_text(run, &text) != RESMON_OK) {
        say("no summary: ", resmon_last_error(), "");
        return;
    }
    print(text, strlen(text));
    resmon_text_free(text);
}

/* Of one function, or of the hot ones. */
static void print_lines(const resmon_run *run)
{
    char *text = NULL;
    const char *function = plan->texts[RM_AUTORUN_LINES];
    if (resmon_report_lines(run, function[0] != '\0' ? function : NULL, &text) != RESMON_OK) {
        say("no tables by line: ", resmon_last_error(), "");
        return;
    }
    print(text, strlen(text));
    resmon_text_free(text);
}

/* ---- sinks ------------------------------------------------------------------------------ */

static resmon_status add_json(const char *path)
{
    resmon_json_options options = {
        .struct_size = sizeof options, .path = path, .interval_ms = plan->checkpoint_ms};
    resmon_status status = resmon_monitor_add_json(monitor, &options);
    if (status == RESMON_ENOENT || status == RESMON_EACCES) {
        say("json=: ", resmon_last_error(), "; it is tried again at the end");
        options.flags = RESMON_JSON_LATE;
        status = resmon_monitor_add_json(monitor, &options);
    }
    return status;
}

static resmon_status add_csv(const char *path)
{
    const resmon_csv_options options = {.struct_size = sizeof options, .path = path};
    return resmon_monitor_add_csv(monitor, &options);
}

/* "mlflow" alone: the server is the environment's. */
static resmon_status add_mlflow(const char *uri)
{
    const resmon_mlflow_options options = {.struct_size = sizeof options,
                                           .tracking_uri = uri[0] != '\0' ? uri : NULL};
    return resmon_monitor_add_mlflow(monitor, &options);
}

static resmon_status add_prometheus(const char *directory)
{
    const resmon_prometheus_options options = {.struct_size = sizeof options,
                                               .directory = directory};
    return resmon_monitor_add_prometheus(monitor, &options);
}

static resmon_status add_push(const char *url)
{
    const resmon_pushgateway_options options = {.struct_size = sizeof options, .url = url};
    return resmon_monitor_add_pushgateway(monitor, &options);
}

static resmon_status add_openmetrics(const char *path)
{
    const resmon_openmetrics_options options = {.struct_size = sizeof options, .path = path};
    return resmon_monitor_add_openmetrics(monitor, &options);
}

static resmon_status add_trace(const char *path)
{
    const resmon_trace_options options = {.struct_size = sizeof options, .path = path};
    return resmon_monitor_add_trace(monitor, &options);
}

static resmon_status add_emissions(const char *path)
{
    const resmon_emissions_options options = {.struct_size = sizeof options, .path = path};
    return resmon_monitor_add_emissions(monitor, &options);
}

static resmon_status add_stacks(const char *path, int32_t format, int32_t kind)
{
    const resmon_stacks_options options = {
        .struct_size = sizeof options, .path = path, .format = format, .kind = kind};
    return resmon_monitor_add_stacks(monitor, &options);
}

static resmon_status add_folded(const char *path)
{
    return add_stacks(path, RESMON_STACKS_FOLDED, RESMON_STACK_CPU);
}

static resmon_status add_folded_memory(const char *path)
{
    return add_stacks(path, RESMON_STACKS_FOLDED, RESMON_STACK_MEMORY);
}

static resmon_status add_speedscope(const char *path)
{
    return add_stacks(path, RESMON_STACKS_SPEEDSCOPE, 0);
}

static resmon_status add_pprof(const char *path)
{
    return add_stacks(path, RESMON_STACKS_PPROF, 0);
}

static const struct {
    enum rm_autorun_text text;
    resmon_status (*add)(const char *text);
} outputs[] = {
    {RM_AUTORUN_JSON, add_json},     {RM_AUTORUN_CSV, add_csv},
    {RM_AUTORUN_MLFLOW, add_mlflow}, {RM_AUTORUN_PROMETHEUS, add_prometheus},
    {RM_AUTORUN_PUSH, add_push},     {RM_AUTORUN_OPENMETRICS, add_openmetrics},
    {RM_AUTORUN_TRACE, add_trace},   {RM_AUTORUN_EMISSIONS, add_emissions},
    {RM_AUTORUN_FOLDED, add_folded}, {RM_AUTORUN_FOLDED_MEMORY, add_folded_memory},
    {RM_AUTORUN_PPROF, add_pprof},   {RM_AUTORUN_SPEEDSCOPE, add_speedscope},
};

static bool add_outputs(void)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(outputs); i++) {
        if (plan->has[outputs[i].text] &&
            outputs[i].add(plan->texts[outputs[i].text]) != RESMON_OK) {
            char what[64];
            (void)snprintf(what, sizeof what,
                           "the variable RESMON, %s: ", rm_autorun_text_name(outputs[i].text));
            say(what, resmon_last_error(), UNOBSERVED);
            return false;
        }
    }
    return true;
}

/* Whether every sink did what it was asked; says what did not. */
static bool check_outputs(void)
{
    bool is_all_well = true;
    resmon_sink_info info = {.struct_size = sizeof info};
    for (size_t i = 0; resmon_monitor_get_sink(monitor, i, &info) == RESMON_OK; i++) {
        if (info.end_status != RESMON_OK) {
            say(info.name, ": ", info.reason);
            is_all_well = false;
        }
    }
    return is_all_well;
}

/* The summary takes the place of an output that cannot be written: something of the run stays. */
static void finish(void)
{
    resmon_run *run = NULL;
    (void)resmon_monitor_stop(monitor);
    bool is_written = check_outputs();
    if (!is_written && !plan->wants_summary) {
        say("the summary instead:", "", "");
    }
    bool wants_summary = !is_written || plan->wants_summary;
    if (!wants_summary && !plan->has[RM_AUTORUN_LINES]) {
        return;
    }
    if (resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        say("no result: ", resmon_last_error(), "");
        return;
    }
    if (wants_summary) {
        print_summary(run);
    }
    if (plan->has[RM_AUTORUN_LINES]) {
        print_lines(run);
    }
    resmon_run_free(run);
}

static bool start(const char *text)
{
    plan = rm_alloc(1, sizeof *plan);
    if (plan == NULL) {
        say("cannot start: out of memory", "", UNOBSERVED);
        return false;
    }
    if (rm_autorun_parse(text, plan) != RESMON_OK) {
        say("the variable RESMON: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    if (plan->wants_log) {
        resmon_set_log(log_line, NULL, RESMON_LOG_INFO);
    }
    if (resmon_monitor_new(&plan->options, &monitor) != RESMON_OK) {
        say("cannot start: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    if (!add_outputs()) {
        return false;
    }
    rm_monitor_yield_scopes(monitor); /* a program that has a monitor of its own works as ever */
    if (resmon_monitor_start(monitor) != RESMON_OK) {
        say("cannot start: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    return true;
}

static void release(void)
{
    resmon_monitor_free(monitor);
    monitor = NULL;
    rm_free(plan);
    plan = NULL;
}

/*
 * In a fork's child that exits, the parent's monitor is not its to finish, and its lock may be held
 * by a thread that is not there.  A second thread that exits waits for the first, or it would end
 * the process before all is delivered; a signal handler that exits on the same thread cannot.
 */
static void finish_once(void)
{
    if (owner != getpid() || pthread_mutex_lock(&finish_lock) != 0) {
        return;
    }
    if (monitor != NULL && rm_monitor_is_ours(monitor)) {
        finish();
        release();
    }
    (void)pthread_mutex_unlock(&finish_lock);
}

/* Linking a static libresmon asks for this symbol by name (-u), or the linker would leave the whole
 * object out. */
void rm_autorun_load(void);

/* secure_getenv: a set-user-id program does not write files because its caller says so. */
__attribute__((constructor)) void rm_autorun_load(void)
{
    const char *text = secure_getenv("RESMON");
    if (text == NULL) {
        return;
    }
    if (fcntl(STDERR_FILENO, F_GETFD) >= 0) {
        rm_kept_take(&stderr_file, STDERR_FILENO);
    }
    if (!start(text)) {
        release();
        return;
    }
    owner = getpid();
    /* An exit handler runs before those of libraries that were set up earlier, TLS for one; a
     * destructor would run after all of them, and is for want of a better only. */
    (void)atexit(finish_once);
}

__attribute__((destructor)) static void unload(void)
{
    finish_once();
}
