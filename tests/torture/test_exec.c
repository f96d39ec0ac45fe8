/* SPDX-License-Identifier: MIT */
/*
 * Programs that exec() others, which are observed as well: the process stays, and what it recorded
 * before is kept beside what comes.  And documents whose writers are gone without a word.
 */
#include "again.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <time.h>

#include "format/json.h"
#include "runs.h"

#define RECORD   "test_exec.rec"
#define DOCUMENT "test_exec.json"

/* ---- the programs ----------------------------------------------------------------------- */

/* Until a checkpoint of this image is there. */
static void await_document(const char *path)
{
    const struct timespec a_moment = {.tv_nsec = 1000000};
    while (access(path, R_OK) != 0) {
        (void)nanosleep(&a_moment, NULL);
    }
}

static int become(const char *how)
{
    exec_this_file(how, NULL);
    return 127;
}

/* "3": an image, then two more.  Each but the last leaves its document as it was. */
static int run_images(int count)
{
    char next[16];
    if (count == 1) {
        return 0;
    }
    if (rm_json_check() == RESMON_OK) {
        await_document(count == 3 ? DOCUMENT : DOCUMENT ".1"); /* its own is there by then */
        await_document(DOCUMENT);
    }
    (void)snprintf(next, sizeof next, "%d", count - 1);
    return become(next);
}

/* Says by its output that it is there, and lives until its input ends. */
static int stay(void)
{
    char byte;
    if (rm_json_check() == RESMON_OK) {
        await_document(DOCUMENT);
    }
    (void)!write(STDERR_FILENO, "!", 1);
    return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

static int run_program(char **words)
{
    const char *how = words[0];
    (void)alarm(60);
    if (strcmp(how, "stay") == 0) {
        return stay();
    }
    return strcmp(how, "become") == 0 ? become("stay") : run_images(atoi(how));
}

/* ---- helpers ---------------------------------------------------------------------------- */

/* Without JSON there are recordings only. */
static const char *keys(void)
{
    return rm_json_check() == RESMON_OK ? "record=" RECORD ",json=" DOCUMENT ",json.interval=1ms"
                                        : "record=" RECORD;
}

static struct again again;

static void remove_files(void)
{
    static const char *const files[] = {RECORD,   RECORD ".1",   RECORD ".2",
                                        DOCUMENT, DOCUMENT ".1", DOCUMENT ".2"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)unlink(files[i]);
    }
}

/* The state and the end of a run, and who it is of. */
static double check_run(const char *path, const char *state, int32_t reason)
{
    resmon_run *run = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    resmon_run_end end = {.struct_size = sizeof end};
    assert_ok(resmon_run_load(path, &run));
    assert_ok(resmon_run_get_info(run, &info));
    assert_ok(resmon_run_get_end(run, &end));
    if (strcmp(info.state, state) != 0 || end.reason != reason) {
        fail_msg("%s is %s, and its end %d", path, info.state, end.reason);
    }
    /* One sample tells nothing of what grows, nor, at the end, of time. */
    resmon_headline headline = {.struct_size = sizeof headline};
    assert_ok(resmon_run_get_headline(run, &headline));
    bool has_one = info.samples < 2 && strcmp(info.state, "interrupted") == 0;
    if (isnan(headline.wall_s) != has_one || isnan(headline.cpu_s) != (info.samples < 2)) {
        fail_msg("%s: %.3g s, %.3g s of CPU time of %d samples", path, headline.wall_s,
                 headline.cpu_s, (int)info.samples);
    }
    double pid = strtod(resmon_run_fact(run, "run", "pid"), NULL);
    resmon_run_free(run);
    return pid;
}

/* Starts one that stays, and gives the descriptor whose end ends it. */
static int start_to_stay(const char *how)
{
    int ends[2];
    char byte;
    int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    again = (struct again){.resmon = keys(), .words = {how}};
    (void)dup2(ends[0], STDIN_FILENO);
    (void)close(ends[0]);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    again_start(&again);
    (void)dup2(before, STDIN_FILENO);
    (void)close(before);
    assert_int_equal(read(again.error, &byte, 1), 1);
    assert_int_equal(byte, '!');
    return ends[1];
}

/* ---- exec ------------------------------------------------------------------------------- */

