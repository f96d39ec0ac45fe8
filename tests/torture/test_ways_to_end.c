/* SPDX-License-Identifier: MIT */
/*
 * Programs under RESMON that end in every way: what whoever waits for them sees is as without us,
 * and the run says how it was.
 */
#define _GNU_SOURCE /* unshare */
#include "again.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "format/json.h"
#include "unit/sanitizer.h"

#define RECORD    "test_ways_to_end.rec"
#define KEYS      "record=" RECORD
#define DIRECTORY "test_ways_to_end.tmp" /* of a document that has nowhere to go in the end */
#define NOWHERE   "json=" DIRECTORY "/run.json," KEYS ",signals"

/* ---- the programs ----------------------------------------------------------------------- */

static const struct timespec a_moment = {.tv_nsec = 20000000};

static int sleep_for_ever(void)
{
    while (pause() != 0) {
    }
    return 94;
}

static int send(int number)
{
    (void)raise(number);
    return sleep_for_ever();
}

static int return_3(void)
{
    return 3;
}

static int exit_3(void)
{
    exit(3);
}

static int exit_256(void)
{
    exit(256);
}

static int leave_without_a_word(void)
{
    _exit(4);
}

static int abort_here(void)
{
    abort();
}

static int send_term(void)
{
    return send(SIGTERM);
}

static int send_int(void)
{
    return send(SIGINT);
}

static int send_hup(void)
{
    return send(SIGHUP);
}

static int send_xcpu(void)
{
    return send(SIGXCPU);
}

static int send_usr1(void)
{
    return send(SIGUSR1);
}

static int ignore_term(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)raise(SIGTERM);
    return 0;
}

static int raise_term(void)
{
    (void)raise(SIGTERM);
    return 0;
}

/* As nohup(1) does of SIGHUP. */
static int inherit_ignored_term(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)setenv("RESMON", KEYS ",signals", 1);
    exec_this_file("raise_term", NULL);
    return 127;
}

static void exit_5(int number)
{
    (void)number;
    exit(5);
}

static int handle_term(void)
{
    (void)signal(SIGTERM, exit_5);
    return send(SIGTERM);
}

static void *wait_in_thread(void *unused)
{
    (void)sleep_for_ever();
    return unused;
}

/* It comes to the thread that does not block it. */
static int block_term_here(void)
{
    pthread_t thread;
    sigset_t term;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)pthread_create(&thread, NULL, wait_in_thread, NULL);
    (void)pthread_sigmask(SIG_BLOCK, &term, NULL);
    (void)kill(getpid(), SIGTERM);
    return sleep_for_ever();
}

/* It stays with who waits for it. */
static int wait_for_term(void)
{
    sigset_t term;
    int number = 0;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &term, NULL);
    (void)kill(getpid(), SIGTERM);
    (void)sigwait(&term, &number);
    return number == SIGTERM ? 6 : 1;
}

/* From another thread, at some instruction of malloc(). */
static void *send_to_process(void *unused)
{
    (void)nanosleep(&a_moment, NULL);
    (void)kill(getpid(), SIGTERM);
    return unused;
}

static int allocate_for_ever(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, send_to_process, NULL);
    for (size_t bytes = 1; bytes > 0; bytes = bytes * 7 % 100003) {
        void *volatile block = malloc(bytes);
        free(block);
    }
    return 94;
}

/* As timeout(1) does: to the process, and to its group. */
static int send_twice(void)
{
    (void)raise(SIGTERM);
    return send(SIGTERM);
}

/* The log has something to say while the run is finished: its document has nowhere to go. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_logging;

static void log_under_lock(void *context, int32_t level, const char *line)
{
    (void)context, (void)level, (void)line;
    (void)sem_post(&is_logging);
    (void)pthread_mutex_lock(&log_lock);
    (void)pthread_mutex_unlock(&log_lock);
}

static void finish_under_lock(void)
{
    (void)sem_init(&is_logging, 0, 0);
    (void)rmdir(DIRECTORY);
    resmon_set_log(log_under_lock, NULL, RESMON_LOG_WARNING);
    (void)pthread_mutex_lock(&log_lock);
}

/* The thread that the signal comes to has the lock that finishing wants. */
static int hold_a_lock(void)
{
    finish_under_lock();
    (void)raise(SIGTERM);
    (void)sem_wait(&is_logging);
    (void)pthread_mutex_unlock(&log_lock);
    return sleep_for_ever();
}

