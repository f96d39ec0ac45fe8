/* SPDX-License-Identifier: MIT */
/*
 * The program resmon-names beside the host program: this neither sees nor reaps it, and has
 * addresses and the reason, in time, where it is missing, not to be trusted, hangs, crashes,
 * floods, or replies nonsense.  What it does for the names of files: unit/test_symbols.c.
 */
#define _GNU_SOURCE /* chroot, prctl */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "names/protocol.h"
#include "os/elf_file.h"
#include "stack_tests.h"
#include "symbols/naming.h"
#include "symbols/symbolizer.h"
#include "unit/made_unnamed.h"
#include "unit/sanitizer.h"

#define LEFT_OUT "names are left out: "

static char self_path[1024], self_build_id[RM_ELF_BUILD_ID_BYTES];
static uint64_t self_address; /* of this file */

__attribute__((noinline)) static void find_me(void)
{
    __asm__ volatile("" ::: "memory");
}

static struct resmon_run *new_run(void)
{
    return made_unnamed(self_path, self_build_id, &self_address, 1);
}

static const char *reason_of(const struct resmon_run *run)
{
    return run->profile.kinds[RESMON_STACK_CPU].reason;
}

static bool is_named(const struct resmon_run *run)
{
    return strcmp(run->profile.places[0].function, "find_me") == 0;
}

/* Names a run; the program is there, and is the right one. */
static void name_it(void)
{
    struct resmon_run *run = new_run();
    assert_ok(rm_naming_fill(NULL, run));
    if (!is_named(run)) {
        fail_msg("no name: %s", reason_of(run));
    }
    rm_run_free(run);
}

static void copy_fake(const char *name)
{
    size_t length = 0;
    char *bytes = content_of(FAKE_NAMES, &length);
    assert_non_null(bytes);
    put_content(path_of(name), bytes, length);
    assert_int_equal(chmod(path_of(name), 0755), 0);
    free(bytes);
}

/* What the program of that name leaves of a run: addresses, and this reason. */
static void assert_left_out(const char *name, const char *reason)
{
    struct rm_naming *naming = NULL;
    struct resmon_run *run = new_run(), *again = new_run();
    assert_ok(rm_naming_new(NULL, &naming));
    rm_symbolizer.program = path_of(name);
    assert_ok(rm_naming_fill(naming, run));
    rm_symbolizer.program = NULL;
    assert_int_equal(run->profile.place_count, 1);
    assert_string_equal(run->profile.places[0].function, "");
    assert_has(reason_of(run), LEFT_OUT);
    assert_has(reason_of(run), reason);
    /* Whoever loads it later has them. */
    assert_ok(rm_naming_fill(NULL, run));
    assert_true(is_named(run));
    assert_string_equal(reason_of(run), "");
    assert_ok(rm_naming_fill(naming, again)); /* nothing of the failure is kept */
    assert_true(is_named(again));
    rm_naming_free(naming);
    rm_run_free(run);
    rm_run_free(again);
}

/* ---- what the host sees ------------------------------------------------------------------ */

static int signals; /* atomic */

static void count_signal(int number)
{
    (void)number;
    (void)__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

static bool is_done; /* atomic */
static int reaped;

static void *wait_for_anybody(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
        int status;
        reaped += wait(&status) > 0 || waitpid(-1, &status, WNOHANG) > 0;
        (void)sched_yield();
    }
    return NULL;
}

/* The children of all threads of this process. */
static size_t count_children(void)
{
    char path[128], line[512] = "";
    size_t count = 0;
    (void)snprintf(path, sizeof path, "cat /proc/%d/task/*/children", (int)getpid());
    FILE *file = popen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        for (const char *at = line; *at != '\0'; at++) {
            count += *at == ' ';
        }
    }
    (void)pclose(file);
    return count - 1; /* the shell */
}

/* Limits, signals and what the OOM killer makes of the host are as they were. */
static char *state_of_host(void)
{
    static const char *const files[] = {"/proc/self/oom_score_adj", "/proc/self/limits"};
    static char state[2][16384];
    static size_t turn;
    char *text = state[turn++ % 2];
    text[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        char *content = content_of(files[i], NULL);
        assert_non_null(content);
        (void)strncat(text, content, sizeof state[0] / 2 - 1);
        free(content);
    }
    return text;
}

TEST(the_host_neither_sees_nor_reaps_it)
{
    const char *before = state_of_host();
    struct sigaction action = {.sa_handler = count_signal}, old;
    pthread_t thread;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    assert_int_equal(sigaction(SIGCHLD, &action, &old), 0);
    signals = reaped = 0;
    is_done = false;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_anybody, NULL), 0);
    for (int i = 0; i < 10; i++) {
        name_it();
    }
    __atomic_store_n(&is_done, true, __ATOMIC_RELEASE);
    (void)pthread_join(thread, NULL);
    assert_int_equal(__atomic_load_n(&signals, __ATOMIC_RELAXED), 0);
    assert_int_equal(reaped, 0);
    assert_int_equal(sigaction(SIGCHLD, &old, NULL), 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    assert_int_equal(count_children(), 0);
    assert_string_equal(state_of_host(), before);
}

