/* SPDX-License-Identifier: MIT */
/* resmon attach: observes a running process with its children, a cgroup, or the part of a job on
 * this node, until it ends or a signal arrives. */
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

#include "launch.h"
#include "observe.h"
#include "say.h"

/* ---- waiting ------------------------------------------------------------------------------ */

static volatile sig_atomic_t signaled; /* signal that ends this; 0: none */

static void on_signal(int number)
{
    signaled = number;
}

/* The signals are blocked except in ppoll(2), so that none is missed. */
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

#define LOOK_S 0.1 /* polling interval without a descriptor */

/* What is observed. */
struct target {
    pid_t pid;             /* 0: a cgroup, or the machine */
    int fd;                /* pidfd; below 0: none (cgroup, or a kernel before 5.3) */
    const char *job_group; /* cgroup of a job, removed at its end; NULL: none */
    bool is_machine;       /* observed until a signal arrives */
    bool needs_process;    /* of a job, which must have one at the start */
    bool ends_with_input;  /* end when the pipe on stdin is closed */
    struct cli_observing observing;
};

static bool is_running(const struct target *target)
{
    if (target->pid != 0) {
        return target->fd >= 0 || kill(target->pid, 0) == 0 || errno != ESRCH;
    }
    if (target->job_group != NULL && access(target->job_group, F_OK) != 0) {
        return false;
    }
    return target->is_machine || !cli_group_is_empty(target->observing.monitor);
}

static bool is_stopped(const struct target *target)
{
    const struct cli_job_place *place = &target->observing.place;
    return place->directory[0] != '\0' && cli_job_is_stopped(place);
}

/* Waits for a signal, a descriptor or the timeout.  True: the target has ended. */
static bool wait_a_little(const struct target *target, double seconds, const sigset_t *mask)
{
    struct pollfd polls[] = {
        {.fd = target->fd, .events = POLLIN},
        {.fd = target->ends_with_input ? STDIN_FILENO : -1}}; /* closed: POLLHUP */
    const struct timespec wait = {(time_t)seconds,
                                  (long)((seconds - (double)(time_t)seconds) * 1e9)};
    return ppoll(polls, 2, &wait, mask) > 0;
}

/* Without a descriptor the target is polled ten times per second.  The directory, which may be on a
 * network file system, is polled once per second. */
static void wait_for(const struct target *target, double until, const sigset_t *mask)
{
    bool has_directory = target->observing.place.directory[0] != '\0';
    bool is_notified = target->fd >= 0 || target->is_machine;
    double step = !is_notified ? LOOK_S : has_directory ? 1.0 : 1e6;
    double next_look = cli_now_s();
    while (signaled == 0 && is_running(target)) {
        double left = until - cli_now_s();
        if (left <= 0.0 || wait_a_little(target, left < step ? left : step, mask)) {
            return;
        }
        if (cli_now_s() >= next_look) {
            next_look = cli_now_s() + 1.0;
            if (is_stopped(target)) {
                return;
            }
        }
    }
}

/* ---- the verb ----------------------------------------------------------------------------- */

/* Sets how a job ended, as far as its node can detect that: scancel and limits of the batch system
 * send SIGTERM, and the kernel counts OOM kills. */
static void set_end(const struct target *target)
{
    resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_KILLED, .text = ""};
    if (cli_group_out_of_memory(target->observing.monitor)) {
        end.signal_number = SIGKILL;
    } else if (signaled != 0 && !is_stopped(target)) {
        end.signal_number = signaled;
        end.text = "the batch system ended it: cancelled, or over a limit";
    } else {
        return;
    }
    (void)resmon_monitor_set_end(target->observing.monitor, &end);
}

/* If the job ended before `resmon job stop`, its files are merged here. */
static bool finish(struct target *target)
{
    struct cli_observing *observing = &target->observing;
    if (cli_has(observing->arguments, "job")) {
        set_end(target);
    }
    bool is_well = cli_observe_finish(observing);
    cli_observe_leave(observing);
    cli_observe_free(observing);
    if (is_well && cli_has(observing->arguments, "job") && !is_stopped(target)) {
        cli_gather_job(observing);
    }
    if (target->fd >= 0) {
        (void)close(target->fd);
    }
    return is_well;
}

