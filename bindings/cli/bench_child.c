/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "bench_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
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