TEST(a_host_that_ignores_children)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, found, old;
    assert_int_equal(sigaction(SIGCHLD, &ignore, &old), 0);
    name_it();
    assert_int_equal(sigaction(SIGCHLD, &old, &found), 0);
    assert_ptr_equal(found.sa_handler, SIG_IGN); /* as it was */
}

TEST(many_threads_at_once)
{
    pthread_t threads[8];
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, (void *(*)(void *))name_it, NULL), 0);
    }
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* Nothing of the host is handed on: descriptors, variables, signals. */
TEST(it_has_nothing_of_the_host)
{
    sigset_t blocked;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    int inherited = open("/", O_RDONLY); /* not close-on-exec */
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    (void)sigaction(SIGUSR2, &ignore, &old);
    (void)setenv("RESMON", "json=never.json", 1);
    (void)setenv("LD_PRELOAD", "", 1);
    (void)setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
    copy_fake("look");
    assert_left_out("look", "makes no sense");
    (void)unsetenv("RESMON");
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("LD_LIBRARY_PATH");
    (void)sigaction(SIGUSR2, &old, NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    (void)close(inherited);
    char *seen = content_of(path_of("look.seen"), NULL);
    assert_non_null(seen);
    const char *lines = strchr(seen, '\n');
    assert_non_null(lines);
    assert_has(lines, "descriptor 0\ndescriptor 1\ndescriptor 2\nenvironment "
                      "LD_LIBRARY_PATH=/nonexistent\nSig");
    assert_has(lines, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                      "SigCgt:\t0000000000000000\n");
    assert_has(lines, "session 1 core 1 cpu 1\n");
    free(seen);
}

/* ---- what becomes of it ------------------------------------------------------------------ */

TEST(it_is_missing)
{
    assert_left_out("nowhere", "cannot open");
    assert_left_out(".", "is not a program");
    put_text(path_of("text"), "this is no program\n");
    assert_int_equal(chmod(path_of("text"), 0755), 0);
    assert_left_out("text", "cannot start");
}

TEST(it_is_somebody_elses)
{
    copy_fake("replaced");
    assert_int_equal(chmod(path_of("replaced"), 0757), 0);
    assert_left_out("replaced", "is not run: others may write it");
    assert_int_equal(chmod(path_of("replaced"), 0755), 0);
    if (geteuid() != 0 || chown(path_of("replaced"), 12345, 12345) != 0) {
        print_message("another owner is not tested: that needs root\n");
        return;
    }
    assert_left_out("replaced", "is not run: it belongs to user 12345");
    assert_null(content_of(path_of("replaced.seen"), NULL));
}

TEST(it_ends)
{
    static const struct {
        const char *name, *reason;
    } ends[] = {{"killed", "ended by signal 9"},
                {"crash", "ended by signal 11"},
                {"fails", "failed with status 42"},
                {"nonsense", "makes no sense"},
                {"silent", "makes no sense"}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        copy_fake(ends[i].name);
        assert_left_out(ends[i].name, ends[i].reason);
    }
}

static pid_t pid_in(const char *path)
{
    char *text = content_of(path, NULL);
    pid_t pid = text != NULL ? (pid_t)strtol(text, NULL, 10) : 0;
    free(text);
    return pid;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* A helper that hangs is killed in time, and nothing of it is left. */
TEST(it_hangs)
{
    static const char *const names[] = {"hang", "flood"};
    const int64_t usual_ns = rm_symbolizer.most_ns;
    for (size_t i = 0; i < 2; i++) {
        copy_fake(names[i]);
        rm_symbolizer.most_ns = RM_NS_PER_S / 2;
        struct resmon_run *run = new_run();
        rm_symbolizer.program = path_of(names[i]);
        int64_t before_ns = rm_clock_monotonic_ns();
        assert_ok(rm_naming_fill(NULL, run));
        assert_in_range(rm_clock_monotonic_ns() - before_ns, RM_NS_PER_S / 4, 10 * RM_NS_PER_S);
        rm_symbolizer.program = NULL;
        rm_symbolizer.most_ns = usual_ns;
        assert_has(reason_of(run), i == 0 ? "took longer than" : LEFT_OUT);
        rm_run_free(run);
        char seen[64];
        (void)snprintf(seen, sizeof seen, "%s.seen", names[i]);
        assert_true(is_gone(pid_in(path_of(seen))));
    }
    assert_int_equal(count_children(), 0);
}

/* It does not outlive a host that is killed. */
TEST(the_host_is_killed)
{
    copy_fake("hang");
    (void)unlink(path_of("hang.seen"));
    pid_t host = fork();
    if (host == 0) {
        struct resmon_run *run = new_run();
        rm_symbolizer.program = path_of("hang");
        (void)rm_naming_fill(NULL, run);
        _exit(0);
    }
    assert_true(host > 0);
    pid_t helper = 0;
    const struct timespec pause = {0, 1000000};
    for (int turns = 0; helper == 0 && turns < 10000; turns++) {
        helper = pid_in(path_of("hang.seen"));
        (void)nanosleep(&pause, NULL);
    }
    assert_true(helper > 0);
    int status;
    assert_int_equal(kill(host, SIGKILL), 0);
    assert_int_equal(waitpid(host, &status, 0), host);
    for (int turns = 0; !is_gone(helper) && turns < 10000; turns++) {
        (void)waitpid(-1, &status, WNOHANG); /* this may be the first process of a container */
        (void)nanosleep(&pause, NULL);
    }
    assert_true(is_gone(helper));
}

/* ---- replies ----------------------------------------------------------------------------- */

static resmon_status (*ask_program)(const struct rm_buffer *, struct rm_buffer *);
static char reply_text[256];
static size_t reply_length;

static resmon_status reply_with_text(const struct rm_buffer *request, struct rm_buffer *reply)
{
    (void)request;
    rm_buffer_add(reply, reply_text, reply_length);
    return RESMON_OK;
}

static void assert_reply_left_out(const struct rm_buffer *reply, const char *reason)
{
    struct resmon_run *run = new_run();
    ask_program = rm_symbolizer.ask;
    rm_symbolizer.ask = reply_with_text;
    memcpy(reply_text, reply->text, reply->length);
    reply_length = reply->length;
    assert_ok(rm_naming_fill(NULL, run));
    rm_symbolizer.ask = ask_program;
    assert_has(reason_of(run), LEFT_OUT);
    assert_has(reason_of(run), reason);
    assert_string_equal(run->profile.places[0].function, "");
    rm_run_free(run);
}

TEST(replies_that_make_no_sense)
{
    static const struct {
        uint32_t magic, version, frames, name, line, end;
        const char *why, *reason;
    } replies[] = {
        {RM_NAMES_REPLY, RM_NAMES_VERSION + 1, 1, 0, 1, RM_NAMES_END, "", "of another version"},
        {RM_NAMES_REQUEST, RM_NAMES_VERSION, 1, 0, 1, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 129, 0, 1, RM_NAMES_END, "no libdw", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 129, 0, 1, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 2, 0, 1, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 0, 0, 1, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 1, 7, 1, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 1, 0, UINT32_MAX, RM_NAMES_END, "", "makes no sense"},
        {RM_NAMES_REPLY, RM_NAMES_VERSION, 1, 0, 1, 0, "", "makes no sense"},
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        struct rm_buffer reply;
        rm_buffer_init(&reply, sizeof reply_text);
        rm_names_put_u32(&reply, replies[i].magic);
        rm_names_put_u32(&reply, replies[i].version);
        rm_names_put_text(&reply, replies[i].why, 100);
        rm_names_put_u32(&reply, 0);
        rm_names_put_text(&reply, "", 0);
        rm_names_put_u32(&reply, replies[i].frames);
        rm_names_put_u32(&reply, replies[i].name);
        rm_names_put_u32(&reply, 0);
        rm_names_put_u32(&reply, replies[i].line);
        rm_names_put_u32(&reply, replies[i].end);
        assert_reply_left_out(&reply, replies[i].reason);
        rm_buffer_free(&reply);
    }
}

/* ---- places where it cannot be ----------------------------------------------------------- */

static int name_in_chroot(void)
{
    struct resmon_run *run = new_run();
    if (chroot(test_directory) != 0 || chdir("/") != 0) {
        return 77;
    }
    if (rm_naming_fill(NULL, run) != RESMON_OK || run->profile.places[0].function[0] != '\0') {
        return 1;
    }
    return strstr(reason_of(run), LEFT_OUT) != NULL ? 0 : 2;
}

static int name_in_fork(void)
{
    struct resmon_run *run = new_run();
    return rm_naming_fill(NULL, run) == RESMON_OK && is_named(run) ? 0 : 1;
}

static int run_in_child(int (*work)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        _exit(work());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Without /proc, too. */
TEST(after_fork_and_chroot)
{
    assert_int_equal(run_in_child(name_in_fork), 0);
    int status = run_in_child(name_in_chroot);
    if (status == 77) {
        print_message("chroot() is not tested: that needs root\n");
        return;
    }
    assert_int_equal(status, 0);
}

static int set_up(void **state)
{
    struct rm_elf elf;
    (void)state;
    ssize_t length = readlink("/proc/self/exe", self_path, sizeof self_path - 1);
    assert_true(length > 0);
    find_me();
    /* Where the file was mapped: by the address of what the file has at 0. */
    extern const char __executable_start[] __attribute__((visibility("hidden")));
    self_address = (uint64_t)((uintptr_t)find_me - (uintptr_t)__executable_start);
    assert_ok(rm_elf_open(&elf, self_path));
    assert_ok(rm_elf_build_id(&elf, self_build_id));
    rm_elf_close(&elf);
    return 0;
}

TEST_FILE(.missing = missing_names, .set_up = set_up);
