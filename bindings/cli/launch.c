/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* environ, pipe2, the system call waitid, wait4 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "say.h"
#include "screen.h"
#include "watch.h"

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double cli_now_s(void)
{
    return (double)now_ns() * 1e-9;
}

/* ---- signals ------------------------------------------------------------------------------ */

/* The command whose signals these are; 0: none, or it is over, and what comes is for us alone. */
static volatile sig_atomic_t observed;
static volatile sig_atomic_t noted; /* the signal that came last; 0: none */
static bool only_notes;             /* what comes for us alone is looked at in time */

/* As if nobody had asked for it: when the handler returns, for until then it is blocked. */
static void take_ourselves(int number)
{
    cli_screen_pause();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* What the terminal sends by its keys, the command has got itself; that it goes away, only the
 * leader of the session is told.  What the command sends to its parent is not for itself. */
static void pass_on(int number, siginfo_t *info, void *unused)
{
    int error = errno;
    (void)unused;
    bool is_sent = info->si_code <= 0 && info->si_pid != (pid_t)observed;
    bool is_hangup = number == SIGHUP && info->si_code > 0 && getsid(0) == getpid();
    noted = number;
    if (observed == 0 && !only_notes) {
        take_ourselves(number);
    } else if (observed != 0 && (is_sent || is_hangup)) {
        (void)kill((pid_t)observed, number);
    }
    errno = error;
}

/* We stop when the command does. */
static void stop_alone(int number)
{
    if (observed == 0) {
        take_ourselves(number);
    }
}

static volatile int64_t ended_ns; /* when the command had ended; 0: not yet */

/* Whoever ends may be another one.  We may be busy with other things than to wait. */
static void note_end(int unused)
{
    int error = errno;
    siginfo_t info = {.si_pid = 0};
    (void)unused;
    if (observed > 0 && ended_ns == 0 &&
        syscall(SYS_waitid, P_PID, (pid_t)observed, &info, WEXITED | WNOHANG | WNOWAIT, NULL) ==
            0 &&
        info.si_pid == (pid_t)observed) {
        ended_ns = now_ns();
    }
    errno = error;
}

static volatile sig_atomic_t has_gone_on; /* we were stopped, and are not any more */

static void note_going_on(int number)
{
    (void)number;
    has_gone_on = 1;
}

/* What whoever called us ignores (nohup) is ignored by the command, too, and goes on so. */
static void handle_unless_ignored(int number, const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        (void)sigaction(number, action, NULL);
    }
}

/* And those of real time. */
static const int passed[] = {SIGTERM, SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,  SIGALRM,
                             SIGIO,   SIGPROF, SIGXCPU, SIGXFSZ, SIGPWR,  SIGWINCH, SIGVTALRM};
static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

static struct sigaction passing_action(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = pass_on;
    (void)sigfillset(&action.sa_mask);
    return action;
}

static void take_signals(void)
{
    const struct sigaction passing = passing_action();
    struct sigaction stopping = {.sa_flags = SA_RESTART};
    struct sigaction ending = {.sa_flags = SA_RESTART | SA_NOCLDSTOP};
    ending.sa_handler = note_end;
    stopping.sa_handler = stop_alone;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        handle_unless_ignored(passed[i], &passing);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        handle_unless_ignored(number, &passing);
    }
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        handle_unless_ignored(stops[i], &stopping);
    }
    (void)signal(SIGCONT, note_going_on);
    (void)signal(SIGPIPE, SIG_IGN);          /* nobody may read our stderr */
    (void)sigaction(SIGCHLD, &ending, NULL); /* ignored, it would take the status away */
}

void cli_launch_note_signals(void)
{
    const struct sigaction passing = passing_action();
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    only_notes = true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        handle_unless_ignored(ends[i], &passing);
    }
}

int cli_launch_noted(void)
{
    return noted;
}

void cli_launch_hand_to(pid_t pid)
{
    observed = pid;
    if (pid > 0 && noted != 0) {
        (void)kill(pid, noted); /* it came before there was anybody to hand it to */
    }
}

/* ---- processes that are waited for -------------------------------------------------------- */

