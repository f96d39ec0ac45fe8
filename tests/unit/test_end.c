/* SPDX-License-Identifier: MIT */
/*
 * How a program ended: as the block has it, as a run and its document say it, and in the summary.
 */
#include "made_block.h"
#include "report_in_full.h"
#include "runs.h"

#include <signal.h>
#include <stdbool.h>

#include "format/json.h"
#include "run/record.h"
#include "run/run.h"
#include "store/end.h"

/* ---- from a block ----------------------------------------------------------------------- */

#define END(why, status, number, words)                                                      \
    {                                                                                        \
        .reason = (why), .exit_status = (status), .signal_number = (number), .text = (words) \
    }

struct told {
    uint32_t phase;
    bool is_live;
    resmon_run_end said; /* UNKNOWN: nothing */
    int signal_number;   /* that came */
};

static resmon_run_end end_of(const struct told *told, char text[RM_END_TEXT_BYTES])
{
    struct rm_block_sizes sizes = small_sizes();
    struct rm_block block = made_block(&sizes);
    struct resmon_run *run = NULL;
    const struct rm_decode how = {.parts = 0, .is_written = told->is_live};
    block.header->phase = told->phase;
    if (told->said.reason != RESMON_END_UNKNOWN) {
        rm_end_store(block.header,
                     &(resmon_run_end)END(RESMON_END_FINISHED, 0, 0, "an earlier word"));
        rm_end_store(block.header, &told->said);
    }
    if (told->signal_number != 0) {
        rm_end_note_signal(block.header, told->signal_number);
    }
    assert_ok(rm_run_decode(&block, &how, &run));
    resmon_run_end end = rm_run_end(run);
    (void)snprintf(text, RM_END_TEXT_BYTES, "%s", end.text);
    end.text = text;
    rm_run_free(run);
    free_block(&block);
    return end;
}

TEST(the_end_in_a_block)
{
    const resmon_run_end failed = END(RESMON_END_FAILED, 3, 0, "ValueError: 3");
    const resmon_run_end none = END(RESMON_END_UNKNOWN, 0, 0, "");
    const struct {
        struct told told;
        resmon_run_end wanted;
    } rows[] = {
        {{RM_PHASE_RUNNING, true, none, 0}, END(RESMON_END_RUNNING, 0, 0, "")},
        {{RM_PHASE_RUNNING, true, failed, SIGTERM}, END(RESMON_END_RUNNING, 0, 0, "")},
        {{RM_PHASE_RUNNING, false, none, 0}, none},
        {{RM_PHASE_RUNNING, false, failed, 0}, failed},
        {{RM_PHASE_RUNNING, false, none, SIGTERM}, END(RESMON_END_KILLED, 0, SIGTERM, "")},
        {{RM_PHASE_STOPPED, false, none, 0}, END(RESMON_END_FINISHED, 0, 0, "")},
        {{RM_PHASE_STOPPED, false, failed, 0}, failed},
        {{RM_PHASE_STOPPED, false, none, SIGINT}, END(RESMON_END_INTERRUPTED, 0, SIGINT, "")},
        {{RM_PHASE_STOPPED, false, failed, SIGHUP}, END(RESMON_END_KILLED, 0, SIGHUP, "")},
        {{RM_PHASE_STOPPED, false, END(1234567, -1, -9, ""), 0},
         END(RESMON_END_FINISHED, 0, 0, "")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[RM_END_TEXT_BYTES];
        resmon_run_end end = end_of(&rows[i].told, text);
        assert_int_equal(end.reason, rows[i].wanted.reason);
        assert_int_equal(end.exit_status, rows[i].wanted.exit_status);
        assert_int_equal(end.signal_number, rows[i].wanted.signal_number);
        assert_string_equal(end.text, rows[i].wanted.text);
    }
}

/* ---- of a run --------------------------------------------------------------------------- */

static const struct {
    const char *state;
    resmon_run_end end;
    const char *heading; /* of the summary */
    const char *line;    /* below it; NULL: none about the end */
} runs[] = {
    {"running", END(RESMON_END_RUNNING, 0, 0, ""), "run has run for", NULL},
    {"stopped", END(RESMON_END_FINISHED, 0, 0, ""), "run took", NULL},
    {"stopped", END(RESMON_END_FAILED, 3, 0, ""), "run failed after",
     "\n  failed: exit status 3\n"},
    {"stopped", END(RESMON_END_FAILED, 1, 0, "ValueError: \"bad\" \xc3\xa9"), "run failed after",
     "\n  failed: ValueError: \"bad\" \xc3\xa9 (exit status 1)\n"},
    {"stopped", END(RESMON_END_FAILED, 0, 0, "KeyError"), "run failed after",
     "\n  failed: KeyError\n"},
    {"stopped", END(RESMON_END_FAILED, 0, 0, ""), "run failed after", NULL},
    {"stopped", END(RESMON_END_INTERRUPTED, 0, SIGINT, "KeyboardInterrupt"),
     "run was interrupted by SIGINT after", NULL},
    {"stopped", END(RESMON_END_KILLED, 0, SIGTERM, ""), "run was killed by SIGTERM after", NULL},
    {"stopped", END(RESMON_END_KILLED, 0, 40, ""), "run was killed by signal 40 after", NULL},
    {"interrupted", END(RESMON_END_UNKNOWN, 0, 0, ""), "run ended in an unknown way", NULL},
    {"interrupted", END(RESMON_END_KILLED, 0, SIGXCPU, ""), "run was killed by SIGXCPU before",
     NULL},
};

static struct resmon_run *made_of(size_t row)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = runs[row].state;
    run->end = runs[row].end;
    return run;
}

