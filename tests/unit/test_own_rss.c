/* SPDX-License-Identifier: MIT */
/*
 * How much of the process's resident memory, and of its peaks, is the library's: what the start
 * took, what the block has become, and what rose while sinks were shown the run.
 */
#define _GNU_SOURCE /* madvise, usleep */
#include "runs.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/mapping.h"
#include "scope/peak.h"
#include "unit/pages.h"
#include "unit/sanitizer.h"

#define MIB   ((size_t)1 << 20)
#define TAKEN (32 * MIB)

/* Anonymous pages that come and go. */
static void take_and_give_back(size_t bytes)
{
    struct rm_mapping mapping = {0};
    assert_ok(rm_mapping_anonymous(&mapping, bytes));
    for (size_t at = 0; at < bytes; at += 4096) {
        ((volatile char *)mapping.memory)[at] = 1;
    }
    rm_mapping_free(&mapping);
}

static bool has_sanitizer(void)
{
    if (HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER) {
        print_message("skipped: sanitizers take memory of their own\n");
    }
    return HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER;
}

static bool is_exact(void)
{
    rm_peak_open();
    if (!rm_peak_is_exact()) {
        print_message("skipped: %s\n", rm_peak_method());
    }
    return rm_peak_is_exact() && !has_sanitizer();
}

TEST(pages_of_a_mapping)
{
    struct rm_mapping mapping = {0};
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_ok(rm_mapping_anonymous(&mapping, 3000 * page));
    (void)madvise(mapping.memory, 3000 * page, MADV_NOHUGEPAGE);
    assert_int_equal(rm_mapping_resident(&mapping), 0);
    static const size_t touched[] = {0, 7, 1023, 1024, 2999};
    for (size_t i = 0; i < 5; i++) {
        ((volatile char *)mapping.memory)[touched[i] * page] = 1;
    }
    assert_int_equal(rm_mapping_resident(&mapping), 5 * page);
    rm_mapping_free(&mapping);
}

/* Without a watched stretch: by how much the highest of all rose, and the mark is left alone.
   First, before anybody has reset the mark. */
TEST(a_rise_of_the_mark)
{
    struct rm_peak_work work;
    uint64_t bytes = 0, resets = 0;
    if (has_sanitizer()) {
        skip();
    }
    take_and_give_back(3 * TAKEN);
    resets = rm_peak_resets();
    rm_peak_work_begin(&work);
    take_and_give_back(TAKEN);
    assert_true(rm_peak_work_end(&work, &bytes));
    assert_in_range(bytes, 0, MIB);
    rm_peak_work_begin(&work);
    take_and_give_back(4 * TAKEN);
    assert_true(rm_peak_work_end(&work, &bytes));
    assert_in_range(bytes, TAKEN - 2 * MIB, TAKEN + 4 * MIB);
    assert_int_equal(rm_peak_resets(), resets);
}

/* While a stretch is watched, a rise is seen though the process had more before. */
TEST(a_rise_in_a_watched_stretch)
{
    struct rm_peak_watch watch;
    struct rm_peak_work work;
    uint64_t bytes = 0;
    if (!is_exact()) {
        skip();
    }
    take_and_give_back(2 * TAKEN);
    rm_peak_begin(&watch);
    rm_peak_work_begin(&work);
    take_and_give_back(TAKEN);
    assert_true(rm_peak_work_end(&work, &bytes));
    assert_in_range(bytes, TAKEN - MIB, TAKEN + 4 * MIB);
    assert_true(rm_peak_end(&watch) >= TAKEN - MIB); /* the watch is none the worse for it */
}

/* The life's peak is the same though stretches were watched meanwhile. */
TEST(a_rise_of_the_mark_once_more)
{
    struct rm_peak_work work;
    struct rm_peak_watch watch;
    uint64_t bytes = 0;
    if (!is_exact()) {
        skip();
    }
    rm_peak_work_begin(&work);
    rm_peak_begin(&watch);
    take_and_give_back(TAKEN); /* less than there was */
    (void)rm_peak_end(&watch);
    assert_true(rm_peak_work_end(&work, &bytes));
    assert_in_range(bytes, 0, MIB);
}

/* ---- in a run --------------------------------------------------------------------------- */

static int shown; /* atomic */

static resmon_status on_snapshot(void *context, const resmon_run *run)
{
    (void)context, (void)run;
    take_and_give_back(8 * TAKEN);
    (void)__atomic_add_fetch(&shown, 1, __ATOMIC_SEQ_CST);
    return RESMON_OK;
}

static resmon_run_info run_with(const resmon_sink_ops *ops)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 20, .domains = RESMON_DOMAIN_PROCESS};
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_new(&options, &monitor));
    if (ops != NULL) {
        assert_ok(resmon_monitor_add_sink(monitor, ops, NULL));
    }
    assert_ok(resmon_monitor_start(monitor));
    while (ops != NULL && __atomic_load_n(&shown, __ATOMIC_SEQ_CST) < 2) { /* one is accounted */
        (void)usleep(1000);
    }
    resmon_run *first = NULL;
    resmon_run_info again = {.struct_size = sizeof again};
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &first));
    resmon_run *run = finish(monitor);
    assert_ok(resmon_run_get_info(first, &info));
    assert_ok(resmon_run_get_info(run, &again));
    assert_true(again.rss_bytes == info.rss_bytes); /* looks take nothing */
    resmon_run_free(first);
    resmon_run_free(run);
    return info;
}

TEST(a_run_says_what_is_not_the_programs)
{
    const resmon_sink_ops ops = {
        .struct_size = sizeof ops, .snapshot = on_snapshot, .snapshot_interval_ms = 1};
    if (has_sanitizer()) {
        skip();
    }
    resmon_run_info info = run_with(NULL);
    assert_true(isfinite(info.rss_bytes) && info.rss_bytes > 0.0);
    assert_true(info.rss_bytes < 32.0 * (double)MIB);
    assert_true(isnan(info.work_rss_bytes)); /* nobody was shown it while it ran */
    info = run_with(&ops);
    assert_true(info.work_rss_bytes > (double)(2 * TAKEN));
    assert_true(info.work_rss_bytes < 20.0 * (double)TAKEN);
}

TEST_FILE(.set_up = stay_on_one_of_many_cpus);
