/* SPDX-License-Identifier: MIT */
/*
 * The monitor of the variable RESMON is finished once, and to its end, when two threads of a
 * program exit, or a signal handler does while it is being finished.  The program is this test, run
 * again.
 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/json.h"
#include "unit/sanitizer.h"

#define DIRECTORY "test_two_exits.tmp"

/* ---- the program ------------------------------------------------------------------------ */

static sem_t is_finishing;
static bool has_handler; /* exits in a signal handler, and not on a second thread */
static pthread_t first;

static void on_signal(int number)
{
    (void)number;
    exit(0);
}

/* Called while the monitor is finished, as its document has nowhere to go. */
static void hold_up(void *context, int32_t level, const char *line)
{
    (void)context, (void)level, (void)line;
    const struct timespec a_while = {.tv_nsec = 300000000};
    (void)sem_post(&is_finishing);
    if (has_handler) {
        (void)pthread_kill(first, SIGUSR1);
    }
    (void)nanosleep(&a_while, NULL);
    (void)!write(STDERR_FILENO, "held up\n", 8);
}

static void *exit_first(void *unused)
{
    (void)unused;
    exit(0);
}

static int run_program(const char *how)
{
    has_handler = strcmp(how, "handler") == 0;
    (void)alarm(120);
    if (sem_init(&is_finishing, 0, 0) != 0 || signal(SIGUSR1, on_signal) == SIG_ERR ||
        rmdir(DIRECTORY) != 0) {
        return 2;
    }
    resmon_set_log(hold_up, NULL, RESMON_LOG_WARNING);
    if (pthread_create(&first, NULL, exit_first, NULL) != 0) {
        return 3;
    }
    (void)sem_wait(&is_finishing);
    while (has_handler) {
        (void)pause();
    }
    exit(0);
}

/* ---- the test --------------------------------------------------------------------------- */

/* What it writes to the standard error goes into `text`. */
static int run_again(char *how, char *text, size_t room)
{
    int ends[2];
    size_t length = 0;
    ssize_t got;
    int status = -1;
    assert_true(mkdir(DIRECTORY, 0777) == 0 || access(DIRECTORY, W_OK) == 0);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char name[] = "test_two_exits";
        char *const words[] = {name, how, NULL};
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)setenv("RESMON", "json=" DIRECTORY "/run.json", 1);
        (void)execv("/proc/self/exe", words);
        _exit(127);
    }
    (void)close(ends[1]);
    while ((got = read(ends[0], text + length, room - 1 - length)) > 0) {
        length += (size_t)got;
    }
    text[length] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_two_threads_exit(void **state)
{
    (void)state;
    static char text[65536];
    static char how[] = "threads";
    assert_int_equal(run_again(how, text, sizeof text), 0);
    const char *end = strstr(text, "held up");
    assert_non_null(end);
    const char *summary = strstr(text, " took ");
    assert_true(summary > end);
    assert_null(strstr(summary + 1, " took "));
    assert_non_null(strstr(summary, " of CPU time for observing"));
}

static void test_a_signal_handler_exits_meanwhile(void **state)
{
    (void)state;
    static char text[65536];
    static char how[] = "handler";
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: to ThreadSanitizer a thread that nobody joins any more is an "
                      "error\n");
        skip();
    }
    assert_int_equal(run_again(how, text, sizeof text), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_threads_exit),
        cmocka_unit_test(test_a_signal_handler_exits_meanwhile),
    };
    if (argc > 1) {
        return run_program(argv[1]);
    }
    if (rm_json_check() != RESMON_OK) {
        printf("skipped: %s\n", resmon_last_error());
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