static void check_end(const resmon_run *run, const resmon_run_end *wanted)
{
    resmon_run_end end = {.struct_size = sizeof end};
    assert_ok(resmon_run_get_end(run, &end));
    assert_int_equal(end.reason, wanted->reason);
    assert_int_equal(end.exit_status, wanted->exit_status);
    assert_int_equal(end.signal_number, wanted->signal_number);
    assert_string_equal(end.text, wanted->text);
}

TEST(the_document_has_it)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("not checked: %s\n", resmon_last_error());
        return;
    }
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char *text = NULL;
        struct resmon_run *run = made_of(i);
        check_end(run, &runs[i].end);
        assert_ok(resmon_run_document(run, &text));
        resmon_run *loaded = parsed(text);
        check_end(loaded, &runs[i].end);
        assert_null(resmon_run_fact(loaded, "run", "end"));
        resmon_run_free(loaded);
        resmon_text_free(text);
        rm_run_free(run);
    }
}

/* Documents of before, of somebody else, and garbled ones. */
TEST(a_document_without_it)
{
    static const struct {
        const char *run;
        resmon_run_end end;
    } rows[] = {
        {"\"state\":\"stopped\"", END(RESMON_END_FINISHED, 0, 0, "")},
        {"\"state\":\"running\"", END(RESMON_END_RUNNING, 0, 0, "")},
        {"\"state\":\"interrupted\"", END(RESMON_END_UNKNOWN, 0, 0, "")},
        {"\"state\":\"\"", END(RESMON_END_UNKNOWN, 0, 0, "")},
        {"\"state\":\"stopped\",\"end\":7", END(RESMON_END_FINISHED, 0, 0, "")},
        {"\"state\":\"stopped\",\"end\":{\"reason\":\"bored\",\"exit_status\":-1,\"signal\":1e99}",
         END(RESMON_END_FINISHED, 0, 0, "")},
        {"\"state\":\"stopped\",\"end\":{\"reason\":\"failed\",\"exit_status\":\"3\",\"text\":4}",
         END(RESMON_END_FAILED, 0, 0, "")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rm_json_check() == RESMON_OK; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "{\"format\":\"resmon-run\",\"version\":1,\"run\":{%s}}",
                       rows[i].run);
        resmon_run *run = parsed(text);
        check_end(run, &rows[i].end);
        resmon_run_free(run);
    }
}

TEST(the_summary_says_it)
{
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        char *text = NULL;
        struct resmon_run *run = made_of(i);
        assert_ok(report_in_full(run, &text));
        assert_ptr_equal(strstr(text, runs[i].heading), text);
        if (runs[i].line != NULL) {
            assert_ptr_equal(strstr(text, runs[i].line), strchr(text, '\n'));
        } else {
            assert_null(strstr(text, "failed:"));
        }
        resmon_text_free(text);
        rm_run_free(run);
    }
}

/* ---- said by a program ------------------------------------------------------------------ */

TEST(a_program_says_it)
{
    char long_text[1000];
    resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_FAILED, .text = "first"};
    resmon_monitor *monitor = NULL;
    assert_ok(resmon_monitor_new(NULL, &monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_set_end(monitor, &end));
    resmon_monitor_free(monitor);
    monitor = start_with(&(resmon_monitor_options){.rows = 4});
    assert_ok(resmon_monitor_set_end(monitor, &end));
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    check_end(run, &(resmon_run_end)END(RESMON_END_RUNNING, 0, 0, ""));
    resmon_run_free(run);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    end.exit_status = 7;
    end.text = long_text;
    assert_ok(resmon_monitor_set_end(monitor, &end));
    run = finish(monitor);
    long_text[RM_END_TEXT_BYTES - 1] = '\0';
    check_end(run, &(resmon_run_end)END(RESMON_END_FAILED, 7, 0, long_text));
    resmon_run_free(run);
}

TEST(what_cannot_be_said)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.rows = 4});
    static const resmon_run_end wrong[] = {
        {.reason = RESMON_END_RUNNING},
        {.reason = RESMON_END_KILLED + 1},
        {.reason = -1},
        {.reason = RESMON_END_FAILED, .exit_status = -1},
        {.reason = RESMON_END_KILLED, .signal_number = -9},
        {.reason = RESMON_END_KILLED, .reserved = 1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        resmon_run_end end = wrong[i];
        assert_status(RESMON_EINVAL, resmon_monitor_set_end(monitor, &end));
        end.struct_size = sizeof end;
        assert_status(RESMON_EINVAL, resmon_monitor_set_end(monitor, &end));
    }
    const resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_KILLED};
    assert_status(RESMON_EINVAL, resmon_monitor_set_end(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_set_end(NULL, &end));
    assert_ok(resmon_monitor_set_end(monitor, &end));
    assert_ok(resmon_monitor_stop(monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_set_end(monitor, &end));
    resmon_run *run = finish(monitor);
    check_end(run, &(resmon_run_end)END(RESMON_END_KILLED, 0, 0, ""));
    assert_status(RESMON_EINVAL, resmon_run_get_end(run, NULL));
    assert_status(RESMON_EINVAL, resmon_run_get_end(NULL, &(resmon_run_end){.struct_size = 1}));
    resmon_run_free(run);
}
