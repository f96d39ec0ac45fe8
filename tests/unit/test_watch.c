/* SPDX-License-Identifier: MIT */
/* Watches: what the process used between two moments. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#define MIB ((size_t)1 << 20)

static void touch_and_free(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 1, bytes);
    assert_int_equal(munmap(memory, bytes), 0);
}

static double cpu_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
    for (double end = cpu_s() + seconds; cpu_s() < end;) {
    }
}

static bool is_exact(const resmon_watched *watched)
{
    return watched->rss_provenance == RESMON_PROVENANCE_MEASURED;
}

TEST(all_meters)
{
    uint64_t watch;
    resmon_watched watched = {.struct_size = sizeof watched};
    assert_int_equal(resmon_watch_begin(RESMON_METER_ALL, &watch), RESMON_OK);
    burn(0.05);
    touch_and_free(64 * MIB);
    FILE *file = tmpfile();
    assert_non_null(file);
    char block[65536] = {0};
    for (int i = 0; i < 16; i++) {
        assert_int_equal(fwrite(block, sizeof block, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(resmon_watch_end(watch, &watched), RESMON_OK);
    assert_true(watched.wall_ns >= 0.05e9 * 0.99);
    assert_true(watched.cpu_ns >= 0.05e9 * 0.99);
    assert_true(watched.rss_bytes > 0);
    if (is_exact(&watched)) {
        assert_true(watched.rss_peak_bytes >= watched.rss_bytes + 56.0 * (double)MIB);
    }
    if (!isnan(watched.io_write_chars)) {
        assert_true(watched.io_write_chars >= (double)MIB &&
                    watched.io_write_chars < 1.1 * (double)MIB);
    }
}

TEST(only_what_was_asked_for)
{
    uint64_t watch;
    resmon_watched watched = {.struct_size = sizeof watched};
    assert_int_equal(resmon_watch_begin(0, &watch), RESMON_OK);
    assert_int_equal(resmon_watch_end(watch, &watched), RESMON_OK);
    assert_true(watched.wall_ns >= 0);
    assert_true(isnan(watched.cpu_ns) && isnan(watched.rss_bytes));
    assert_true(isnan(watched.rss_peak_bytes) && isnan(watched.io_read_chars));
    assert_int_equal(watched.rss_provenance, RESMON_PROVENANCE_NONE);
}

/* A peak belongs to the lap in which it was; another watch around all of them has it too. */
TEST(laps)
{
    uint64_t around, watch;
    resmon_watched first = {.struct_size = sizeof first}, second = first, whole = first;
    assert_int_equal(resmon_watch_begin(RESMON_METER_RSS, &around), RESMON_OK);
    assert_int_equal(resmon_watch_begin(RESMON_METER_RSS, &watch), RESMON_OK);
    touch_and_free(64 * MIB);
    assert_int_equal(resmon_watch_lap(watch, &first), RESMON_OK);
    assert_int_equal(resmon_watch_lap(watch, &second), RESMON_OK);
    assert_int_equal(resmon_watch_end(watch, NULL), RESMON_OK);
    assert_int_equal(resmon_watch_end(around, &whole), RESMON_OK);
    if (!is_exact(&first)) {
        print_message("skipped: the kernel's mark cannot be reset here: peaks of laps\n");
        return;
    }
    assert_true(first.rss_peak_bytes >= second.rss_peak_bytes + 56.0 * (double)MIB);
    assert_true(whole.rss_peak_bytes >= first.rss_peak_bytes);
}

