/* SPDX-License-Identifier: MIT */
/*
 * The program's own files: one that closes every descriptor it does not know (as daemons do) and
 * opens files of its own under the same numbers finds them untouched, and is observed all the same.
 * And what a run is written to: never over something that is not a file.
 */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiles/profile.h"
#include "run_checks.h"

#define OWN_FILES 300
#define CONTENT   "4242 this is the program's\n"

/* ---- a program that closes what it does not know ----------------------------------------- */

/* In a child, whose descriptors are this test's alone. */
static int in_child(int (*run)(void))
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        _exit(run());
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void close_unknown(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        (void)close(fd);
    }
}

#define NOT_AS_LEFT 2

static int own_fds[OWN_FILES];

static int open_own_files(void)
{
    for (int i = 0; i < OWN_FILES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "own-%d", i);
        own_fds[i] = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (own_fds[i] < 0 || write(own_fds[i], CONTENT, strlen(CONTENT)) < 0) {
            return 1;
        }
    }
    return 0;
}

/* 0 when each is still open, under its number, as it was written. */
static int check_own_files(void)
{
    for (int i = 0; i < OWN_FILES; i++) {
        char bytes[64] = {0};
        struct stat by_fd, by_path;
        char name[32];
        (void)snprintf(name, sizeof name, "own-%d", i);
        if (fstat(own_fds[i], &by_fd) != 0 || stat(path_of(name), &by_path) != 0 ||
            by_fd.st_ino != by_path.st_ino || lseek(own_fds[i], 0, SEEK_CUR) != strlen(CONTENT) ||
            pread(own_fds[i], bytes, sizeof bytes - 1, 0) != (ssize_t)strlen(CONTENT) ||
            strcmp(bytes, CONTENT) != 0) {
            (void)fprintf(stderr, "descriptor %d is not as the program left it\n", own_fds[i]);
            return NOT_AS_LEFT;
        }
    }
    return 0;
}

static size_t rows_seen;

static resmon_status count_rows(void *context, const resmon_rows *rows)
{
    (void)context;
    rows_seen += rows->row_count;
    return RESMON_OK;
}

static resmon_monitor *start_monitor(const char *record)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 3600000, /* none is taken while the program closes: what is closed between
                                   our open() and our mark on it, in a table that both have, is not
                                   told from what the program opens under its number */
        .domains = RESMON_DOMAIN_ALL,
        .flags = RESMON_FLAG_SMAPS,
        .max_overhead = 1.0,
        .scopes = RESMON_METER_ALL,
        .record = record,
    };
    resmon_sink_ops sink = {.struct_size = sizeof sink, .rows = count_rows};
    resmon_monitor *monitor = NULL;
    return resmon_monitor_new(&options, &monitor) == RESMON_OK &&
                   resmon_monitor_add_sink(monitor, &sink, NULL) == RESMON_OK &&
                   resmon_monitor_start(monitor) == RESMON_OK
               ? monitor
               : NULL;
}

static double last_of(const resmon_run *run, const char *metric)
{
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        resmon_column column = {.struct_size = sizeof column};
        size_t rows = resmon_run_row_count(run);
        if (resmon_run_get_column(run, c, &column) == RESMON_OK && rows > 0 &&
            strcmp(column.metric, metric) == 0) {
            return resmon_run_series(run, c, RESMON_SERIES_LAST)[rows - 1];
        }
    }
    return NAN;
}

#define BIG ((size_t)48 << 20)

static void touch_memory(void)
{
    char *memory = malloc(BIG);
    if (memory != NULL) {
        memset(memory, 1, BIG);
        __asm__ volatile("" : : "r"(memory) : "memory");
    }
    free(memory);
}

/* Every source that could be read before can be read again, and the peak of memory is still exact.
 */
