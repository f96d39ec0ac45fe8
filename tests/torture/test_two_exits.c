/* SPDX-License-Identifier: MIT */
/*
 * The monitor of the variable RESMON is finished once, and to its end, when two threads of a
 * program exit, or a signal handler does while it is being finished.  The program is this test, run
 * again.
 */
#include "again.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static int run_program(char **words)
{
    const char *how = words[0];
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

static struct again again;

static void run_again(const char *how)
{
    assert_true(mkdir(DIRECTORY, 0777) == 0 || access(DIRECTORY, W_OK) == 0);
    again = (struct again){.resmon = "json=" DIRECTORY "/run.json", .words = {how}};
    again_run(&again);
    assert_int_equal(again.signal_number, 0);
    assert_int_equal(again.exit_status, 0);
}

TEST(two_threads_exit)
{
    run_again("threads");
    const char *end = strstr(again.text, "held up");
    assert_non_null(end);
    const char *summary = strstr(again.text, " took ");
    assert_true(summary > end);
    assert_null(strstr(summary + 1, " took "));
    assert_non_null(strstr(summary, " of CPU time for observing"));
}

TEST(a_signal_handler_exits_meanwhile)
{
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: to ThreadSanitizer a thread that nobody joins any more is an "
                      "error\n");
        skip();
    }
    run_again("handler");
}

TEST_FILE(.program = run_program, .missing = missing_documents);
