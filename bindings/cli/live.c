/* SPDX-License-Identifier: MIT */
/* resmon live: what a run does just now, from its recording, or of a process. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "launch.h"
#include "observe.h"
#include "say.h"
#include "screen.h"
#include "view.h"

#define LEAST_COLUMNS 60
#define INSTEAD       "--once prints the values once"

/* What is shown. */
struct source {
    const char *path;        /* a recording or a run document; NULL: a monitor */
    resmon_monitor *monitor; /* of a process, or with `pid` 0 of a cgroup */
    pid_t pid;
};

struct live {
    struct cli_view view; /* first member: its callbacks cast the pointer */
    struct source source;
    resmon_run *run; /* latest snapshot; NULL: none, and `why` is the error */
    char why[512];
};

/* ---- the source --------------------------------------------------------------------------- */

static bool start(struct source *source, const char *key, const char *value, int every_ms)
{
    struct cli_text text = {.text = NULL};
    char interval[32];
    (void)snprintf(interval, sizeof interval, "%dms", every_ms < 1000 ? every_ms : every_ms / 2);
    cli_text_add(&text, key, value);
    cli_text_add(&text, "scopes", "none");
    cli_text_add(&text, "interval", interval);
    bool is_started = cli_check("live", resmon_monitor_new_text(text.text, &source->monitor)) &&
                      cli_check("live", resmon_monitor_start(source->monitor));
    if (!is_started) {
        resmon_monitor_free(source->monitor);
    }
    cli_text_free(&text);
    return is_started;
}

static bool open_process(struct source *source, const char *word, int every_ms)
{
    char *end = NULL;
    long pid = strtol(word, &end, 10);
    if (*end != '\0' || pid <= 0 || pid > 0x7fffffff) {
        cli_say("live",
                "%.200s is neither a recording, nor a run document, nor a process id, nor the "
                "directory of a cgroup",
                word);
        return false;
    }
    source->pid = (pid_t)pid;
    return start(source, "pid", word, every_ms);
}

static bool open_source(struct source *source, const char *word, int every_ms)
{
    struct stat status;
    bool is_there = stat(word, &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) {
        return start(source, "cgroup", word, every_ms);
    }
    if (is_there) {
        source->path = word;
        return true;
    }
    return open_process(source, word, every_ms);
}

/* A recording that is written just now cannot be read; the previous snapshot stays. */
static void look(struct cli_view *view)
{
    struct live *live = (struct live *)view;
    resmon_run *run = NULL;
    resmon_status status = live->source.path != NULL
                               ? resmon_run_load(live->source.path, &run)
                               : resmon_monitor_snapshot(live->source.monitor, &run);
    if (status == RESMON_EBUSY && live->run != NULL) {
        return;
    }
    (void)snprintf(live->why, sizeof live->why, "%s", resmon_last_error());
    resmon_run_free(live->run);
    live->run = status == RESMON_OK ? run : NULL;
}

static void make(struct cli_view *view)
{
    const struct live *live = (const struct live *)view;
    if (live->run != NULL) {
        cli_frame_make(&view->frame, live->run);
    } else {
        cli_frame_say(&view->frame, live->why);
    }
}

static bool has_ended(const struct source *source)
{
    if (source->path != NULL) {
        return false;
    }
    return source->pid != 0 ? kill(source->pid, 0) != 0 && errno == ESRCH
                            : cli_group_is_empty(source->monitor);
}

/* ---- the page ----------------------------------------------------------------------------- */

/* Until a key closes the view; after the end of the source, its last values stay. */
static int show(struct live *live)
{
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) {
        cli_say("live", "a terminal is needed: %s", INSTEAD);
        return CLI_FAILED;
    }
    if (!cli_screen_open("live", INSTEAD)) {
        return CLI_FAILED;
    }
    do {
        live->view.is_over = has_ended(&live->source);
        live->view.note = live->view.is_over ? "it has ended   " : "";
    } while (cli_view_turn(&live->view, -1));
    cli_screen_close();
    return 0;
}

static int print_once(struct live *live)
{
    const struct cli_frame *frame = &live->view.frame;
    unsigned columns = cli_columns(STDOUT_FILENO);
    live->view.frame.columns = columns >= LEAST_COLUMNS ? columns : 100;
    if (live->source.path == NULL) {
        cli_sleep(1.0); /* rates need two samples */
    }
    look(&live->view);
    make(&live->view);
    for (size_t i = 0; i < frame->count; i++) {
        if (!cli_print("live", frame->lines[i].text) || !cli_print("live", "\n")) {
            return CLI_FAILED;
        }
    }
    return 0;
}

/* ---- the verb ----------------------------------------------------------------------------- */

int cli_live(const struct cli_arguments *arguments)
{
    struct live live = {.view = {.look = look, .make = make, .longest_ms = 200, .note = ""}};
    double every = 1.0;
    if (!cli_needs_words(arguments, 1, 1) ||
        !cli_number(arguments, "every", 0.05, 3600.0, &every)) {
        return cli_wrong(arguments->command);
    }
    live.view.every_ms = (int)(every * 1000.0);
    cli_frame_begin(&live.view.frame);
    if (!open_source(&live.source, arguments->words[0], live.view.every_ms)) {
        return CLI_FAILED;
    }
    int result = cli_has(arguments, "once") ? print_once(&live) : show(&live);
    cli_frame_free(&live.view.frame);
    resmon_run_free(live.run);
    resmon_monitor_free(live.source.monitor);
    return result;
}
