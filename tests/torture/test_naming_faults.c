/* SPDX-License-Identifier: MIT */
/*
 * Names of stacks are optional: they are left out while the program runs, and whatever fails while
 * they are looked up, the run is there without them and has the reason.  The k-th allocation and
 * the k-th mapping fail for k = 0, 1, 2, ... in captures and loads of a run with stacks: once the
 * run itself is there, none of them loses it.
 */
#include "again.h"
#include "stack_tests.h"

#include "base/fault.h"

#define MOST_K     20000
#define MOST_TURNS 200
#define BURN_NS    (60 * RM_NS_PER_MS)
#define DOCUMENT   "test_naming_faults.json" /* of a run that went on: no names */
#define RECORDING  "test_naming_faults.rec"
#define LEFT_OUT   "names are left out: "

/* ---- what sinks receive ----------------------------------------------------------------- */

static struct {
    bool has_snapshot;          /* atomic */
    bool had_names, has_reason; /* of snapshots; before that */
    bool end_has_names;
} sink;

static resmon_status on_snapshot(void *context, const resmon_run *run)
{
    (void)context;
    if (resmon_run_stack_count(run) > 0) {
        sink.had_names = sink.had_names || has_function(run, NULL);
        sink.has_reason = strncmp(stack_reason(run), LEFT_OUT, sizeof LEFT_OUT - 1) == 0;
        __atomic_store_n(&sink.has_snapshot, true, __ATOMIC_RELEASE);
    }
    return RESMON_OK;
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    (void)context;
    sink.end_has_names = has_function(run, "burn_the_time");
    return RESMON_OK;
}

static resmon_monitor *monitor; /* with stacks; stopped once names_come_late has passed */

static resmon_monitor *start(void)
{
    resmon_monitor *started = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .stacks = RESMON_STACKS_CPU,
                                      .domains = RESMON_DOMAIN_PROCESS,
                                      .interval_ms = 20,
                                      .record = RECORDING};
    resmon_sink_ops ops = {.struct_size = sizeof ops,
                           .stop = on_stop,
                           .snapshot = on_snapshot,
                           .snapshot_interval_ms = 1};
    assert_ok(resmon_monitor_new(&options, &started));
    assert_ok(resmon_monitor_add_sink(started, &ops, NULL));
    assert_ok(resmon_monitor_start(started));
    return started;
}

static resmon_status capture(resmon_run **ret_run)
{
    return resmon_monitor_snapshot(monitor, ret_run);
}

static resmon_status load_recording(resmon_run **ret_run)
{
    return resmon_run_load(RECORDING, ret_run);
}

static resmon_status load_document(resmon_run **ret_run)
{
    return resmon_run_load(DOCUMENT, ret_run);
}

static void assert_named(resmon_status (*get)(resmon_run **))
{
    resmon_run *run = NULL;
    assert_ok(get(&run));
    assert_true(has_function(run, "burn_the_time"));
    assert_null(strstr(stack_reason(run), LEFT_OUT));
    resmon_run_free(run);
}

/* To look them up takes memory and time of the program, which still runs. */
TEST(names_come_late)
{
    resmon_run *run = NULL;
    assert_ok(capture(&run));
    assert_false(has_function(run, NULL));
    assert_string_equal(stack_reason(run), LEFT_OUT "they are looked up when the run ends, or when "
                                                    "it is loaded");
    resmon_run_free(run);
    assert_ok(resmon_monitor_save(monitor, DOCUMENT));
    assert_ok(resmon_monitor_stop(monitor));
    assert_true(sink.has_reason && sink.end_has_names);
    assert_false(sink.had_names);
    char *text = content_of(DOCUMENT, NULL);
    assert_null(strstr(text, "burn_the_time"));
    free(text);
    assert_named(capture);
    assert_named(load_document);
    assert_named(load_recording);
}

/* ---- failures --------------------------------------------------------------------------- */

/* The whole, or less of it and the reason.  All that fails without a run comes first. */
static void fail_each(resmon_status (*get)(resmon_run **), enum rm_fault_kind kind)
{
    int64_t k = 0, lost = 0;
    const int64_t live = rm_fault_live(0);
    bool has_fired = true, was_there = false;
    for (; has_fired && k < MOST_K; k++) {
        resmon_run *run = NULL;
        rm_fault_arm(kind, k);
        resmon_status status = get(&run);
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        if (status != RESMON_OK) {
            assert_null(run);
            assert_true(resmon_last_error()[0] != '\0');
            assert_false(was_there);
            lost++;
        } else {
            assert_true(resmon_run_column_count(run) > 0 && resmon_run_row_count(run) > 0);
            assert_true(has_function(run, "burn_the_time") || stack_reason(run)[0] != '\0');
            was_there = true;
            resmon_run_free(run);
        }
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(was_there && !has_fired);
    print_message("%lld failures, the run was lost by %lld\n", (long long)k - 1, (long long)lost);
}

TEST(no_failure_loses_the_run)
{
    static resmon_status (*const gets[])(resmon_run **) = {capture, load_recording, load_document};
    for (size_t i = 0; i < sizeof gets / sizeof gets[0]; i++) {
        fail_each(gets[i], RM_FAULT_ALLOC);
        fail_each(gets[i], RM_FAULT_MAP);
    }
}

/* Takes the stacks that all tests look at. */
static const char *missing_profile(void)
{
    if (missing_names() != NULL || missing_documents() != NULL) {
        return resmon_last_error();
    }
    monitor = start();
    for (int turns = 0; turns < MOST_TURNS; turns++) {
        burn_the_time(BURN_NS);
        if (__atomic_load_n(&sink.has_snapshot, __ATOMIC_ACQUIRE)) {
            return NULL;
        }
    }
    return "no stacks come here";
}

FIXTURE(tear_down)
{
    resmon_monitor_free(monitor);
    (void)unlink(DOCUMENT);
    (void)unlink(RECORDING);
    return 0;
}

TEST_FILE(.missing = missing_profile, .tear_down = tear_down);