static int check_run(const resmon_run *run, bool is_mark_exact)
{
    struct verdict verdict = {0};
    int64_t after = find_scope(run, -1, "after");
    if (!check_columns(run, &verdict) || !check_scopes(run, 1e13, &verdict) || after < 0) {
        (void)fprintf(stderr, "%s\n", verdict.why);
        return 3;
    }
    resmon_run_scope scope = scope_of(run, (size_t)after);
    if (is_mark_exact && !(scope.rss_peak_bytes >= (double)BIG && scope.rss_peak_bytes < 0x1p33)) {
        (void)fprintf(stderr, "peak of 'after': %g\n", scope.rss_peak_bytes);
        return 4;
    }
    static const char *const metrics[] = {"proc.mem.rss", "node.mem.total", "tree.processes",
                                          "node.cpu.user"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        if (isnan(last_of(run, metrics[i])) || last_of(run, metrics[i]) == 4242.0) {
            (void)fprintf(stderr, "%s was not read again\n", metrics[i]);
            return 5;
        }
    }
    return 0;
}

static int observe_and_close(const char *record)
{
    resmon_monitor *monitor = start_monitor(record);
    bool is_mark_exact = access("/proc/self/clear_refs", W_OK) == 0;
    if (monitor == NULL) {
        return 10;
    }
    resmon_scope_end(resmon_scope_begin(&(resmon_site){"before", "", "", 1, 0}));
    if (resmon_monitor_sample_now(monitor) != RESMON_OK) {
        return 11;
    }
    close_unknown();
    int result = open_own_files();
    for (int i = 0; i < 50 && result == 0; i++) {
        RESMON_SCOPE("after");
        touch_memory();
    }
    for (int i = 0; i < 3 && result == 0; i++) {
        result = resmon_monitor_sample_now(monitor) == RESMON_OK ? 0 : 11;
    }
    resmon_run *run = NULL;
    if (result == 0 && (resmon_monitor_stop(monitor) != RESMON_OK ||
                        resmon_monitor_snapshot(monitor, &run) != RESMON_OK)) {
        result = 12;
    }
    result = result == 0 ? check_run(run, is_mark_exact) : result;
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    result = result == 0 && rows_seen < 3 ? 13 : result;
    return result == 0 ? check_own_files() : result;
}

static int observe_in_memory(void)
{
    return observe_and_close(NULL);
}

static int observe_into_file(void)
{
    return observe_and_close(path_of("run.rec"));
}

/* ---- a program that was started without them --------------------------------------------- */

/* One that is kept stays; another thread may have something open for a moment. */
static int are_closed(void)
{
    int number = 0;
    for (int tries = 0; number < 3 && tries < 1000; tries++) {
        number += fcntl(number, F_GETFD) < 0 ? 1 : 0;
        (void)usleep(tries > 3 ? 1000 : 0);
    }
    return number < 3 ? 10 + number : 0;
}

/* Each sink, stacks, a recording, and a server that is not there. */
static int observe_without_standard_files(void)
{
    char text[3 * 4096];
    resmon_monitor *monitor = NULL;
    (void)snprintf(text, sizeof text,
                   "interval=5ms,domains=all,stacks=cpu+memory,scopes=wall+rss,record=%s",
                   path_of("standard.rec"));
    for (int number = 0; number < 3; number++) {
        (void)close(number);
    }
    if (resmon_monitor_new_text(text, &monitor) != RESMON_OK ||
        resmon_monitor_add(monitor, "csv", path_of("standard.csv")) != RESMON_OK ||
        resmon_monitor_add(monitor, "json", path_of("standard.json")) != RESMON_OK) {
        return 1;
    }
    (void)resmon_monitor_add(monitor, "pushgateway", "http://127.0.0.1:9"); /* if it is built in */
    if (resmon_monitor_start(monitor) != RESMON_OK) {
        return 2;
    }
    int found = are_closed();
    for (int i = 0; i < 50 && found == 0; i++) {
        RESMON_SCOPE("work");
        (void)resmon_monitor_sample_now(monitor);
        found = are_closed();
    }
    (void)resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
    return found != 0 ? found : are_closed();
}

TEST(the_numbers_of_the_standard_three_are_nobodys_else)
{
    assert_int_equal(in_child(observe_without_standard_files), 0);
}

