/* SPDX-License-Identifier: MIT */
/* resmon attach: a process that runs already, with its children, or a control group, until it ends
 * or we are told. */
#define _GNU_SOURCE /* the system call pidfd_open, ppoll */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "duration.h"
#include "group.h"
#include "observe.h"
#include "say.h"

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static volatile sig_atomic_t is_told; /* by a signal, to end */

static void on_signal(int number)
{
    (void)number;
    is_told = 1;
}

/* Blocked but in the wait, so that none is missed. */
static sigset_t take_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_flags = 0};
    sigset_t blocked, before;
    action.sa_handler = on_signal;
    (void)sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)sigaction(numbers[i], &action, NULL);
        (void)sigaddset(&blocked, numbers[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    return before;
}

/* What is waited for. */
struct target {
    pid_t pid; /* 0: a control group */
    int fd;    /* of the process; below 0: kernels before 5.3 have no pidfd, and a group has none */
    resmon_monitor *monitor;
};

static bool goes_on(const struct target *target)
{
    return target->fd >= 0 || (target->pid != 0 ? kill(target->pid, 0) == 0 || errno != ESRCH
                                                : !cli_group_is_empty(target->monitor));
}

/* Without a descriptor it is looked at, ten times a second. */
static void wait_for(const struct target *target, double until, const sigset_t *mask)
{
    while (is_told == 0 && goes_on(target)) {
        double left = until - now();
        double most = target->fd >= 0 ? left : left < 0.1 ? left : 0.1;
        struct pollfd poll = {.fd = target->fd, .events = POLLIN};
        if (left <= 0.0) {
            return;
        }
        most = most < 1e6 ? most : 1e6;
        const struct timespec wait = {(time_t)most, (long)((most - (double)(time_t)most) * 1e9)};
        if (ppoll(&poll, 1, &wait, mask) > 0) {
            return; /* it has ended */
        }
    }
}

/* ---- the verb ----------------------------------------------------------------------------- */

static int observe(const struct cli_arguments *arguments, pid_t pid, double seconds)
{
    const sigset_t mask = take_signals();
    struct target target = {.pid = pid, .fd = -1};
    if (pid != 0) {
        target.fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    }
    struct cli_observing observing = {.arguments = arguments};
    if (!cli_observe_make(&observing, pid, NULL)) {
        return CLI_USAGE;
    }
    target.monitor = observing.monitor;
    if (resmon_monitor_start(observing.monitor) != RESMON_OK) {
        cli_say("attach", "%s", resmon_last_error());
        cli_observe_free(&observing);
        return CLI_FAILED;
    }
    wait_for(&target, seconds > 0.0 ? now() + seconds : 1e300, &mask);
    bool is_well = cli_observe_finish(&observing);
    cli_observe_leave(&observing);
    cli_observe_free(&observing);
    if (target.fd >= 0) {
        (void)close(target.fd);
    }
    return is_well ? 0 : CLI_FAILED;
}

/* A process, by its number; 0, and a line that says why: it is none. */
static pid_t process_of(const char *word)
{
    char *end = NULL;
    long pid = strtol(word, &end, 10);
    if (*end != '\0' || pid <= 0 || pid > 0x7fffffff) {
        cli_say("attach", "'%.64s' is no process id", word);
        return 0;
    }
    return (pid_t)pid;
}

static int observe_job(const struct cli_arguments *arguments, const char *id, double seconds)
{
    char *path = NULL;
    if (resmon_job_cgroup(id, &path) != RESMON_OK) {
        cli_say("attach", "%s", resmon_last_error());
        return CLI_FAILED;
    }
    struct cli_arguments of_group = *arguments;
    struct cli_said *said = cli_grow(NULL, (arguments->of_library_count + 1) * sizeof *said);
    if (arguments->of_library_count > 0) {
        memcpy(said, arguments->of_library, arguments->of_library_count * sizeof *said);
    }
    said[arguments->of_library_count] = (struct cli_said){"cgroup", path};
    of_group.of_library = said;
    of_group.of_library_count++;
    int result = observe(&of_group, 0, seconds);
    free(said);
    resmon_text_free(path);
    return result;
}

int cli_attach(const struct cli_arguments *arguments)
{
    const char *until = cli_value(arguments, "for"), *job = cli_value(arguments, "job");
    double seconds = until != NULL ? cli_duration(until) : 0.0;
    bool has_group = job != NULL || cli_said_of(arguments, "cgroup") != NULL;
    if (!cli_needs_words(arguments, has_group ? 0 : 1, has_group ? 0 : 1)) {
        return cli_wrong(arguments->command);
    }
    pid_t pid = has_group ? 0 : process_of(arguments->words[0]);
    if (pid == 0 && !has_group) {
        return cli_wrong(arguments->command);
    }
    if (seconds < 0.0) {
        cli_say("attach", "--for=%.64s is to be a time: 30s, 1.5min, 1h", until);
        return cli_wrong(arguments->command);
    }
    (void)umask(077); /* command lines hold secrets */
    return job != NULL ? observe_job(arguments, job, seconds) : observe(arguments, pid, seconds);
}