/* As execvp(3) does: a script without "#!" is run by the shell. */
static int spawn_script(char **words, const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    static char shell[] = "/bin/sh";
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    char **all = cli_grow(NULL, (count + 2) * sizeof *all);
    all[0] = shell;
    memcpy(all + 1, words, (count + 1) * sizeof *all);
    int error = posix_spawn(ret_pid, shell, actions, NULL, all, environ);
    free(all);
    return error;
}

static int spawn(const char *program, char **words, int first, int last, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    for (int fd = first; fd <= last; fd++) {
        (void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    error = posix_spawnp(ret_pid, program, &actions, NULL, words, environ);
    if (error == ENOEXEC) {
        error = spawn_script(words, &actions, ret_pid);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

struct cli_child cli_launch_run(const char *program, char **words, int first, int last)
{
    struct rusage own;
    struct cli_child child = {.status = -1};
    pid_t pid = 0;
    int64_t begin_ns = now_ns();
    child.error = spawn(program, words, first, last, &pid);
    cli_launch_hand_to(child.error == 0 ? pid : 0);
    while (child.error == 0 && wait4(pid, &child.status, 0, &child.usage) < 0 && errno == EINTR) {
    }
    child.wall_s = (double)(now_ns() - begin_ns) * 1e-9;
    cli_launch_hand_to(0);
    (void)getrusage(RUSAGE_SELF, &own);
    child.least_maxrss = own.ru_maxrss;
    return child;
}

#define MOST_CHILDREN 1024U /* that are looked at, at a time */

/* ---- start -------------------------------------------------------------------------------- */

/* Where the caller gave us no input, output or stderr, the command has none either, and no file of
 * ours gets its number. */
static bool hold_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 || close(fd) == 0;
}

/* What a child had used just before its exec, which is not the command's. */
struct cli_before {
    struct rusage usage;
    int64_t at_ns; /* CLOCK_MONOTONIC; 0: it is not there yet */
};

static struct cli_before *share(void)
{
    void *memory = mmap(NULL, sizeof(struct cli_before), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void note_before(struct cli_before *before)
{
    if (before != NULL) {
        (void)getrusage(RUSAGE_SELF, &before->usage);
        before->at_ns = now_ns();
    }
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static resmon_run_usage usage_of(const struct rusage *usage)
{
    return (resmon_run_usage){
        .struct_size = sizeof(resmon_run_usage),
        .user_s = seconds_of(&usage->ru_utime),
        .system_s = seconds_of(&usage->ru_stime),
        .rss_peak_bytes = 1024.0 * (double)usage->ru_maxrss,
        .minor_faults = (double)usage->ru_minflt,
        .major_faults = (double)usage->ru_majflt,
        .voluntary_switches = (double)usage->ru_nvcsw,
        .involuntary_switches = (double)usage->ru_nivcsw,
        .read_bytes = 512.0 * (double)usage->ru_inblock,
        .write_bytes = 512.0 * (double)usage->ru_oublock,
    };
}

/* The pages that this needs are there when it counts. */
static void rehearse(struct cli_before *before)
{
    static char nothing[] = "";
    char *nobody[] = {nothing, NULL};
    (void)execvp(nobody[0], nobody);
    note_before(before);
}

/* The peak stays: nobody knows whose it was. */
static void leave_out(struct rusage *usage, const struct rusage *before)
{
    timersub(&usage->ru_utime, &before->ru_utime, &usage->ru_utime);
    timersub(&usage->ru_stime, &before->ru_stime, &usage->ru_stime);
    usage->ru_minflt -= before->ru_minflt;
    usage->ru_majflt -= before->ru_majflt;
    usage->ru_nvcsw -= before->ru_nvcsw;
    usage->ru_nivcsw -= before->ru_nivcsw;
    usage->ru_inblock -= before->ru_inblock;
    usage->ru_oublock -= before->ru_oublock;
}

/* 0: the gate is closed for ever. */
static ssize_t wait_at(int gate, char run[CLI_RUN_BYTES])
{
    ssize_t got;
    do {
        got = read(gate, run, CLI_RUN_BYTES);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* In the child: until the gate opens; a gate that is closed instead means that we are gone.  Who
 * cannot begin stays until it was looked at. */
static void begin(const struct cli_launch *launch, int gate, int outcome, char **words)
{
    char run[CLI_RUN_BYTES];
    rehearse(launch->before);
    if (wait_at(gate, run) > 0) {
        if (launch->kept != NULL) {
            cli_kept_take(launch->kept);
        }
        if (run[0] != '\0') {
            (void)setenv("RESMON_RUN", run, 1);
        }
        note_before(launch->before);
        (void)execvp(words[0], words);
        int error = errno;
        ssize_t unused = write(outcome, &error, sizeof error);
        (void)unused;
        (void)wait_at(gate, run);
    }
    _exit(CLI_RUN_FAILED);
}

/* The children of our first thread, which starts all that we start. */
static size_t list_children(pid_t *children, size_t most)
{
    char path[64], word[32];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(path, "re");
    while (file != NULL && count < most && fscanf(file, "%31s", word) == 1) {
        children[count++] = (pid_t)strtol(word, NULL, 10);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return count;
}

bool cli_launch_prepare(struct cli_launch *launch, char **words, struct cli_kept *kept)
{
    int gate[2], outcome[2];
    *launch =
        (struct cli_launch){.kept = kept, .pid = -1, .gate = -1, .outcome = -1, .before = share()};
    (void)hold_standard_files();
    if (kept != NULL && !cli_kept_open(kept)) {
        return false;
    }
    if (pipe2(gate, O_CLOEXEC) != 0) {
        cli_say("run", "cannot make a pipe: %s", strerror(errno));
        return false;
    }
    if (pipe2(outcome, O_CLOEXEC) != 0) {
        cli_say("run", "cannot make a pipe: %s", strerror(errno));
        (void)close(gate[0]);
        (void)close(gate[1]);
        return false;
    }
    int at_death =
        0; /* of our parent: the command's parent is another one, and a fork forgets it */
    (void)prctl(PR_GET_PDEATHSIG, &at_death, 0UL, 0UL, 0UL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL); /* orphans are handed to us */
    launch->other_count = list_children(launch->others, CLI_OTHERS);
    launch->pid = fork();
    if (launch->pid == 0) {
        (void)close(gate[1]);
        (void)prctl(PR_SET_PDEATHSIG, (unsigned long)at_death, 0UL, 0UL, 0UL);
        begin(launch, gate[0], outcome[1], words);
    }
    int error = errno;
    (void)close(gate[0]);
    (void)close(outcome[1]);
    launch->gate = gate[1];
    launch->outcome = outcome[0];
    if (launch->pid < 0) {
        cli_say("run", "cannot start a process: %s", strerror(error));
        cli_launch_cancel(launch);
        return false;
    }
    observed = launch->pid;
    take_signals();
    return true;
}

void cli_launch_go(struct cli_launch *launch, const char *run)
{
    ssize_t count;
    ssize_t unused = write(launch->gate, run, strlen(run) + 1);
    (void)unused; /* it is there, and waits */
    do {
        count = read(launch->outcome, &launch->error, sizeof launch->error);
    } while (count < 0 && errno == EINTR);
    (void)close(launch->outcome); /* the end of it: the exec closed it */
    launch->error = count == sizeof launch->error ? launch->error : 0;
}

bool cli_launch_begin(const struct cli_launch *launch, int64_t *ret_ns, resmon_run_usage *ret_usage)
{
    const struct cli_before *before = launch->before;
    if (before == NULL || before->at_ns == 0 || launch->error != 0) {
        return false;
    }
    *ret_ns = before->at_ns;
    *ret_usage = usage_of(&before->usage);
    return true;
}

static void wait_for_end(struct cli_launch *launch)
{
    observed = 0;
    (void)close(launch->gate);
    while (launch->pid > 0 && waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

void cli_launch_cancel(struct cli_launch *launch)
{
    (void)close(launch->outcome);
    wait_for_end(launch);
}

/* ---- until it ends ------------------------------------------------------------------------ */

/* The system call tells what was used; the C library's function does not. */
static int wait_for(idtype_t kind, pid_t pid, siginfo_t *info, int flags, struct rusage *usage)
{
    memset(info, 0, sizeof *info);
    return (int)syscall(SYS_waitid, kind, pid, info, flags, usage);
}

/* Of the terminal: somebody is there to let us go on. */
static bool is_in_foreground(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool is_there = fd >= 0 && tcgetpgrp(fd) == getpgrp();
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_there;
}

/* As the shell sees the command: what the terminal has stopped, is stopped.  In a process group
 * without a shell these signals do not stop anybody. */
void cli_launch_stop_too(const struct cli_launch *launch)
{
    const int number = launch->stopped_by;
    struct sigaction before;
    struct sigaction plain = {.sa_flags = 0};
    has_gone_on = 0;
    if (number == SIGSTOP && is_in_foreground()) {
        (void)raise(SIGSTOP); /* else whoever sent it lets the command go on as well */
    } else if (number != SIGSTOP) {
        plain.sa_handler = SIG_DFL;
        (void)sigaction(number, &plain, &before);
        (void)raise(number);
        (void)sigaction(number, &before, NULL);
    }
    if (has_gone_on != 0) {
        (void)kill(launch->pid, SIGCONT);
    }
}

static void add_usage(struct rusage *sum, const struct rusage *usage)
{
    timeradd(&sum->ru_utime, &usage->ru_utime, &sum->ru_utime);
    timeradd(&sum->ru_stime, &usage->ru_stime, &sum->ru_stime);
    sum->ru_maxrss = sum->ru_maxrss > usage->ru_maxrss ? sum->ru_maxrss : usage->ru_maxrss;
    sum->ru_minflt += usage->ru_minflt;
    sum->ru_majflt += usage->ru_majflt;
    sum->ru_nvcsw += usage->ru_nvcsw;
    sum->ru_nivcsw += usage->ru_nivcsw;
    sum->ru_inblock += usage->ru_inblock;
    sum->ru_oublock += usage->ru_oublock;
}

/* A child that we had before the command is none of its orphans. */
static void take_orphan(struct cli_launch *launch, pid_t pid)
{
    struct rusage usage;
    bool is_other = false;
    for (size_t i = 0; i < launch->other_count; i++) {
        is_other |= launch->others[i] == pid;
    }
    if (wait4(pid, NULL, WNOHANG, &usage) == pid && !is_other) {
        add_usage(&launch->usage, &usage);
    }
}

/* Whoever ended and was left to us, but for the command itself. */
static void take_orphans(struct cli_launch *launch)
{
    siginfo_t info;
    pid_t children[MOST_CHILDREN];
    size_t count, taken;
    do {
        count = list_children(children, MOST_CHILDREN);
        taken = 0;
        for (size_t i = 0; i < count; i++) {
            if (children[i] != launch->pid &&
                wait_for(P_PID, children[i], &info, WEXITED | WNOWAIT | WNOHANG, NULL) == 0 &&
                info.si_pid == children[i]) {
                take_orphan(launch, children[i]);
                taken++;
            }
        }
    } while (taken > 0 && count == MOST_CHILDREN);
}

/* The command is over, or its status is somebody else's. */
static enum cli_launch_event end(struct cli_launch *launch)
{
    take_orphans(launch);
    observed = 0;
    return CLI_LAUNCH_ENDED;
}

/* Whoever stops the processes of a job one by one (a batch system that suspends it) lets them go on
 * so, too, and us before the command: who then stopped with it would stay so for ever. */
static bool goes_on_soon(pid_t pid)
{
    const int flags = WCONTINUED | WEXITED | WNOHANG | WNOWAIT; /* and may be over by now */
    const struct timespec pause = {.tv_nsec = 100L * 1000 * 1000};
    siginfo_t info;
    for (int tries = 0; tries < 5 && nanosleep(&pause, NULL) != 0; tries++) {
        /* we were stopped meanwhile, or have passed a signal on */
    }
    return wait_for(P_PID, pid, &info, flags, NULL) == 0 && info.si_pid == pid;
}

/* What stops other processes than the command is none of our business. */
static bool has_stopped(struct cli_launch *launch, const siginfo_t *info)
{
    siginfo_t still = {0};
    (void)wait_for(P_PID, info->si_pid, &still, WSTOPPED | WNOHANG, NULL);
    launch->stopped_by = info->si_status;
    return still.si_pid == launch->pid &&
           !(info->si_status == SIGSTOP && goes_on_soon(launch->pid));
}

/* Notes the end of the command: how it ended, and what it had used. */
static enum cli_launch_event note_status(struct cli_launch *launch, int code, int status,
                                         struct rusage *usage)
{
    launch->wait_code = code;
    launch->wait_status = status;
    launch->end_ns = ended_ns != 0 ? ended_ns : now_ns();
    if (launch->before != NULL) {
        leave_out(usage, &launch->before->usage);
    }
    add_usage(&launch->usage, usage);
    return end(launch);
}

/* Where a filter of system calls refuses waitid(2): it is no zombie then that could be sampled once
 * more, and nobody sees that it stops. */
static enum cli_launch_event wait_without_waitid(struct cli_launch *launch, bool waits)
{
    int status;
    struct rusage usage;
    pid_t got;
    do {
        got = wait4(launch->pid, &status, waits ? 0 : WNOHANG, &usage);
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        return CLI_LAUNCH_NONE;
    }
    if (got < 0) {
        return end(launch); /* somebody else took its status: there is none to tell */
    }
    return WIFEXITED(status) ? note_status(launch, CLD_EXITED, WEXITSTATUS(status), &usage)
                             : note_status(launch, CLD_KILLED, WTERMSIG(status), &usage);
}

enum cli_launch_event cli_launch_next(struct cli_launch *launch, bool waits)
{
    siginfo_t info;
    struct rusage usage;
    const int flags = WEXITED | WSTOPPED | WNOWAIT | (waits ? 0 : WNOHANG);
    for (;;) {
        if (wait_for(P_ALL, 0, &info, flags, &usage) != 0) {
            if (errno == EINTR) {
                continue;
            }
            return wait_without_waitid(launch, waits);
        }
        if (info.si_pid == 0) {
            return CLI_LAUNCH_NONE;
        }
        if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
            if (has_stopped(launch, &info)) {
                return CLI_LAUNCH_STOPPED;
            }
        } else if (info.si_pid == launch->pid) {
            return note_status(launch, info.si_code, info.si_status, &usage);
        } else {
            take_orphan(launch, info.si_pid);
        }
    }
}

void cli_launch_wait(struct cli_launch *launch)
{
    enum cli_launch_event event;
    while ((event = cli_launch_next(launch, true)) != CLI_LAUNCH_ENDED) {
        if (event == CLI_LAUNCH_STOPPED) {
            cli_launch_stop_too(launch);
        }
    }
}

void cli_launch_reap(struct cli_launch *launch)
{
    wait_for_end(launch);
}

/* ---- what becomes of it ------------------------------------------------------------------- */

resmon_run_end cli_launch_end(const struct cli_launch *launch)
{
    resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_FINISHED, .text = ""};
    if (launch->wait_code == CLD_EXITED) {
        end.exit_status = launch->wait_status;
        end.reason = launch->wait_status == 0 ? RESMON_END_FINISHED : RESMON_END_FAILED;
    } else if (launch->wait_code != 0) {
        end.signal_number = launch->wait_status;
        end.reason = launch->wait_status == SIGINT ? RESMON_END_INTERRUPTED : RESMON_END_KILLED;
    }
    return end;
}

resmon_run_usage cli_launch_usage(const struct cli_launch *launch)
{
    resmon_run_usage usage = usage_of(&launch->usage);
    if (launch->before != NULL) {
        usage.wall_s = (double)(launch->end_ns - launch->before->at_ns) * 1e-9;
    }
    return usage;
}

/* Without a second core file. */
static void end_by_signal(int number)
{
    sigset_t one;
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

int cli_launch_status(const struct cli_launch *launch)
{
    if (launch->error != 0) {
        return launch->error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
    }
    if (launch->wait_code == CLD_EXITED) {
        return launch->wait_status;
    }
    if (launch->wait_code == 0) {
        return CLI_RUN_FAILED;
    }
    end_by_signal(launch->wait_status);
    return 128 + launch->wait_status; /* as process 1 no signal ends us */
}