TEST(closed_by_the_program)
{
    assert_int_equal(in_child(observe_in_memory), 0);
}

/* Where threads share a table, one that copies the recording may be between its look at a number
 * and its close of it just when the program closes and opens: it is not so each time. */
TEST(closed_with_a_recording)
{
    int result = NOT_AS_LEFT;
    for (int i = 0; i < 5 && result == NOT_AS_LEFT; i++) {
        (void)unlink(path_of("run.rec"));
        result = in_child(observe_into_file);
    }
    assert_int_equal(result, 0);
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path_of("run.rec"), &run));
    assert_true(find_scope(run, -1, "after") >= 0);
    resmon_run_free(run);
}

/* Whether this process's table has a descriptor of /proc/stat, which the sampling thread keeps. */
static bool has_file_of_sampler(void)
{
    bool has_one = false;
    for (int fd = 3; fd < 1024 && !has_one; fd++) {
        char link[64], target[64] = "";
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        has_one = length > 0 && strcmp(target, "/proc/stat") == 0;
    }
    return has_one;
}

/* Under a filter that refuses close_range(2), the tests above are about descriptors that the
 * program can close. */
TEST(where_the_descriptors_are)
{
    resmon_monitor *monitor = start_monitor(NULL);
    assert_non_null(monitor);
    bool is_shared = has_file_of_sampler();
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    print_message("the sampling thread has %s table of descriptors\n",
                  is_shared ? "the program's" : "its own");
    if (is_without_close_range()) {
        assert_true(is_shared);
    }
    assert_false(has_file_of_sampler());
}

/* The program's files stay open over a monitor's whole life, also where it closed ours between new
 * and start. */
static int close_before_start(void)
{
    resmon_monitor_options options = {.struct_size = sizeof options, .scopes = 15};
    resmon_monitor *monitor = NULL;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK) {
        return 20;
    }
    close_unknown();
    if (open_own_files() != 0) {
        return 21;
    }
    (void)resmon_monitor_start(monitor);
    resmon_monitor_free(monitor);
    return check_own_files();
}

TEST(closed_before_start)
{
    assert_int_equal(in_child(close_before_start), 0);
}

/* ---- what a run is written to ------------------------------------------------------------ */

static resmon_status save_to(const char *path)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .domains = RESMON_DOMAIN_PROCESS};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_status status = resmon_monitor_save(monitor, path);
    resmon_monitor_free(monitor);
    return status;
}

static resmon_status record_to(const char *path)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {
        .struct_size = sizeof options, .domains = RESMON_DOMAIN_PROCESS, .record = path};
    resmon_status status = resmon_monitor_new(&options, &monitor);
    if (status == RESMON_OK) {
        status = resmon_monitor_start(monitor);
    }
    resmon_monitor_free(monitor);
    return status;
}

/* Renaming over a device, a FIFO, a directory or a link would destroy it. */
TEST(targets_that_are_no_files)
{
    char fifo[320], link_path[320];
    struct stat info;
    (void)snprintf(fifo, sizeof fifo, "%s", path_of("fifo"));
    (void)snprintf(link_path, sizeof link_path, "%s", path_of("link"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("/dev/null", link_path), 0);
    const char *const paths[] = {"/dev/null", test_directory, fifo, link_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(record_to(paths[i]), RESMON_EINVAL);
        assert_non_null(strstr(resmon_last_error(), paths[i]));
        resmon_status status = save_to(paths[i]);
        assert_true(status == RESMON_EINVAL || status == RESMON_ENOTSUP);
        assert_int_equal(lstat(paths[i], &info), 0);
        assert_false(S_ISREG(info.st_mode));
    }
    (void)unlink(fifo);
    (void)unlink(link_path);
}

FIXTURE(set_up)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 1024) {
        files.rlim_cur = files.rlim_max < 1024 ? files.rlim_max : 1024;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    return 0;
}

TEST_FILE(.set_up = set_up);
