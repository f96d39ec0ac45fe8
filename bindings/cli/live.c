/* SPDX-License-Identifier: MIT */
/* resmon live: what a run does just now, from its recording, or of a process. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "arguments.h"
#include "command.h"
#include "frame.h"
#include "group.h"
#include "say.h"
#include "screen.h"

#define LEAST_COLUMNS 60
#define KEYS          " q end   p pause   t tree   w by wall   s by self   c by calls   f fold   up, down"

/* What is looked at. */
struct source {
    const char *path;        /* a recording or a document; NULL: */
    resmon_monitor *monitor; /* of a process, or with `pid` 0 of a control group */
    pid_t pid;
};

struct live {
    struct source source;
    struct cli_frame frame;
    int every_ms;
    size_t first; /* line that is shown */
    bool is_paused;
};

/* ---- what is looked at -------------------------------------------------------------------- */

static bool start(struct source *source, const char *key, const char *value, int every_ms)
{
    struct cli_text text = {.text = NULL};
    char interval[32];
    (void)snprintf(interval, sizeof interval, "%dms", every_ms < 1000 ? every_ms : every_ms / 2);
    cli_text_add(&text, key, value);
    cli_text_add(&text, "scopes", "none");
    cli_text_add(&text, "interval", interval);
    bool is_started = resmon_monitor_new_text(text.text, &source->monitor) == RESMON_OK &&
                      resmon_monitor_start(source->monitor) == RESMON_OK;
    if (!is_started) {
        cli_say("live", "%s", resmon_last_error());
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
                "directory of a control group",
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

/* A recording that changes too fast to be read is read the next time. */
static void look(struct live *live)
{
    resmon_run *run = NULL;
    resmon_status status = live->source.path != NULL
                               ? resmon_run_load(live->source.path, &run)
                               : resmon_monitor_snapshot(live->source.monitor, &run);
    if (status == RESMON_OK) {
        cli_frame_make(&live->frame, run);
    } else if (status != RESMON_EBUSY || live->frame.count == 0) {
        cli_frame_say(&live->frame, resmon_last_error());
    }
    resmon_run_free(run);
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

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The terminal: one that has gone away gives no key, at once. */
static bool is_there(void)
{
    struct pollfd terminal = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&terminal, 1, 0) <= 0 || (terminal.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

/* false: the end. */
static bool take_key(struct live *live, int key)
{
    static const struct {
        int key;
        enum cli_scope_order order;
    } orders[] = {{'t', CLI_BY_TREE}, {'w', CLI_BY_WALL}, {'s', CLI_BY_SELF}, {'c', CLI_BY_CALLS}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        live->frame.order = key == orders[i].key ? orders[i].order : live->frame.order;
    }
    live->frame.is_folded = key == 'f' ? !live->frame.is_folded : live->frame.is_folded;
    live->is_paused = key == 'p' ? !live->is_paused : live->is_paused;
    if ((key == CLI_KEY_DOWN || key == 'j') && live->first + 4 < live->frame.count) {
        live->first++;
    } else if ((key == CLI_KEY_UP || key == 'k') && live->first > 0) {
        live->first--;
    }
    return key != 'q' && key != 27;
}

/* Until a key ends it; what has ended stays on the page. */
static void show(struct live *live)
{
    int64_t next = 0;
    for (bool goes_on = true; goes_on && is_there();) {
        int64_t now = now_ms();
        bool is_over = has_ended(&live->source);
        if (now >= next && !live->is_paused && !(is_over && live->frame.count > 0)) {
            live->frame.columns = cli_screen_columns();
            look(live);
            next = now + live->every_ms;
        }
        cli_screen_show(&live->frame, live->first,
                        is_over           ? " it has ended" KEYS
                        : live->is_paused ? " paused  " KEYS
                                          : KEYS);
        int64_t left = next > now ? next - now : 0;
        int key = cli_screen_key((int)(left < 200 ? left + 1 : 200));
        goes_on = take_key(live, key);
        next = key != CLI_KEY_NONE ? 0 : next; /* shown in its new order at once */
    }
}

static int print_once(struct live *live)
{
    unsigned columns = cli_columns(STDOUT_FILENO);
    live->frame.columns = columns >= LEAST_COLUMNS ? columns : 100;
    if (live->source.path == NULL) {
        const struct timespec pause = {1, 0};
        (void)nanosleep(&pause, NULL); /* rates need two samples */
    }
    look(live);
    for (size_t i = 0; i < live->frame.count; i++) {
        if (!cli_print("live", live->frame.lines[i].text) || !cli_print("live", "\n")) {
            return CLI_FAILED;
        }
    }
    return 0;
}

/* ---- the verb ----------------------------------------------------------------------------- */

int cli_live(const struct cli_arguments *arguments)
{
    struct live live = {.every_ms = 1000};
    double every = 1.0;
    if (!cli_needs_words(arguments, 1, 1) ||
        !cli_number(arguments, "every", 0.05, 3600.0, &every)) {
        return cli_wrong(arguments->command);
    }
    (void)setlocale(LC_CTYPE, "");
    live.every_ms = (int)(every * 1000.0);
    live.frame.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!open_source(&live.source, arguments->words[0], live.every_ms)) {
        return CLI_FAILED;
    }
    int result = CLI_FAILED;
    if (cli_has(arguments, "once")) {
        result = print_once(&live);
    } else if (cli_screen_open("live")) {
        show(&live);
        cli_screen_close();
        result = 0;
    }
    cli_frame_free(&live.frame);
    resmon_monitor_free(live.source.monitor);
    return result;
}
