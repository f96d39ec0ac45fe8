/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* the system call pidfd_open */
#include "watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "screen.h"

#define FOLLOW_MS \
    100             /* how often keys are looked at, and what is printed without a page is shown */
#define BLIND_MS 20 /* the same, where nothing wakes us at the command's end */

/* ---- the page ----------------------------------------------------------------------------- */

static void free_runs(struct cli_watch *watch)
{
    resmon_run_free(watch->run);
    watch->run = NULL;
    for (size_t i = 0; i < watch->part_count; i++) {
        resmon_run_free(watch->parts[i]);
    }
    watch->part_count = 0;
}

/* A recording that changes too fast to be read is on the next page again. */
static void look(struct cli_view *view)
{
    struct cli_watch *watch = (struct cli_watch *)view;
    char paths[CLI_WATCH_PARTS][CLI_GATHER_PATH_BYTES];
    free_runs(watch);
    (void)resmon_monitor_snapshot(watch->monitor, &watch->run);
    size_t count = cli_gather_newest(watch->gather, paths, CLI_WATCH_PARTS);
    for (size_t i = 0; i < count; i++) {
        resmon_run *part = NULL;
        if (resmon_run_load(paths[i], &part) == RESMON_OK) {
            watch->parts[watch->part_count++] = part;
        }
    }
}

static void make(struct cli_view *view)
{
    const struct cli_watch *watch = (const struct cli_watch *)view;
    if (watch->run == NULL) {
        cli_frame_say(&view->frame, "waiting for the first sample");
        return;
    }
    cli_frame_make(&view->frame, watch->run);
    cli_kept_add(watch->launch->kept, &view->frame);
    for (size_t i = 0; i < watch->part_count; i++) {
        cli_frame_add_scopes(&view->frame, watch->parts[i]);
    }
}

bool cli_watch_open(struct cli_watch *watch)
{
    watch->view = (struct cli_view){.every_ms = 1000, .look = look, .make = make, .note = ""};
    cli_frame_begin(&watch->view.frame);
    watch->has_page = watch->monitor != NULL && cli_screen_open("run", "run without --live");
    return watch->has_page || watch->monitor == NULL;
}

void cli_watch_close(struct cli_watch *watch)
{
    cli_screen_close();
    cli_kept_show(watch->launch->kept);
    cli_frame_free(&watch->view.frame);
    free_runs(watch);
}

/* ---- until the end ------------------------------------------------------------------------ */

static void turn(struct cli_watch *watch, int fd)
{
    watch->has_page = cli_view_turn(&watch->view, fd);
    if (!watch->has_page) {
        cli_screen_close();
    }
}

static void follow(struct cli_watch *watch, int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    cli_kept_show(watch->launch->kept);
    (void)poll(&end, 1, watch->view.longest_ms);
}

/* The descriptor of the process wakes us at its end (since Linux 5.3). */
void cli_watch_wait(struct cli_watch *watch)
{
    enum cli_launch_event event;
    int fd = (int)syscall(SYS_pidfd_open, watch->launch->pid, 0U);
    watch->view.longest_ms = fd >= 0 ? FOLLOW_MS : BLIND_MS;
    while ((event = cli_launch_next(watch->launch, false)) != CLI_LAUNCH_ENDED) {
        if (event == CLI_LAUNCH_STOPPED) {
            cli_screen_pause();
            cli_launch_stop_too(watch->launch);
        } else if (watch->has_page) {
            turn(watch, fd);
        } else {
            follow(watch, fd);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}
