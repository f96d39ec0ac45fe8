/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_TMPFILE, memrchr, the system call pidfd_open */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "output.h"
#include "say.h"
#include "screen.h"

#define LAST_BYTES 4096
#define LAST_LINES 6

/* ---- the buffer file ---------------------------------------------------------------------- */

/* Without O_TMPFILE (NFS, overlayfs of old kernels), the file is unlinked at once. */
static int make_file(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0 || snprintf(path, sizeof path, "%s/resmon-XXXXXX", directory) >= (int)sizeof path) {
        return fd;
    }
    fd = mkostemp(path, O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path);
    }
    return fd;
}

bool cli_kept_open(struct cli_kept *kept)
{
    const char *directory = cli_store_temporary();
    *kept = (struct cli_kept){.fd = make_file(directory)};
    if (kept->fd < 0) {
        cli_say("run", "cannot create a file in %.200s for the output of the command: %s",
                directory, strerror(errno));
    }
    return kept->fd >= 0;
}

void cli_kept_close(struct cli_kept *kept)
{
    if (kept->fd >= 0) {
        (void)close(kept->fd);
    }
    kept->fd = -1;
}

void cli_kept_take(const struct cli_kept *kept)
{
    int nothing = isatty(STDIN_FILENO) != 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
    }
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (isatty(fd) != 0) {
            (void)dup2(kept->fd, fd);
        }
    }
}

/* ---- to the terminal ---------------------------------------------------------------------- */

/* Writes new bytes to the terminal. */
static void show_kept(struct cli_kept *kept)
{
    char bytes[4096];
    ssize_t got;
    int terminal = isatty(STDOUT_FILENO) != 0   ? STDOUT_FILENO
                   : isatty(STDERR_FILENO) != 0 ? STDERR_FILENO
                                                : -1;
    const sigset_t before = cli_block_ttou();
    while (terminal >= 0 && (got = pread(kept->fd, bytes, sizeof bytes, kept->shown)) > 0 &&
           cli_write(terminal, bytes, (size_t)got)) {
        kept->shown += got;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- in the view -------------------------------------------------------------------------- */

/* The begin of the last lines of a text. */
static const char *last_lines(const char *text, size_t length)
{
    const char *end = text + length;
    for (int lines = 0; lines < LAST_LINES; lines++) {
        const char *newline = memrchr(text, '\n', (size_t)(end - text));
        if (newline == NULL) {
            return text;
        }
        end = newline;
    }
    return end + 1;
}

static void add_kept(const struct cli_kept *kept, struct cli_frame *frame)
{
    char text[LAST_BYTES];
    struct stat info;
    if (fstat(kept->fd, &info) != 0 || info.st_size == 0) {
        return;
    }
    off_t from = info.st_size > LAST_BYTES ? info.st_size - LAST_BYTES : 0;
    ssize_t got = pread(kept->fd, text, sizeof text, from);
    size_t length = got > 0 ? (size_t)got : 0;
    length -= length > 0 && text[length - 1] == '\n' ? 1 : 0;
    cli_frame_add_title(frame, "output");
    for (const char *at = last_lines(text, length), *end = text + length; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        cli_frame_add_text(frame, at, (size_t)(stop - at));
        at = stop + 1;
    }
}

#define FOLLOW_MS 100 /* how often keys are read, or output without a view is written */
#define BLIND_MS  20  /* the same without a pidfd, which wakes at the end of the command */

/* ---- the view ----------------------------------------------------------------------------- */

static void free_runs(struct cli_watch *watch)
{
    resmon_run_free(watch->run);
    watch->run = NULL;
    for (size_t i = 0; i < watch->part_count; i++) {
        resmon_run_free(watch->parts[i]);
    }
    watch->part_count = 0;
}

/* A recording that is written just now cannot be read; it is read for the next page. */
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
    add_kept(watch->launch->kept, &view->frame);
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
    show_kept(watch->launch->kept);
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
    show_kept(watch->launch->kept);
    (void)poll(&end, 1, watch->view.longest_ms);
}

/* poll(2) on the pidfd returns when the command ends (since Linux 5.3). */
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
