/* SPDX-License-Identifier: MIT */
/*
 * Names of stacks are a help: while the program runs they are left out of what sinks are shown, and
 * whatever fails as they are looked up, the run is there without them and says why.  The k-th
 * allocation and the k-th mapping fail for k = 0, 1, 2, ... in captures, saves and loads of a run
 * with stacks: once the run itself is there, none of them loses it.
 */
#include "test.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <resmon/stack.h>

#include "base/clock.h"
#include "base/fault.h"
#include "engine/monitor.h"
#include "format/json.h"
#include "run/run.h"
#include "stack/handler.h"
#include "symbols/symbolizer.h"

#define MOST_K     20000
#define BURN_NS    (60 * RM_NS_PER_MS)
#define DOCUMENT   "test_naming_faults.json"
#define RECORDING  "test_naming_faults.rec"
#define NAMES      "names are left out: "
#define MOST_TURNS 200

static resmon_monitor *monitor; /* with stacks; stopped */
static resmon_run *nameless;    /* of it */

/* ---- a run with stacks ------------------------------------------------------------------ */

static volatile uint32_t number;

__attribute__((noinline)) static void burn_the_time(void)
{
    uint64_t before = rm_handler_ticks();
    int64_t until_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + BURN_NS;
    int64_t most_ns = until_ns + 5 * RM_NS_PER_S; /* the kernel looks at timers when it ticks */
    for (int64_t now_ns = 0;
         now_ns < until_ns || (rm_handler_ticks() == before && now_ns < most_ns);
         now_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID)) {
        for (uint32_t i = 0; i < 10000; i++) {
            number = number * 1664525U + i;
        }
    }
}

