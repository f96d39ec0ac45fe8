/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
/*
 * The environment variable RESMON: starts a monitor when the library is loaded and finishes it when
 * the program exits.  The one place of the library that prints, because it was asked to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/alloc.h"
#include "engine/autorun.h"
#include "engine/monitor.h"
#include "job/path_pattern.h"
#include "sink/document.h"
#include "sys/kept.h"
#include "sys/outfile.h"
#include "sys/signal_guard.h"

/* Set by the constructor and cleared by the destructor; nothing else touches them. */
static struct rm_autorun *plan;
static resmon_monitor *monitor;
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

/* The summary takes the place of a document that cannot be written: something of the run stays. */
static void finish(void)
{
    resmon_run *run = NULL;
    bool wants_summary = plan->wants_summary;
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        say("no result: ", resmon_last_error(), "");
        return;
    }
    if (plan->json[0] != '\0' && rm_document_save(run, plan->json) != RESMON_OK) {
        say("no run document: ", resmon_last_error(),
            wants_summary ? "" : "; the summary instead:");
        wants_summary = true;
    }
    if (wants_summary) {
        print_summary(run);
    }
    resmon_run_free(run);
}

/* Made absolute now, as the program may change its directory, and looked at now, as its end is late
 * for bad news. */
static resmon_status settle_json(void)
{
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_document_check();
    if (status == RESMON_OK) {
        status = rm_path_expand(plan->json, expanded);
    }
    if (status == RESMON_OK) {
        status = rm_outfile_settle(expanded, plan->json);
    }
    return status;
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
    resmon_status status = plan->json[0] != '\0' ? settle_json() : RESMON_OK;
    if (status == RESMON_ENOENT || status == RESMON_EACCES) {
        say("json=: ", resmon_last_error(), "; it is tried again at the end");
    } else if (status != RESMON_OK) {
        say("the variable RESMON, json=: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    if (plan->wants_log) {
        resmon_set_log(log_line, NULL, RESMON_LOG_INFO);
    }
    if (resmon_monitor_new(&plan->options, &monitor) != RESMON_OK) {
        say("cannot start: ", resmon_last_error(), UNOBSERVED);
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
    }
}

/* In a fork's child that exits, the parent's monitor is not its to finish. */
__attribute__((destructor)) static void unload(void)
{
    if (monitor != NULL && rm_monitor_is_ours(monitor)) {
        finish();
        release();
    }
}