static int observe(struct target *target, const struct cli_arguments *arguments, double seconds)
{
    const sigset_t mask = take_signals();
    struct cli_observing *observing = &target->observing;
    observing->arguments = arguments;
    target->fd = target->pid != 0 ? (int)syscall(SYS_pidfd_open, target->pid, 0U) : -1;
    target->ends_with_input = cli_has(arguments, "until-eof");
    if (!cli_observe_make(observing, target->pid, NULL)) {
        return CLI_USAGE;
    }
    if (!cli_check("attach", resmon_monitor_start(observing->monitor))) {
        cli_observe_free(observing);
        return CLI_FAILED;
    }
    if (target->needs_process && cli_group_is_empty(observing->monitor)) {
        cli_say(
            "attach",
            "there is no cgroup of a job %s on this node (Slurm, PBS, LSF, OAR), and no process "
            "with this id in its environment, as far as this user may read",
            cli_value(arguments, "job"));
        cli_observe_free(observing);
        return CLI_FAILED;
    }
    wait_for(target, seconds > 0.0 ? cli_now_s() + seconds : 1e300, &mask);
    return finish(target) ? 0 : CLI_FAILED;
}

/* Reads a process id; 0, and a message: it is not a process id. */
static pid_t process_of(const char *word)
{
    char *end = NULL;
    long pid = strtol(word, &end, 10);
    if (*end != '\0' || pid <= 0 || pid > 0x7fffffff) {
        cli_say("attach", "'%.64s' is not a process id", word);
        return 0;
    }
    return (pid_t)pid;
}

/* Sets the job's id if the environment does not have it, as in a login by ssh. */
static void set_job_id(const char *id)
{
    resmon_job_info info;
    resmon_job *job = cli_job_detect(&info);
    if (job != NULL && strcmp(info.id, id) != 0) {
        (void)setenv("RESMON_JOB_ID", id, 1);
    }
    resmon_job_free(job);
}

/* Adds the options for a job to those of the command line: the job; and in a directory, where the
 * ranks have files of their own, the domains of the machine and of the job's processes together.
 */
static struct cli_given *given_of_job(struct cli_arguments *arguments, const char *id)
{
    size_t count = arguments->of_library_count;
    struct cli_given *given = cli_grow(NULL, (count + 2) * sizeof *given);
    if (count > 0) {
        memcpy(given, arguments->of_library, count * sizeof *given);
    }
    given[count++] = (struct cli_given){"job", id};
    if (cli_observe_directory(arguments) != NULL && cli_given_of(arguments, "domains") == NULL) {
        given[count++] = (struct cli_given){"domains", CLI_MACHINE_DOMAINS("tree+cgroup+")};
    }
    arguments->of_library = given;
    arguments->of_library_count = count;
    return given;
}

/* Monitors of a directory wait for processes of the job, which may have none between two steps. */
static int observe_job(const struct cli_arguments *arguments, const char *id, double seconds)
{
    char *path = NULL;
    struct cli_arguments more = *arguments;
    if (resmon_job_cgroup(id, &path) == RESMON_EINVAL) {
        cli_say("attach", "%s", resmon_last_error());
        return CLI_USAGE;
    }
    struct cli_given *given = given_of_job(&more, id);
    struct target target = {
        .job_group = path,
        .is_machine = path == NULL && cli_observe_directory(arguments) != NULL,
        .needs_process = path == NULL && cli_observe_directory(arguments) == NULL,
    };
    set_job_id(id);
    int result = observe(&target, &more, seconds);
    free(given);
    resmon_text_free(path);
    return result;
}

int cli_attach(const struct cli_arguments *arguments)
{
    const char *job = cli_value(arguments, "job");
    double seconds = 0.0;
    bool has_group = job != NULL || cli_given_of(arguments, "cgroup") != NULL;
    if (!cli_needs_words(arguments, has_group ? 0 : 1, has_group ? 0 : 1)) {
        return cli_wrong(arguments->command);
    }
    pid_t pid = has_group ? 0 : process_of(arguments->words[0]);
    if (pid == 0 && !has_group) {
        return cli_wrong(arguments->command);
    }
    if (!cli_duration(arguments, "for", &seconds)) {
        return cli_wrong(arguments->command);
    }
    (void)umask(077); /* command lines hold secrets */
    struct target target = {.pid = pid};
    return job != NULL ? observe_job(arguments, job, seconds)
                       : observe(&target, arguments, seconds);
}