static bool is_named(const resmon_run *run, const char *function)
{
    for (size_t i = 0; i < run->profile.place_count; i++) {
        if (strcmp(run->profile.places[i].function, function) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_any_name(const resmon_run *run)
{
    for (size_t i = 0; i < run->profile.place_count; i++) {
        if (run->profile.places[i].function[0] != '\0' || run->profile.places[i].file[0] != '\0') {
            return true;
        }
    }
    return false;
}

static const char *reason_of(const resmon_run *run)
{
    return run->profile.kinds[RESMON_STACK_CPU].reason;
}

/* The whole, or less of it and the reason. */
static void check_run(const resmon_run *run)
{
    assert_true(run->column_count > 0 && run->row_count > 0);
    if (!is_named(run, "burn_the_time")) {
        assert_string_not_equal(reason_of(run), "");
    }
}

/* ---- what sinks are shown --------------------------------------------------------------- */

struct shown {
    bool has_snapshot;          /* atomic */
    bool had_names, has_reason; /* of snapshots; before that */
    bool end_has_names;
};

static resmon_status on_snapshot(void *context, const resmon_run *run)
{
    struct shown *shown = context;
    if (run->profile.place_count > 0) {
        shown->had_names = shown->had_names || has_any_name(run);
        shown->has_reason = strncmp(reason_of(run), NAMES, sizeof NAMES - 1) == 0;
        __atomic_store_n(&shown->has_snapshot, true, __ATOMIC_RELEASE);
    }
    return RESMON_OK;
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    struct shown *shown = context;
    shown->end_has_names = is_named(run, "burn_the_time");
    return RESMON_OK;
}

static resmon_monitor *start(const struct shown *shown)
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
    if (shown != NULL) {
        assert_ok(resmon_monitor_add_sink(started, &ops, (void *)(uintptr_t)shown));
    }
    assert_ok(resmon_monitor_start(started));
    return started;
}

TEST(names_come_late)
{
    struct shown shown = {0};
    resmon_monitor *running = start(&shown);
    int turns = 0;
    do {
        burn_the_time();
    } while (!__atomic_load_n(&shown.has_snapshot, __ATOMIC_ACQUIRE) && ++turns < MOST_TURNS);
    assert_ok(resmon_monitor_stop(running));
    assert_true(shown.has_snapshot);
    assert_false(shown.had_names);
    assert_true(shown.has_reason);
    assert_true(shown.end_has_names);
    resmon_monitor_free(running);
}

/* Looking names up takes memory and time of the program, which runs yet. */
TEST(a_snapshot_has_names_once_the_monitor_has_stopped)
{
    resmon_run *run = NULL;
    resmon_monitor *running = start(NULL);
    for (int turns = 0; turns < MOST_TURNS; turns++) {
        burn_the_time();
        resmon_run_free(run);
        assert_ok(resmon_monitor_snapshot(running, &run));
        if (run->profile.place_count > 0) {
            break;
        }
    }
    assert_true(run->profile.place_count > 0);
    assert_false(has_any_name(run));
    assert_int_equal(strncmp(reason_of(run), NAMES, sizeof NAMES - 1), 0);
    assert_ok(resmon_monitor_save(running, DOCUMENT));
    resmon_run_free(run);
    assert_ok(resmon_monitor_stop(running));
    assert_ok(resmon_monitor_snapshot(running, &run));
    assert_true(is_named(run, "burn_the_time"));
    assert_null(strstr(reason_of(run), NAMES));
    resmon_run_free(run);
    resmon_monitor_free(running);
    if (rm_json_check() == RESMON_OK) {
        assert_ok(resmon_run_load(DOCUMENT, &run));
        assert_true(is_named(run, "burn_the_time"));
        resmon_run_free(run);
    }
}

TEST(a_document_without_names_gets_them_when_loaded)
{
    resmon_run *loaded = NULL;
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    assert_false(has_any_name(nameless));
    assert_string_equal(reason_of(nameless), NAMES "they are looked up when the run ends, or when "
                                                   "it is loaded");
    assert_ok(resmon_run_save(nameless, DOCUMENT));
    assert_ok(resmon_run_load(DOCUMENT, &loaded));
    assert_true(is_named(loaded, "burn_the_time"));
    assert_null(strstr(reason_of(loaded), NAMES));
    resmon_run_free(loaded);
}

/* ---- failures --------------------------------------------------------------------------- */

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

/* All that is there without a run comes first. */
static void fail_each(resmon_status (*act)(resmon_run **), enum rm_fault_kind kind)
{
    int64_t k = 0, lost = 0;
    const int64_t live = rm_fault_live(0);
    bool has_fired = true, was_there = false;
    for (; has_fired && k < MOST_K; k++) {
        resmon_run *run = NULL;
        rm_fault_arm(kind, k);
        resmon_status status = act(&run);
        has_fired = rm_fault_fired(kind);
        rm_fault_arm(kind, -1);
        if (status != RESMON_OK) {
            assert_null(run);
            assert_true(resmon_last_error()[0] != '\0');
            assert_false(was_there);
            lost++;
        } else {
            check_run(run);
            was_there = true;
            resmon_run_free(run);
        }
        assert_int_equal(rm_fault_live(0), live);
    }
    assert_true(was_there && !has_fired);
    print_message("%lld failures, the run was lost by %lld\n", (long long)k - 1, (long long)lost);
}

TEST(captures)
{
    resmon_run *first = NULL;
    assert_ok(capture(&first)); /* the monitor keeps what it found */
    resmon_run_free(first);
    fail_each(capture, RM_FAULT_ALLOC);
    fail_each(capture, RM_FAULT_MAP);
}

TEST(recordings)
{
    fail_each(load_recording, RM_FAULT_ALLOC);
    fail_each(load_recording, RM_FAULT_MAP);
}

TEST(documents)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    assert_ok(resmon_run_save(nameless, DOCUMENT));
    fail_each(load_document, RM_FAULT_ALLOC);
    fail_each(load_document, RM_FAULT_MAP);
}

static resmon_run *load_nameless(void)
{
    resmon_run *run = NULL;
    assert_ok(rm_monitor_capture(monitor, RM_PART_ALL, &run));
    return run;
}

/* Takes the stacks that all tests name. */
static const char *missing_stacks(void)
{
    if (rm_symbolizer_check() != RESMON_OK) {
        return resmon_last_error();
    }
    monitor = start(NULL);
    for (int turns = 0; turns < MOST_TURNS; turns++) {
        burn_the_time();
        rm_run_free(nameless);
        nameless = load_nameless();
        if (nameless->profile.place_count > 0) {
            break;
        }
    }
    assert_ok(resmon_monitor_stop(monitor));
    rm_run_free(nameless);
    nameless = load_nameless();
    return nameless->profile.place_count == 0 ? reason_of(nameless) : NULL;
}

FIXTURE(tear_down)
{
    rm_run_free(nameless);
    resmon_monitor_free(monitor);
    (void)unlink(DOCUMENT);
    (void)unlink(RECORDING);
    return 0;
}

TEST_FILE(.missing = missing_stacks, .tear_down = tear_down);