TEST(bounds_and_wrong_use)
{
    uint64_t watches[65];
    resmon_watched watched = {.struct_size = sizeof watched};
    size_t open = 0;
    while (open < 65 && resmon_watch_begin(0, &watches[open]) == RESMON_OK) {
        open++;
    }
    assert_int_equal(open, 64);
    assert_non_null(strstr(resmon_last_error(), "64 watches"));
    for (size_t i = 0; i < open; i++) {
        assert_int_equal(resmon_watch_end(watches[i], NULL), RESMON_OK);
    }
    assert_int_equal(resmon_watch_end(watches[0], NULL), RESMON_EINVAL);
    assert_int_equal(resmon_watch_lap(watches[0], &watched), RESMON_EINVAL);
    uint64_t again;
    assert_int_equal(resmon_watch_begin(0, &again), RESMON_OK);
    assert_int_not_equal(again, watches[0]);
    assert_int_equal(resmon_watch_end(watches[0], NULL), RESMON_EINVAL);
    assert_int_equal(resmon_watch_lap(again, NULL), RESMON_EINVAL);
    watched.struct_size = 8;
    assert_int_equal(resmon_watch_lap(again, &watched), RESMON_EINVAL);
    assert_int_equal(resmon_watch_end(again, NULL), RESMON_OK);
    assert_int_equal(resmon_watch_end(0, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_watch_end(UINT64_MAX, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_watch_begin(1 << 20, &again), RESMON_EINVAL);
    assert_int_equal(resmon_watch_begin(0, NULL), RESMON_EINVAL);
}

TEST(fork)
{
    uint64_t watch;
    resmon_watched watched = {.struct_size = sizeof watched};
    assert_int_equal(resmon_watch_begin(RESMON_METER_RSS | RESMON_METER_IO, &watch), RESMON_OK);
    pid_t child = fork();
    if (child == 0) {
        bool is_refused = resmon_watch_lap(watch, &watched) == RESMON_ESTATE;
        bool is_ended = resmon_watch_end(watch, &watched) == RESMON_ESTATE &&
                        resmon_watch_end(watch, NULL) == RESMON_EINVAL;
        uint64_t own;
        bool has_own = resmon_watch_begin(RESMON_METER_RSS, &own) == RESMON_OK &&
                       resmon_watch_end(own, &watched) == RESMON_OK && watched.rss_bytes > 0;
        _exit(is_refused && is_ended && has_own ? 0 : 1);
    }
    assert_exits(child, 0);
    assert_int_equal(resmon_watch_end(watch, &watched), RESMON_OK);
    assert_true(watched.rss_peak_bytes > 0);
}

TEST(sites_with_a_place)
{
    resmon_site *plain, *one, *same, *other;
    assert_int_equal(resmon_site_intern("fit", &plain), RESMON_OK);
    assert_int_equal(resmon_site_intern_at("fit", "model.py", "Model.fit", 12, &one), RESMON_OK);
    assert_int_equal(resmon_site_intern_at("fit", "model.py", "Model.fit", 12, &same), RESMON_OK);
    assert_int_equal(resmon_site_intern_at("fit", "model.py", "Model.fit", 13, &other), RESMON_OK);
    assert_ptr_equal(one, same);
    assert_ptr_not_equal(one, plain);
    assert_ptr_not_equal(one, other);
    assert_string_equal(one->file, "model.py");
    assert_string_equal(one->function, "Model.fit");
    assert_int_equal(one->line, 12);
    assert_int_equal(resmon_site_intern_at("fit", NULL, "", 0, &one), RESMON_EINVAL);
    assert_int_equal(resmon_site_intern_at("", "", "", 0, &one), RESMON_EINVAL);
}

/* The wrappers of other languages, without a monitor and inside one's scopes. */
static void check_timed(uint64_t meter, bool has_peak)
{
    static resmon_site site = {"fit", __FILE__, __func__, __LINE__, 0};
    resmon_timed timed;
    resmon_watched watched = {.struct_size = sizeof watched};
    resmon_timed_watch(&site, meter, &timed);
    burn(0.02);
    touch_and_free(32 * MIB);
    assert_int_equal(resmon_timed_take(&timed, &watched), RESMON_OK);
    assert_true(watched.wall_ns >= 0.02e9 * 0.99);
    assert_int_equal(isnan(watched.rss_peak_bytes) != 0, !has_peak);
    if (has_peak && is_exact(&watched)) {
        assert_true(watched.rss_peak_bytes >= 32.0 * (double)MIB);
    }
}

TEST(timed)
{
    check_timed(RESMON_METER_WALL, false);
    check_timed(RESMON_METER_RSS, true);
    resmon_monitor *monitor;
    resmon_run *run;
    resmon_run_scope scope = {.struct_size = sizeof scope};
    assert_int_equal(resmon_monitor_new(NULL, &monitor), RESMON_OK);
    assert_int_equal(resmon_monitor_start(monitor), RESMON_OK);
    check_timed(RESMON_METER_RSS, true);
    assert_int_equal(resmon_monitor_stop(monitor), RESMON_OK);
    assert_int_equal(resmon_monitor_snapshot(monitor, &run), RESMON_OK);
    assert_int_equal(resmon_run_get_scope(run, 0, &scope), RESMON_OK);
    assert_int_equal(scope.calls, 1);
    assert_true(scope.rss_peak_bytes > 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(facts)
{
    resmon_monitor *monitor;
    resmon_run *run;
    resmon_run_fact_entry fact = {.struct_size = sizeof fact};
    assert_int_equal(resmon_monitor_new(NULL, &monitor), RESMON_OK);
    assert_int_equal(resmon_monitor_start(monitor), RESMON_OK);
    assert_int_equal(resmon_monitor_snapshot(monitor, &run), RESMON_OK);
    size_t count = resmon_run_fact_count(run);
    assert_true(count > 10);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(resmon_run_get_fact(run, i, &fact), RESMON_OK);
        assert_string_equal(resmon_run_fact(run, fact.group, fact.key), fact.value);
    }
    assert_int_equal(resmon_run_get_fact(run, count, &fact), RESMON_ENOENT);
    assert_int_equal(resmon_run_get_fact(NULL, 0, &fact), RESMON_EINVAL);
    assert_int_equal(resmon_run_fact_count(NULL), 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}
