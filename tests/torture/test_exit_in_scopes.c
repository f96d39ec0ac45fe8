/* SPDX-License-Identifier: MIT */
/*
 * Scopes in which a program ends: those of the thread that exits end with it and have all figures,
 * those of other threads and of a program that is killed stay open.  The summary shows both alike.
 */
#include "again.h"
#include "report_in_full.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "format/json.h"
#include "scopes.h"

#define RECORD    "test_exit_in_scopes.rec"
#define DOCUMENT  "test_exit_in_scopes.json"
#define RECURSION 3

/* ---- the program ------------------------------------------------------------------------ */

static resmon_site sites[] = {
    {"outer", __FILE__, "run_program", 1, 0},
    {"done", __FILE__, "run_program", 2, 0},
    {"inner", __FILE__, "run_program", 3, 0},
    {"elsewhere", __FILE__, "stay", 4, 0},
};

static sem_t is_inside;

static void *stay(void *unused)
{
    (void)resmon_scope_begin(&sites[3]);
    (void)sem_post(&is_inside);
    for (;;) {
        (void)pause();
    }
    return unused;
}

static void exit_from_handler(int number)
{
    (void)number;
    exit(0);
}

static int run_program(char **words)
{
    const char *how = words[0];
    pthread_t thread;
    if (sem_init(&is_inside, 0, 0) != 0 || pthread_create(&thread, NULL, stay, NULL) != 0) {
        return 2;
    }
    (void)sem_wait(&is_inside);
    (void)resmon_scope_begin(&sites[0]);
    resmon_scope_end(resmon_scope_begin(&sites[1]));
    for (int i = 0; i < RECURSION; i++) {
        (void)resmon_scope_begin(&sites[2]);
    }
    if (strcmp(how, "kill") == 0) {
        (void)raise(SIGKILL);
    }
    if (strcmp(how, "handler") == 0) {
        (void)signal(SIGUSR1, exit_from_handler);
        (void)raise(SIGUSR1);
    }
    exit(0);
}

/* ---- the tests -------------------------------------------------------------------------- */

static struct again again;

static resmon_run *run_of(const char *how, const char *resmon, const char *path)
{
    resmon_run *run = NULL;
    struct verdict verdict = {0};
    again = (struct again){.resmon = resmon, .words = {how}};
    again_run(&again);
    assert_true(again.exit_status == 0 || again.signal_number == SIGKILL);
    assert_ok(resmon_run_load(path, &run));
    if (!check_scopes(run, 1e12, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    (void)unlink(path);
    return run;
}

/* As many lines of the table of phases begin like that. */
static void check_phase(const resmon_run *run, const char *line)
{
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    const char *phases = strstr(text, "\nScopes");
    assert_non_null(phases);
    const char *found = strstr(phases, line);
    if (found == NULL) {
        fail_msg("no '%s' in %.1200s", line, phases);
    } else {
        char calls[16] = "";
        (void)sscanf(found + strlen(line), "%15s", calls);
        assert_string_equal(calls, "1");
    }
    assert_non_null(strstr(phases, "*: open when the run ended"));
    resmon_text_free(text);
}

/* Of all calls of that name. */
static uint64_t ended_at_exit_by_name(const resmon_run *run, const char *name)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    for (size_t i = 0; i < resmon_run_scope_name_count(run); i++) {
        assert_ok(resmon_run_get_scope_name(run, i, &scope));
        if (strcmp(scope.name, name) == 0) {
            return scope.ended_at_exit;
        }
    }
    fail_msg("no scope of the name %s", name);
    return 0;
}

static void check_ended(const resmon_run *run)
{
    const resmon_run_scope outer = scope_at(run, "outer");
    const resmon_run_scope inner = scope_at(run, "outer/inner");
    const resmon_run_scope done = scope_at(run, "outer/done");
    const resmon_run_scope elsewhere = scope_at(run, "elsewhere");
    assert_int_equal(outer.calls, 1);
    assert_int_equal(outer.ended_at_exit, 1);
    assert_int_equal(outer.open, 0);
    assert_int_equal(outer.cpu_calls, 1);
    assert_int_equal(outer.rss_calls, 1);
    assert_true(outer.wall_ns > 0.0 && outer.rss_peak_bytes > 0.0);
    assert_int_equal(inner.calls, 1);
    assert_int_equal(inner.folded, RECURSION - 1);
    assert_int_equal(inner.ended_at_exit, 1);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.ended_at_exit, 0);
    assert_int_equal(elsewhere.calls, 1);
    assert_int_equal(elsewhere.open, 1);
    assert_int_equal(elsewhere.ended_at_exit, 0);
    assert_true(elsewhere.open_ns > 0.0);
    assert_int_equal(ended_at_exit_by_name(run, "inner"), 1);
    assert_int_equal(ended_at_exit_by_name(run, "done"), 0);
    check_phase(run, "\n  outer *");
    check_phase(run, "\n    inner *");
    check_phase(run, "\n    done  ");
    check_phase(run, "\n  elsewhere *");
}

/* Nothing was closed in a wrong order: it was the end. */
static void check_nothing_was_wrong(const resmon_run *run)
{
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    assert_null(strstr(text, "scopes closed by the end of an outer one"));
    resmon_text_free(text);
}

TEST(exit_ends_the_scopes_of_its_thread)
{
    static const char *const ways[] = {"exit", "handler"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        resmon_run *run = run_of(ways[i], "scopes=wall+cpu+rss+io,record=" RECORD, RECORD);
        check_ended(run);
        check_nothing_was_wrong(run);
        resmon_run_free(run);
    }
}

TEST(the_document_says_the_same)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("not checked: %s\n", resmon_last_error());
        return;
    }
    resmon_run *run = run_of("exit", "scopes=wall+cpu+rss+io,json=" DOCUMENT, DOCUMENT);
    check_ended(run);
    resmon_run_free(run);
}

TEST(a_kill_leaves_them_open)
{
    resmon_run *run = run_of("kill", "scopes=wall+cpu,record=" RECORD, RECORD);
    const resmon_run_scope outer = scope_at(run, "outer");
    assert_int_equal(outer.calls, 1);
    assert_int_equal(outer.open, 1);
    assert_int_equal(outer.ended_at_exit, 0);
    check_phase(run, "\n  outer *");
    check_phase(run, "\n    inner *");
    check_phase(run, "\n    done  ");
    resmon_run_free(run);
}

TEST_FILE(.program = run_program);
