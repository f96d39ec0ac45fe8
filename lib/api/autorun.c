/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
/*
 * The environment variable RESMON: starts a monitor when the library is loaded and finishes it when
 * the program exits.  The one place of the library that prints, because it was asked to.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/alloc.h"
#include "engine/autorun.h"

/* Set by the constructor and cleared by the destructor; nothing else touches them. */
static struct rm_autorun *plan;
static resmon_monitor *monitor;
static pid_t plan_pid;

#define UNOBSERVED "; the program runs on unobserved"

/* A line in one write, so that threads' lines do not mix. */
static void say(const char *what, const char *text, const char *end)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "resmon: %s%.900s%s\n", what, text, end);
    if (length > 0) {
        size_t wide = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
        ssize_t done = write(STDERR_FILENO, line, wide);
        (void)done;
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
    size_t length = strlen(text);
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(STDERR_FILENO, text + done, length - done);
        if (wrote <= 0) {
            break;
        }
        done += (size_t)wrote;
    }
    resmon_text_free(text);
}

static void finish(void)
{
    resmon_run *run = NULL;
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        say("no result: ", resmon_last_error(), "");
        return;
    }
    if (plan->json[0] != '\0' && resmon_run_save(run, plan->json) != RESMON_OK) {
        say("no run document: ", resmon_last_error(), "");
    }
    if (plan->wants_summary) {
        print_summary(run);
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
    if (resmon_monitor_new(&plan->options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        say("cannot start: ", resmon_last_error(), UNOBSERVED);
        return false;
    }
    if (plan->wants_log) {
        resmon_set_log(log_line, NULL, RESMON_LOG_INFO);
    }
    plan_pid = getpid();
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
    if (text != NULL && !start(text)) {
        release();
    }
}

/* In a fork's child that exits, the parent's monitor is not its to finish. */
__attribute__((destructor)) static void unload(void)
{
    if (monitor != NULL && plan_pid == getpid()) {
        finish();
        release();
    }
}
