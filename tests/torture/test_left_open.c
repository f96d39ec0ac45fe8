/* SPDX-License-Identifier: MIT */
/*
 * Scopes that outlive what measures them: open when their monitor stops or is freed, ended too
 * late, in threads that end, and under the next monitor.
 */
#include "runs.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "run_checks.h"

static resmon_monitor *start_monitor(uint64_t meters)
{
    return start_with(&(resmon_monitor_options){.scopes = meters, .rows = 4});
}

static resmon_site site = {"left open", __FILE__, "test", 1, 0};
static resmon_site next_site = {"next", __FILE__, "test", 2, 0};

static void visit_next(void)
{
    uint64_t scope = resmon_scope_begin(&next_site);
    resmon_scope_end(scope);
}

static uint64_t calls_of(resmon_monitor *monitor, const char *name)
{
    resmon_run *run = NULL;
    struct verdict verdict = {0};
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    int64_t index = find_scope(run, -1, name);
    uint64_t calls = index >= 0 ? scope_of(run, (size_t)index).calls : 0;
    if (!check_scopes(run, 1e12, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    resmon_run_free(run);
    return calls;
}

/* The peak meter links the frames of open scopes into a list of the process. */
TEST(open_at_stop_then_another_monitor)
{
    for (int i = 0; i < 3; i++) {
        resmon_monitor *first = start_monitor(RESMON_METER_ALL);
        uint64_t scope = resmon_scope_begin(&site);
        resmon_monitor_free(first);
        resmon_scope_end(scope);
        resmon_monitor *second = start_monitor(RESMON_METER_ALL);
        visit_next(); /* leaves the first session, and with it the frame of `scope` */
        visit_next();
        assert_int_equal(calls_of(second, "next"), 2);
        resmon_scope_end(scope);
        resmon_monitor_free(second);
    }
}

static atomic_int stage;

static void wait_for(int wanted)
{
    while (atomic_load(&stage) < wanted) {
        (void)sched_yield();
    }
}

static void *leave_open(void *unused)
{
    (void)unused;
    (void)resmon_scope_begin(&site);
    (void)resmon_scope_begin(&next_site);
    (void)atomic_fetch_add(&stage, 1);
    wait_for(2);
    return NULL;
}

TEST(thread_ends_after_stop)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        atomic_store(&stage, 0);
        resmon_monitor *first = start_monitor(RESMON_METER_ALL);
        assert_int_equal(pthread_create(&thread, NULL, leave_open, NULL), 0);
        wait_for(1);
        resmon_monitor_free(first);
        atomic_store(&stage, 2); /* now the thread ends */
        assert_int_equal(pthread_join(thread, NULL), 0);
        RESMON_PEAK_RSS("alone", (void)0); /* walks the list */
        resmon_monitor *second = start_monitor(RESMON_METER_ALL);
        visit_next();
        assert_int_equal(calls_of(second, "next"), 1);
        resmon_monitor_free(second);
    }
}

/* Somebody must want to know a peak, or RESMON_PEAK_RSS leaves the kernel's mark alone. */
static void hear(void *unused, int32_t level, const char *line)
{
    (void)unused;
    (void)level;
    (void)line;
}

FIXTURE(set_up)
{
    resmon_set_log(hear, NULL, RESMON_LOG_INFO);
    return 0;
}

TEST_FILE(.set_up = set_up);