TEST(each_image_is_observed)
{
    remove_files();
    again = (struct again){.resmon = keys(), .words = {"3"}};
    again_run(&again);
    assert_string_equal(again.text, "");
    assert_int_equal(again.exit_status, 0);
    double pid = check_run(RECORD, "stopped", RESMON_END_FINISHED);
    assert_true(pid == check_run(RECORD ".1", "interrupted", RESMON_END_UNKNOWN));
    assert_true(pid == check_run(RECORD ".2", "interrupted", RESMON_END_UNKNOWN));
    assert_int_not_equal(access(RECORD ".3", F_OK), 0);
    if (rm_json_check() == RESMON_OK) {
        (void)check_run(DOCUMENT, "stopped", RESMON_END_FINISHED);
        (void)check_run(DOCUMENT ".1", "interrupted", RESMON_END_UNKNOWN);
        (void)check_run(DOCUMENT ".2", "interrupted", RESMON_END_UNKNOWN);
    }
    remove_files();
}

/* A shell or env(1) is no image of ours: there is nothing to keep. */
TEST(wrappers)
{
    static const char *const wrappers[] = {"exec \"$0\" test_exec 1",
                                           "exec env A=B \"$0\" test_exec 1",
                                           "exec sh -c 'exec \"$0\" test_exec 1' \"$0\""};
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
        remove_files();
        pid_t child = fork();
        if (child == 0) {
            (void)setenv("RESMON", keys(), 1);
            (void)execlp("sh", "sh", "-c", wrappers[i], program, (char *)NULL);
            _exit(127);
        }
        assert_exits(child, 0);
        assert_true(check_run(RECORD, "stopped", RESMON_END_FINISHED) == (double)child);
        assert_int_not_equal(access(RECORD ".1", F_OK), 0);
    }
    remove_files();
}

/* On this machine, and for this process (setarch -R). */
static bool are_addresses_random(void)
{
    char random_addresses = '0';
    FILE *file = fopen("/proc/sys/kernel/randomize_va_space", "r");
    if (file != NULL) {
        (void)!fread(&random_addresses, 1, 1, file);
        (void)fclose(file);
    }
    return random_addresses != '0' && (personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0;
}

/* The process lives, and what it was does not. */
TEST(others_see_that_the_image_is_gone)
{
    remove_files();
    int input = start_to_stay("become");
    (void)check_run(RECORD, "running", RESMON_END_RUNNING);
    if (are_addresses_random()) {
        (void)check_run(RECORD ".1", "interrupted", RESMON_END_UNKNOWN);
    } else {
        print_message("not checked: addresses are not random here\n");
    }
    (void)close(input);
    again_wait(&again);
    (void)check_run(RECORD, "stopped", RESMON_END_FINISHED);
    remove_files();
}

TEST(one_recording_at_a_time)
{
    resmon_monitor *second = NULL;
    remove_files();
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .record = RECORD,
                                            .flags = RESMON_FLAG_NO_SCOPES,
                                            .domains = RESMON_DOMAIN_PROCESS};
    resmon_monitor *first = start_with(&options);
    assert_ok(resmon_monitor_new(&options, &second));
    assert_status(RESMON_EBUSY, resmon_monitor_start(second));
    resmon_monitor_free(second);
    resmon_run_free(finish(first));
    first = start_with(&options);
    resmon_run_free(finish(first));
    assert_int_not_equal(access(RECORD ".1", F_OK), 0); /* of this image: it was meant */
    remove_files();
}

/* ---- documents -------------------------------------------------------------------------- */

static void check_state(const resmon_run *run, const char *state)
{
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_info(run, &info));
    assert_string_equal(info.state, state);
}

TEST(a_document_of_a_program_that_is_gone)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("not checked: %s\n", resmon_last_error());
        return;
    }
    remove_files();
    int input = start_to_stay("stay");
    (void)check_run(DOCUMENT, "running", RESMON_END_RUNNING);
    (void)kill(again.pid, SIGKILL);
    again_wait(&again);
    (void)close(input);
    (void)check_run(DOCUMENT, "interrupted", RESMON_END_UNKNOWN);
    /* What was read long ago may have had its end meanwhile: a text is what it says. */
    char *text = content_of(DOCUMENT, NULL);
    resmon_run *run = parsed(text);
    check_state(run, "running");
    /* Of another host nobody can tell. */
    char *observer = strstr(text, "\"observer\":");
    assert_non_null(observer);
    char *boot = strchr(strchr(strchr(observer + 11, '"') + 1, ' ') + 1, ' ') + 1;
    *boot = *boot == '9' ? '8' : (char)(*boot + 1);
    put_text(DOCUMENT, text);
    (void)check_run(DOCUMENT, "running", RESMON_END_RUNNING);
    resmon_run_free(run);
    free(text);
    remove_files();
}

TEST_FILE(.program = run_program);
