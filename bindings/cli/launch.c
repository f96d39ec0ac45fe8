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

#include "arguments.h"
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

void cli_sleep(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- signals ------------------------------------------------------------------------------ */

/* The process that signals are forwarded to; 0: none, signals are for this process. */
static volatile sig_atomic_t observed;
static volatile sig_atomic_t noted; /* the last signal; 0: none */
static bool only_notes;             /* signals for this process are stored, and polled */

/* Applies the default action of a signal.  It takes effect when the handler returns, as the signal
 * is blocked until then. */
static void raise_default(int number)
{
    cli_screen_pause();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Signals of the terminal's keys reach the command directly.  A hangup is sent to the session
 * leader alone, and is forwarded.  Signals that the command sent to its parent are not forwarded.
 */
static void forward(int number, siginfo_t *info, void *unused)
{
    int error = errno;
    (void)unused;
    bool is_sent = info->si_code <= 0 && info->si_pid != (pid_t)observed;
    bool is_hangup = number == SIGHUP && info->si_code > 0 && getsid(0) == getpid();
    noted = number;
    if (observed == 0 && !only_notes) {
        raise_default(number);
    } else if (observed != 0 && (is_sent || is_hangup)) {
        (void)kill((pid_t)observed, number);
    }
    errno = error;
}

/* While a command runs, this process stops after it: cli_launch_stop_too(). */
static void stop_alone(int number)
{
    if (observed == 0) {
        raise_default(number);
    }
}

static volatile int64_t ended_ns; /* when the command ended; 0: not yet */

/* On SIGCHLD: another child may have ended.  This process may be busy when the command ends, so the
 * time is stored here. */
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

static volatile sig_atomic_t is_continued; /* SIGCONT came */

static void note_continue(int number)
{
    (void)number;
    is_continued = 1;
}

/* Signals that the caller ignores (nohup) stay ignored here and in the command. */
static void handle_unless_ignored(int number, const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        (void)sigaction(number, action, NULL);
    }
}

/* Forwarded signals; real-time signals are forwarded, too. */
static const int forwarded[] = {SIGTERM, SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,  SIGALRM,
                                SIGIO,   SIGPROF, SIGXCPU, SIGXFSZ, SIGPWR,  SIGWINCH, SIGVTALRM};
static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

static struct sigaction passing_action(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = forward;
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
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        handle_unless_ignored(forwarded[i], &passing);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        handle_unless_ignored(number, &passing);
    }
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        handle_unless_ignored(stops[i], &stopping);
    }
    (void)signal(SIGCONT, note_continue);
    (void)signal(SIGPIPE, SIG_IGN);          /* stderr may be a closed pipe */
    (void)sigaction(SIGCHLD, &ending, NULL); /* if it were ignored, there would be no exit status */
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
        (void)kill(pid, noted); /* it came before the process was there */
    }
}

/* ---- processes that are waited for -------------------------------------------------------- */

/* As execvp(3) does: a script without "#!" is run by the shell. */
static int spawn_script(char **words, const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    struct cli_words all = {.at = NULL};
    cli_words_add(&all, "/bin/sh");
    cli_words_add_all(&all, words);
    int error = posix_spawn(ret_pid, all.at[0], actions, NULL, all.at, environ);
    cli_words_free(&all);
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

#define MOST_CHILDREN 1024U /* that are checked at a time */

/* ---- start -------------------------------------------------------------------------------- */

/* If the caller closed stdin, stdout or stderr, the command has none either, and no file of this
 * process gets the number. */
static bool hold_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd < 0 || close(fd) == 0;
}

