/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* environ, wait4, SOCK_CLOEXEC */
#include "bench_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "launch.h"
#include "say.h"

static volatile sig_atomic_t child;   /* the process that is waited for; 0: none */
static volatile sig_atomic_t told_by; /* a signal that ends the benchmark */

/* The keys of the terminal reach the child themselves. */
static void end(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    told_by = number;
    if (child > 0 && info->si_code <= 0) {
        (void)kill((pid_t)child, number);
    }
}

void cli_bench_take_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = end;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
}

int cli_bench_told_by(void)
{
    return told_by;
}

/* ---- processes ---------------------------------------------------------------------------- */

/* Descriptors from `first` to `last` go nowhere. */
static void hide(int first, int last)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = first; nothing >= 0 && fd <= last; fd++) {
        (void)dup2(nothing, fd);
    }
}

/* The child's process id; 0 in the child; -1, and a line that says why. */
static pid_t start(void)
{
    pid_t pid = fork();
    if (pid < 0) {
        cli_say("bench", "cannot start a process: %s", strerror(errno));
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    if (pid < 0) {
        return -1;
    }
    child = pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return status;
}

int cli_bench_run_self(char **words, bool is_shown)
{
    pid_t pid = start();
    if (pid == 0) {
        if (!is_shown) {
            hide(STDIN_FILENO, STDERR_FILENO);
        }
        (void)execv("/proc/self/exe", words);
        _exit(CLI_RUN_FAILED);
    }
    return wait_for(pid);
}

int cli_bench_run_shell(const char *line, bool is_shown)
{
    pid_t pid = start();
    if (pid == 0) {
        if (!is_shown) {
            hide(STDOUT_FILENO, STDOUT_FILENO);
        }
        (void)execl("/bin/sh", "/bin/sh", "-c", line, (char *)NULL);
        _exit(CLI_NOT_FOUND);
    }
    return wait_for(pid);
}

/* ---- runs without a monitor --------------------------------------------------------------- */

static int starter_socket = -1;
static pid_t starter = -1;

/* As execvp(3), a script without "#!" is given to a shell. */
static int spawn_shell(char **words, const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
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

static struct cli_bench_bare run_bare(char **words, const posix_spawn_file_actions_t *actions)
{
    struct rusage own;
    struct cli_bench_bare run = {.status = -1};
    pid_t pid = 0;
    double begin_s = cli_now_s();
    run.error = posix_spawnp(&pid, words[0], actions, NULL, words, environ);
    if (run.error == ENOEXEC) {
        run.error = spawn_shell(words, actions, &pid);
    }
    child = pid;
    if (told_by != 0 && run.error == 0) {
        (void)kill(pid, told_by); /* it came before there was anybody to hand it to */
    }
    while (run.error == 0 && wait4(pid, &run.status, 0, &run.usage) < 0 && errno == EINTR) {
    }
    run.wall_s = cli_now_s() - begin_s;
    child = 0;
    (void)getrusage(RUSAGE_SELF, &own);
    run.starter_maxrss = own.ru_maxrss;
    return run;
}

static void serve(const struct cli_bench_commands *commands, bool is_shown, int socket)
{
    size_t number;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return;
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !is_shown; fd++) {
        (void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    for (;;) {
        ssize_t got = recv(socket, &number, sizeof number, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)sizeof number || number >= commands->count) {
            break;
        }
        struct cli_bench_bare run = run_bare(commands->at[number].words, &actions);
        if (send(socket, &run, sizeof run, MSG_NOSIGNAL) != (ssize_t)sizeof run) {
            break;
        }
    }
    (void)posix_spawn_file_actions_destroy(&actions);
}

bool cli_bench_bare_open(const struct cli_bench_commands *commands, bool is_shown)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        cli_say("bench", "cannot make a socket: %s", strerror(errno));
        return false;
    }
    starter = start();
    if (starter == 0) {
        (void)close(ends[0]);
        serve(commands, is_shown, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    starter_socket = ends[0];
    return starter > 0;
}

bool cli_bench_bare_run(size_t command, struct cli_bench_bare *ret_run)
{
    ssize_t got = -1;
    child = starter; /* which hands signals on */
    if (send(starter_socket, &command, sizeof command, MSG_NOSIGNAL) == (ssize_t)sizeof command) {
        do {
            got = recv(starter_socket, ret_run, sizeof *ret_run, 0);
        } while (got < 0 && errno == EINTR);
    }
    child = 0;
    if (got != (ssize_t)sizeof *ret_run) {
        cli_say("bench", "the process that starts commands has ended");
        return false;
    }
    return true;
}

void cli_bench_bare_close(void)
{
    if (starter_socket >= 0) {
        (void)close(starter_socket);
        (void)wait_for(starter);
    }
    starter_socket = -1;
}
