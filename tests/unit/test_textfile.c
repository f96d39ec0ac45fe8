/* SPDX-License-Identifier: MIT */
/*
 * sink/textfile: the file that node_exporter scrapes is whole whenever it is there, goes at the
 * end, and is nobody else's.
 */
#include "test.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "made_run.h"

#include "base/fault.h"
#include "sink/sinks.h"

/* How many files there are; the name of the last. */
static size_t count_files(char name[256])
{
    size_t count = 0;
    DIR *dir = opendir(test_directory);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(name, 256, "%s", entry->d_name);
            count++;
        }
    }
    (void)closedir(dir);
    return count;
}

static bool holds(const char *path, const char *text)
{
    static char content[1 << 20];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(content, 1, sizeof content - 1, file);
    (void)fclose(file);
    content[length] = '\0';
    return strstr(content, text) != NULL;
}

static struct rm_sink made_sink(uint64_t flags)
{
    resmon_prometheus_options options = {
        .struct_size = sizeof options, .flags = flags, .directory = test_directory};
    struct rm_sink sink;
    assert_ok(rm_sink_make(rm_sink_kind_find("prometheus"), &options, &sink));
    assert_int_equal(sink.ops.snapshot_interval_ms, 15000);
    return sink;
}

TEST(a_file_comes_and_goes)
{
    char name[256];
    resmon_run *run = made_run("running", 3);
    struct rm_sink sink = made_sink(0);
    mode_t before = umask(027);
    assert_ok(sink.ops.snapshot(sink.context, run));
    (void)umask(before);
    assert_int_equal(count_files(name), 1);
    assert_string_equal(name, "resmon_4711_n_1__2.prom");
    struct stat info;
    assert_int_equal(stat(path_of(name), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_true(holds(path_of(name), "\nresmon_samples_total{"));
    run->info.samples = 32;
    assert_ok(sink.ops.snapshot(sink.context, run));
    assert_true(holds(path_of(name), "} 32\n"));
    assert_int_equal(count_files(name), 1);
    assert_ok(sink.ops.stop(sink.context, run));
    assert_int_equal(count_files(name), 0);
    sink.ops.close(sink.context);
    rm_run_free(run);
}

/* Two monitors of one process, and one after the other. */
TEST(two_sinks_have_two_files)
{
    char name[256];
    resmon_run *run = made_run("running", 0);
    struct rm_sink first = made_sink(0);
    struct rm_sink second = made_sink(0);
    assert_ok(first.ops.snapshot(first.context, run));
    assert_ok(second.ops.snapshot(second.context, run));
    assert_int_equal(count_files(name), 2);
    second.ops.close(second.context);
    assert_int_equal(count_files(name), 1);
    assert_string_equal(name, "resmon_4711_n_1__2.prom");
    second = made_sink(0);
    assert_ok(second.ops.snapshot(second.context, run));
    assert_int_equal(access(path_of("resmon_4711_n_1__2_2.prom"), F_OK), 0);
    first.ops.close(first.context);
    second.ops.close(second.context);
    assert_int_equal(count_files(name), 0);
    rm_run_free(run);
}

TEST(a_job_is_in_the_name)
{
    char name[256];
    resmon_run *run = made_run("running", 0);
    struct rm_sink sink = made_sink(0);
    run->facts[2].value = "../../etc/passwd";
    run->facts[3].value = "47.1/[0]";
    assert_ok(sink.ops.snapshot(sink.context, run));
    assert_int_equal(count_files(name), 1);
    assert_string_equal(name, "resmon_47.1__0__4711_.._.._etc_passwd.prom");
    assert_true(holds(path_of(name), "job_id=\"47.1/[0]\""));
    sink.ops.close(sink.context);
    rm_run_free(run);
}

TEST(a_planted_link_is_not_followed)
{
    char name[256], target[512];
    resmon_run *run = made_run("running", 0);
    struct rm_sink sink = made_sink(0);
    (void)snprintf(target, sizeof target, "%s.victim", test_directory);
    assert_int_equal(symlink(target, path_of("resmon_4711_n_1__2.prom")), 0);
    assert_status(RESMON_EINVAL, sink.ops.snapshot(sink.context, run));
    assert_int_not_equal(access(target, F_OK), 0);
    sink.ops.close(sink.context);
    assert_int_equal(count_files(name), 1); /* nor is it ours to remove */
    assert_int_equal(unlink(path_of("resmon_4711_n_1__2.prom")), 0);
    rm_run_free(run);
}

/* Values of before would look like those of now. */
TEST(what_cannot_be_written_is_absent)
{
    static const enum rm_fault_kind kinds[] = {RM_FAULT_ALLOC, RM_FAULT_OPEN, RM_FAULT_WRITE};
    char name[256];
    resmon_run *run = made_run("running", 300);
    struct rm_sink sink = made_sink(0);
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        resmon_status status = RESMON_EIO;
        for (int64_t k = 0; status != RESMON_OK; k++) {
            assert_ok(sink.ops.snapshot(sink.context, run));
            assert_int_equal(count_files(name), 1);
            rm_fault_arm(kinds[i], k);
            status = sink.ops.snapshot(sink.context, run);
            rm_fault_arm(kinds[i], -1);
            assert_int_equal(count_files(name), status == RESMON_OK ? 1 : 0);
            assert_int_equal(rm_fault_live(0), live);
            assert_true(k < 1000);
        }
    }
    sink.ops.close(sink.context);
    rm_run_free(run);
}

TEST(a_monitor_writes_it)
{
    char name[256];
    resmon_monitor *monitor = NULL;
    resmon_prometheus_options options = {
        .struct_size = sizeof options, .directory = test_directory, .interval_ms = 100};
    assert_ok(resmon_monitor_new(NULL, &monitor));
    assert_ok(resmon_monitor_add_prometheus(monitor, &options));
    assert_ok(resmon_monitor_start(monitor));
    while (count_files(name) == 0 || strstr(name, ".tmp") != NULL) {
        /* Until the first snapshot is there; the test's time limit is the end of patience. */
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_true(holds(path_of(name), "\nresmon_proc_mem_rss_bytes{node="));
    assert_ok(resmon_monitor_stop(monitor));
    assert_int_equal(count_files(name), 0);
    resmon_monitor_free(monitor);
}

TEST_FILE(.tear_down = is_left_empty);