/* The program would end by itself meanwhile. */
static int return_meanwhile(void)
{
    finish_under_lock();
    (void)raise(SIGTERM);
    (void)pthread_mutex_unlock(&log_lock);
    return 0;
}

/* Finishing never ends: the next signals come too soon to mean it, and then they do. */
static int finish_for_ever(void)
{
    finish_under_lock();
    while (kill(getpid(), SIGTERM) == 0) {
        (void)nanosleep(&a_moment, NULL);
    }
    return 94;
}

static int fork_and_kill(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(60);
        (void)send(SIGTERM);
    }
    bool is_killed =
        waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
    return is_killed ? 0 : 1;
}

static resmon_status say(int32_t reason, int32_t exit_status, const char *text)
{
    const resmon_run_end end = {
        .struct_size = sizeof end, .reason = reason, .exit_status = exit_status, .text = text};
    return resmon_program_set_end(&end);
}

static int say_failed(void)
{
    return say(RESMON_END_FAILED, 0, "ValueError: x") == RESMON_OK ? 1 : 99;
}

static int say_failed_and_finish(void)
{
    (void)say(RESMON_END_FAILED, 8, "said");
    return 0;
}

static int say_interrupted(void)
{
    (void)say(RESMON_END_INTERRUPTED, 0, "KeyboardInterrupt");
    return 9;
}

static int finish_and_leave(void)
{
    bool is_right = resmon_program_finish(4) == RESMON_OK &&
                    resmon_program_finish(5) == RESMON_ESTATE &&
                    say(RESMON_END_FAILED, 1, "late") == RESMON_ESTATE;
    _exit(is_right ? 4 : 98);
}

/* A child has no run to finish. */
static int finish_in_child(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(resmon_program_finish(1) == RESMON_ESTATE &&
                      resmon_program_end_on_signals() == RESMON_ESTATE
                  ? 0
                  : 1);
    }
    (void)waitpid(child, &status, 0);
    return status != 0 ? 97 : 0;
}

static int end_on_signals(void)
{
    return resmon_program_end_on_signals() == RESMON_OK ? send(SIGTERM) : 96;
}

/* Process 1 of a container, which no signal ends that has its default there. */
static int be_the_first(void)
{
    (void)raise(SIGTERM);
    while (say(RESMON_END_FAILED, 1, "alive") == RESMON_OK) {
    }
    return 7;
}