/* Resource use of the child before its exec, which is subtracted from that of the command. */
struct cli_before {
    struct rusage usage;
    int64_t at_ns; /* CLOCK_MONOTONIC; 0: not set yet */
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

/* Touches the pages that the exec needs, so that their faults come before the command's. */
static void prefault(struct cli_before *before)
{
    static char nothing[] = "";
    char *nobody[] = {nothing, NULL};
    (void)execvp(nobody[0], nobody);
    note_before(before);
}

/* Does not change the peak, which may be from before or after. */
static void subtract_usage(struct rusage *usage, const struct rusage *before)
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

/* Reads RESMON_RUN from the gate; 0: the gate was closed. */
static ssize_t read_gate(int gate, char run[CLI_RUN_BYTES])
{
    ssize_t got;
    do {
        got = read(gate, run, CLI_RUN_BYTES);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* In the child: waits for the gate, then executes the command.  The gate is closed if the parent
 * died.  After a failed exec the child waits until the parent has read the error. */
static void begin(const struct cli_launch *launch, int gate, int outcome, char **words)
{
    char run[CLI_RUN_BYTES];
    prefault(launch->before);
    if (read_gate(gate, run) > 0) {
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
        (void)read_gate(gate, run);
    }
    _exit(CLI_RUN_FAILED);
}

/* The children of the main thread, which starts all processes. */
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
    /* A fork clears this setting, which a caller may have made for the command. */
    int at_death = 0;
    (void)prctl(PR_GET_PDEATHSIG, &at_death, 0UL, 0UL, 0UL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL,
                0UL); /* orphans become children of this process */
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
    (void)unused; /* the child waits, so the pipe is open */
    do {
        count = read(launch->outcome, &launch->error, sizeof launch->error);
    } while (count < 0 && errno == EINTR);
    (void)close(launch->outcome); /* without data: the exec closed the other end */
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

/* Unlike the C library's waitid(), the system call returns the resource use. */
static int wait_for(idtype_t kind, pid_t pid, siginfo_t *info, int flags, struct rusage *usage)
{
    memset(info, 0, sizeof *info);
    return (int)syscall(SYS_waitid, kind, pid, info, flags, usage);
}

/* In the terminal's foreground, a shell can continue this process. */
static bool is_in_foreground(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool is_there = fd >= 0 && tcgetpgrp(fd) == getpgrp();
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_there;
}

/* The shell expects this process to stop with the command.  In an orphaned process group, SIGTSTP,
 * SIGTTIN and SIGTTOU stop no process. */
void cli_launch_stop_too(const struct cli_launch *launch)
{
    const int number = launch->stopped_by;
    struct sigaction before;
    struct sigaction plain = {.sa_flags = 0};
    is_continued = 0;
    if (number == SIGSTOP && is_in_foreground()) {
        (void)raise(SIGSTOP); /* in the background, the sender continues the command */
    } else if (number != SIGSTOP) {
        plain.sa_handler = SIG_DFL;
        (void)sigaction(number, &plain, &before);
        (void)raise(number);
        (void)sigaction(number, &before, NULL);
    }
    if (is_continued != 0) {
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

/* Reaps a child; children from before the command are no orphans of it. */
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

/* Reaps all orphans that have ended, but not the command. */
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

/* The command has ended, or its status was taken by another waiter. */
static enum cli_launch_event end(struct cli_launch *launch)
{
    take_orphans(launch);
    observed = 0;
    return CLI_LAUNCH_ENDED;
}

/* A batch system that suspends a job stops and continues its processes one by one, this process
 * before the command.  If this process then stopped with the command, it would not be continued. */
static bool goes_on_soon(pid_t pid)
{
    const int flags = WCONTINUED | WEXITED | WNOHANG | WNOWAIT; /* or ended by now */
    const struct timespec pause = {.tv_nsec = 100L * 1000 * 1000};
    siginfo_t info;
    for (int tries = 0; tries < 5 && nanosleep(&pause, NULL) != 0; tries++) {
        /* interrupted by a signal */
    }
    return wait_for(P_PID, pid, &info, flags, NULL) == 0 && info.si_pid == pid;
}

/* Whether the command has stopped; stops of other children are ignored. */
static bool has_stopped(struct cli_launch *launch, const siginfo_t *info)
{
    siginfo_t still = {0};
    (void)wait_for(P_PID, info->si_pid, &still, WSTOPPED | WNOHANG, NULL);
    launch->stopped_by = info->si_status;
    return still.si_pid == launch->pid &&
           !(info->si_status == SIGSTOP && goes_on_soon(launch->pid));
}

/* Stores the status and the resource use of the command. */
static enum cli_launch_event note_status(struct cli_launch *launch, int code, int status,
                                         struct rusage *usage)
{
    launch->wait_code = code;
    launch->wait_status = status;
    launch->end_ns = ended_ns != 0 ? ended_ns : now_ns();
    if (launch->before != NULL) {
        subtract_usage(usage, &launch->before->usage);
    }
    add_usage(&launch->usage, usage);
    return end(launch);
}

/* If a seccomp filter refuses waitid(2).  The command is then reaped at once, without a last
 * sample, and its stops are not noticed. */
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
        return end(launch); /* another waiter took the status */
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

/* ---- its end ------------------------------------------------------------------------------ */

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

/* Ends this process by a signal, without a core file: the command has written one. */
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
    return 128 + launch->wait_status; /* signals do not end process 1 */
}