static int make_container(void)
{
    int status = 0;
    if (HAS_ADDRESS_SANITIZER || unshare(CLONE_NEWPID) != 0) {
        return 77;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("RESMON", KEYS ",signals", 1);
        exec_this_file("be_the_first", NULL);
        _exit(127);
    }
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static const struct way {
    const char *name;
    int (*run)(void);
    const char *resmon;
    int exit_status, signal_number; /* that whoever waits sees */
    struct {
        int32_t reason, exit_status, signal_number;
        const char *text;
    } end;
} ways[] = {
#define WAY(name) #name, name
    {WAY(return_3), KEYS, 3, 0, {RESMON_END_FAILED, 3, 0, ""}},
    {WAY(exit_3), KEYS, 3, 0, {RESMON_END_FAILED, 3, 0, ""}},
    {WAY(exit_256), KEYS, 0, 0, {RESMON_END_FINISHED, 0, 0, ""}},
    {WAY(leave_without_a_word), KEYS ",signals", 4, 0, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(abort_here), KEYS ",signals", 0, SIGABRT, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(send_term), KEYS, 0, SIGTERM, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(send_term), KEYS ",signals=none", 0, SIGTERM, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(send_term), KEYS ",signals=int", 0, SIGTERM, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(send_term), KEYS ",signals", 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(send_int), KEYS ",signals", 0, SIGINT, {RESMON_END_INTERRUPTED, 0, SIGINT, ""}},
    {WAY(send_hup), KEYS ",signals=hup", 0, SIGHUP, {RESMON_END_KILLED, 0, SIGHUP, ""}},
    {WAY(send_xcpu), KEYS ",signals", 0, SIGXCPU, {RESMON_END_KILLED, 0, SIGXCPU, ""}},
    {WAY(send_usr1), KEYS ",signals", 0, SIGUSR1, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(send_usr1), KEYS ",signals=default+usr1", 0, SIGUSR1, {RESMON_END_KILLED, 0, SIGUSR1, ""}},
    {WAY(ignore_term), KEYS ",signals", 0, 0, {RESMON_END_FINISHED, 0, 0, ""}},
    {WAY(inherit_ignored_term), NULL, 0, 0, {RESMON_END_FINISHED, 0, 0, ""}},
    {WAY(handle_term), KEYS ",signals", 5, 0, {RESMON_END_FAILED, 5, 0, ""}},
    {WAY(block_term_here), KEYS ",signals", 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(wait_for_term), KEYS ",signals", 6, 0, {RESMON_END_FAILED, 6, 0, ""}},
    {WAY(allocate_for_ever), KEYS ",signals", 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(send_twice), KEYS ",signals", 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(hold_a_lock), NOWHERE, 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(return_meanwhile), NOWHERE, 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(finish_for_ever), NOWHERE, 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(fork_and_kill), KEYS ",signals", 0, 0, {RESMON_END_FINISHED, 0, 0, ""}},
    {WAY(say_failed), KEYS, 1, 0, {RESMON_END_FAILED, 1, 0, "ValueError: x"}},
    {WAY(say_failed_and_finish), KEYS, 0, 0, {RESMON_END_FAILED, 8, 0, "said"}},
    {WAY(say_interrupted), KEYS, 9, 0, {RESMON_END_INTERRUPTED, 0, 0, "KeyboardInterrupt"}},
    {WAY(finish_and_leave), KEYS, 4, 0, {RESMON_END_FAILED, 4, 0, ""}},
    {WAY(finish_in_child), KEYS, 0, 0, {RESMON_END_FINISHED, 0, 0, ""}},
    {WAY(end_on_signals), KEYS, 0, SIGTERM, {RESMON_END_KILLED, 0, SIGTERM, ""}},
    {WAY(end_on_signals), KEYS ",signals=none", 0, SIGTERM, {RESMON_END_UNKNOWN, 0, 0, ""}},
    {WAY(make_container), NULL, 7, 0, {RESMON_END_KILLED, 0, SIGTERM, ""}},
#undef WAY
};

static int run_program(char **words)
{
    const char *how = words[0];
    static const struct {
        const char *name;
        int (*run)(void);
    } others[] = {{"raise_term", raise_term}, {"be_the_first", be_the_first}};
    (void)alarm(60);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, how) == 0) {
            return ways[i].run();
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].name, how) == 0) {
            return others[i].run();
        }
    }
    return 95;
}

/* ---- the test --------------------------------------------------------------------------- */

static void check_way(const struct way *way)
{
    static struct again again;
    resmon_run *run = NULL;
    resmon_run_end end = {.struct_size = sizeof end};
    if (way->resmon != NULL && strstr(way->resmon, "json=") != NULL &&
        rm_json_check() != RESMON_OK) {
        print_message("not checked: %s (%s)\n", way->name, resmon_last_error());
        return;
    }
    (void)unlink(RECORD);
    (void)mkdir(DIRECTORY, 0777);
    again = (struct again){.resmon = way->resmon, .words = {way->name}};
    again_run(&again);
    if (again.exit_status == 77) {
        print_message("not checked: %s (it needs root, and no sanitizer)\n", way->name);
        return;
    }
    if (again.signal_number != way->signal_number ||
        (way->signal_number == 0 && again.exit_status != way->exit_status)) {
        fail_msg("%s, %s: exit status %d, signal %d\n%s", way->name,
                 way->resmon != NULL ? way->resmon : "", again.exit_status, again.signal_number,
                 again.text);
    }
    assert_ok(resmon_run_load(RECORD, &run));
    assert_ok(resmon_run_get_end(run, &end));
    if (end.reason != way->end.reason || end.exit_status != way->end.exit_status ||
        end.signal_number != way->end.signal_number || strcmp(end.text, way->end.text) != 0) {
        fail_msg("%s, %s: reason %d, exit status %d, signal %d, '%s'", way->name,
                 way->resmon != NULL ? way->resmon : "", end.reason, end.exit_status,
                 end.signal_number, end.text);
    }
    resmon_run_free(run);
}

TEST(all_ways)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        check_way(&ways[i]);
    }
    (void)unlink(RECORD);
    (void)rmdir(DIRECTORY);
}

TEST_FILE(.program = run_program);
