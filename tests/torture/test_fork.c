/* SPDX-License-Identifier: MIT */
/*
 * fork, vfork and exec while a monitor samples and threads hold scopes; and very many threads.  The
 * child leaves the parent's recording, monitor and memory mark alone, and may have a monitor of its
 * own.
 */
#define _GNU_SOURCE /* vfork */
#include "test.h"

#include "format/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_checks.h"

/* The allocator of gcc 12's AddressSanitizer keeps its locks over a fork: a child of a process
 * whose threads allocate must not allocate either.  (glibc's own gives its locks back.) */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY_THREADS       2000
#define AT_ONCE            200
#define CAN_CHILD_ALLOCATE 0
#else
#define MANY_THREADS       10000
#define AT_ONCE            1000
#define CAN_CHILD_ALLOCATE 1
#endif

static char record_path[128];
static char other_path[128];

static resmon_monitor *start_monitor(const char *record, uint64_t interval_ms, uint64_t threads)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = interval_ms,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE,
        .max_overhead = 1.0,
        .rows = 8,
        .scopes = RESMON_METER_ALL,
        .record = record,
        .scope_threads = threads,
        .scope_paths = 8192,
        .scope_depth = 8,
        .events = 16,
    };
    resmon_monitor *monitor = NULL;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    return monitor;
}

/* A monitor that works while the process forks; where the child could not allocate then, one whose
 * threads rest. */
static resmon_monitor *start_busy_monitor(void)
{
    if (CAN_CHILD_ALLOCATE) {
        return start_monitor(record_path, 1, 8);
    }
    resmon_monitor *monitor = start_monitor(NULL, 86400000, 8);
    assert_ok(resmon_monitor_sample_now(monitor));
    return monitor;
}

static resmon_run *snapshot_of(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    struct verdict verdict = {0};
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    if (!check_spans(run, 8, &verdict) || !check_columns(run, &verdict) ||
        !check_scopes(run, 1e13, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    return run;
}

static int status_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- what a child may not touch --------------------------------------------------------- */

static char *read_bytes(const char *path, size_t *ret_length)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &info) == 0);
    char *bytes = malloc((size_t)info.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)info.st_size), info.st_size);
    (void)close(fd);
    *ret_length = (size_t)info.st_size;
    return bytes;
}

static int try_everything(resmon_monitor *monitor, uint64_t scope)
{
    resmon_run *run = NULL;
    resmon_scope_end(scope); /* begun by the parent */
    for (int i = 0; i < 100; i++) {
        RESMON_SCOPE("child");
        RESMON_SCOPE("grandchild");
    }
    if (resmon_monitor_tag(monitor, "child") != RESMON_ESTATE) {
        return 11;
    }
    if (resmon_monitor_sample_now(monitor) != RESMON_ESTATE ||
        resmon_monitor_set_label(monitor, "child") != RESMON_ESTATE ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_ESTATE ||
        resmon_monitor_stop(monitor) != RESMON_ESTATE) {
        return 12;
    }
    if (strlen(resmon_last_error()) == 0) {
        return 13;
    }
    resmon_monitor_free(monitor);
    resmon_scope_end(resmon_scope_begin(&(resmon_site){"late", "", "", 1, 0}));
    return 0;
}

TEST(child_writes_nothing)
{
    size_t before_length, after_length;
    resmon_monitor *monitor = start_monitor(record_path, 86400000, 8);
    static resmon_site site = {"parent", __FILE__, "test", 1, 0};
    uint64_t scope = resmon_scope_begin(&site);
    assert_ok(resmon_monitor_tag(monitor, "before"));
    char *before = read_bytes(record_path, &before_length);
    pid_t child = fork();
    if (child == 0) {
        _exit(try_everything(monitor, scope));
    }
    int status = status_of(child);
    char *after = read_bytes(record_path, &after_length);
    assert_int_equal(status, 0);
    assert_int_equal(before_length, after_length);
    assert_memory_equal(before, after, before_length);
    free(before);
    free(after);
    resmon_scope_end(scope);
    resmon_run *run = snapshot_of(monitor);
    assert_int_equal(find_scope(run, -1, "child"), -1);
    assert_int_equal(scope_of(run, (size_t)find_scope(run, -1, "parent")).calls, 1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

static int have_own_monitor(void)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .domains = RESMON_DOMAIN_PROCESS,
        .scopes = RESMON_METER_ALL,
        .record = other_path,
        .rows = 4,
    };
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        (void)fprintf(stderr, "the child's monitor: %s\n", resmon_last_error());
        return 21;
    }
    for (int i = 0; i < 10; i++) {
        RESMON_SCOPE("child");
    }
    if (resmon_monitor_sample_now(monitor) != RESMON_OK ||
        resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        return 22;
    }
    int64_t index = find_scope(run, -1, "child");
    if (resmon_run_scope_count(run) != 1 || index < 0 || scope_of(run, (size_t)index).calls != 10) {
        return 23;
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    if (resmon_run_load(other_path, &run) != RESMON_OK ||
        strcmp(info_of(run).state, "stopped") != 0) {
        return 24;
    }
    resmon_run_free(run);
    return 0;
}

TEST(child_has_a_monitor_of_its_own)
{
    resmon_monitor *monitor = start_busy_monitor();
    for (int i = 0; i < 5; i++) {
        RESMON_SCOPE("parent");
        pid_t child = fork();
        if (child == 0) {
            _exit(have_own_monitor());
        }
        assert_int_equal(status_of(child), 0);
    }
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run_free(snapshot_of(monitor));
    resmon_monitor_free(monitor);
}

/* ---- the process's high-water mark ------------------------------------------------------ */

#define BIG ((size_t)48 << 20)

static void touch_and_release(void)
{
    char *bytes = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(bytes != MAP_FAILED);
    for (size_t i = 0; i < BIG; i += 4096) {
        bytes[i] = 1;
    }
    assert_int_equal(munmap(bytes, BIG), 0);
}

static long mark_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static bool can_reset_mark(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, "5", 1) == 1;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_done;
}

static void check_mark_survives_child(void)
{
    touch_and_release();
    long before = mark_kib();
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++) {
            RESMON_PEAK_RSS("child", (void)0);
        }
        _exit(have_own_monitor());
    }
    assert_int_equal(status_of(child), 0);
    if (mark_kib() < before) {
        fail_msg("the child has reset the parent's mark: %ld KiB, %ld before", mark_kib(), before);
    }
}

static void skip_without_mark(void)
{
    if (!can_reset_mark()) {
        print_message("skipped: /proc/self/clear_refs cannot be written here\n");
        skip();
    }
}

TEST(mark_with_a_monitor)
{
    skip_without_mark();
    resmon_monitor *monitor = start_monitor(NULL, 86400000, 8);
    assert_ok(resmon_monitor_sample_now(monitor)); /* its thread rests */
    {
        RESMON_SCOPE("parent");
        check_mark_survives_child();
    }
    resmon_run *run = snapshot_of(monitor);
    resmon_run_scope scope = scope_of(run, (size_t)find_scope(run, -1, "parent"));
    assert_true(scope.rss_peak_bytes >= (double)BIG);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* In a process of its own, where no monitor has been before. */
TEST(mark_without_a_monitor)
{
    skip_without_mark();
    pid_t child = fork();
    if (child == 0) {
        RESMON_PEAK_RSS("parent", touch_and_release());
        touch_and_release();
        long before = mark_kib();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            RESMON_PEAK_RSS("child", (void)0);
            _exit(0);
        }
        (void)status_of(grandchild);
        _exit(mark_kib() < before ? 31 : 0);
    }
    assert_int_equal(status_of(child), 0);
}

/* ---- exec ------------------------------------------------------------------------------- */

static bool inherits_only_the_standard_ones(void)
{
    /* Of the program that is executed: what it has open beyond 0, 1, 2. */
    return system("test -z \"$(ls -l /proc/self/fd | grep -E "
                  "'clear_refs|run.rec|/(stat|statm|io|meminfo)$')\"") == 0;
}

TEST(exec)
{
    resmon_monitor *monitor = start_monitor(record_path, 1, 8);
    for (int i = 0; i < 20; i++) {
        RESMON_SCOPE("parent");
        pid_t child = fork();
        if (child == 0) {
            (void)execlp("true", "true", (char *)NULL);
            _exit(41);
        }
        assert_int_equal(status_of(child), 0);
        child = vfork();
        if (child == 0) {
            (void)execlp("true", "true", (char *)NULL);
            _exit(42);
        }
        assert_int_equal(status_of(child), 0);
    }
    assert_true(inherits_only_the_standard_ones());
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run_free(snapshot_of(monitor));
    resmon_monitor_free(monitor);
}

/* ---- the environment variable ----------------------------------------------------------- */

/* A checkpoint may be there. */
static bool is_finished(const char *path)
{
    resmon_run *run = NULL;
    if (access(path, F_OK) != 0 || resmon_run_load(path, &run) != RESMON_OK) {
        return false;
    }
    bool is_running = strcmp(info_of(run).state, "running") == 0;
    resmon_run_free(run);
    return !is_running;
}

/* Run as another program, with RESMON set: forks a child that ends with exit(). */
static int play_observed_program(char **words)
{
    (void)words;
    RESMON_SCOPE("program");
    pid_t child = fork();
    if (child == 0) {
        {
            RESMON_SCOPE("child");
        }
        exit(0);
    }
    if (status_of(child) != 0) {
        return 51;
    }
    return is_finished(getenv("RESMON_FORK_TEST_JSON")) ? 52 : 0;
}

TEST(exit_of_a_child_leaves_the_parents_run)
{
    if (rm_json_check() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    char json[80], setting[160];
    (void)snprintf(json, sizeof json, "%s/auto.json", test_directory);
    (void)snprintf(setting, sizeof setting, "json=%s,interval=1ms,scopes=wall+rss", json);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("RESMON", setting, 1);
        (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* hangs in a fork's child */
        (void)setenv("RESMON_FORK_TEST_JSON", json, 1);
        exec_this_file("observed", NULL);
        _exit(53);
    }
    assert_int_equal(status_of(child), 0);
    resmon_run *run = NULL;
    resmon_status status = resmon_run_load(json, &run);
    if (status == RESMON_ENOTSUP) {
        print_message("skipped: built without JSON\n");
        skip();
    }
    assert_ok(status);
    assert_string_equal(info_of(run).state, "stopped");
    assert_int_equal(find_scope(run, -1, "child"), -1);
    int64_t index = find_scope(run, -1, "program");
    assert_true(index >= 0);
    assert_int_equal(info_of(run).dropped_forks, 1);
    resmon_run_free(run);
    (void)unlink(json);
}

static int is_recording(const struct dirent *entry)
{
    return strstr(entry->d_name, ".rec") != NULL ? 1 : 0;
}

/* As `resmon run` starts a program: the child of its fork is one more, with scopes of its own. */
TEST(a_child_of_an_observed_program_has_a_recording)
{
    if (!CAN_CHILD_ALLOCATE) {
        print_message("skipped: this allocator keeps its locks over a fork\n");
        skip();
    }
    char directory[PATH_MAX];
    assert_non_null(realpath(test_directory, directory));
    strncat(directory, "/run", sizeof directory - strlen(directory) - 1);
    assert_int_equal(mkdir(directory, 0700), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("RESMON_RUN", directory, 1);
        (void)setenv("RESMON_FORK_TEST_JSON", "none", 1);
        exec_this_file("observed", NULL);
        _exit(53);
    }
    assert_int_equal(status_of(child), 0);
    struct dirent **entries;
    int programs = 0, children = 0, count = scandir(directory, &entries, is_recording, alphasort);
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX + 256];
        resmon_run *run = NULL;
        (void)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        assert_ok(resmon_run_load(path, &run));
        assert_string_equal(info_of(run).state, "stopped");
        assert_int_equal(info_of(run).dropped_forks, 0);
        programs += find_scope(run, -1, "program") >= 0 ? 1 : 0;
        children += find_scope(run, -1, "child") >= 0 ? 1 : 0;
        resmon_run_free(run);
        assert_int_equal(unlink(path), 0);
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(count, 2);
    assert_int_equal(programs, 1);
    assert_int_equal(children, 1);
    assert_int_equal(rmdir(directory), 0);
}

/* Also those of children that had none; and one that starts a monitor of its own is not lost. */
TEST(children_with_scopes_are_counted)
{
    resmon_monitor *monitor = start_monitor(NULL, 86400000, 8);
    assert_ok(resmon_monitor_sample_now(monitor));
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i == 0) {
                _exit(0);
            }
            if (i == 2 && (child = fork()) != 0) {
                _exit(status_of(child));
            }
            for (int k = 0; k < 3; k++) {
                RESMON_SCOPE("child");
            }
            _exit(0);
        }
        assert_int_equal(status_of(child), 0);
    }
    resmon_run *run = snapshot_of(monitor);
    assert_int_equal(info_of(run).dropped_forks, 2);
    resmon_run_free(run);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    monitor = start_monitor(NULL, 86400000, 8); /* it counts its own */
    run = snapshot_of(monitor);
    assert_int_equal(info_of(run).dropped_forks, 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* ---- fork while threads are everywhere in the library ----------------------------------- */

static atomic_int is_over;
static atomic_ulong visits;

static void *visit(void *unused)
{
    (void)unused;
    while (atomic_load(&is_over) == 0) {
        char name[16];
        resmon_site *site;
        unsigned long number = atomic_fetch_add(&visits, 1);
        (void)snprintf(name, sizeof name, "s%lu", number % 50);
        RESMON_SCOPE("loop");
        if (resmon_site_intern(name, &site) == RESMON_OK) {
            resmon_scope_end(resmon_scope_begin(site));
        }
        RESMON_PEAK_RSS("peak", (void)0);
    }
    return NULL;
}

static int live_as_child(resmon_monitor *inherited, bool has_own_monitor)
{
    resmon_site *site;
    for (int k = 0; k < 10; k++) {
        RESMON_SCOPE("child");
        RESMON_PEAK_RSS("child", (void)0);
    }
    if (!CAN_CHILD_ALLOCATE) {
        return 0;
    }
    if (resmon_site_intern("fresh", &site) != RESMON_OK) {
        return 61;
    }
    resmon_monitor_free(inherited);
    return has_own_monitor ? have_own_monitor() : 0;
}

TEST(fork_among_threads)
{
    enum { THREADS = 4, FORKS = 150 };
    pthread_t threads[THREADS];
    resmon_monitor *monitor = start_monitor(record_path, 1, 8);
    atomic_store(&is_over, 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, visit, NULL), 0);
    }
    for (int i = 0; i < FORKS; i++) {
        RESMON_SCOPE("forking");
        pid_t child = fork();
        if (child == 0) {
            (void)alarm(60); /* a lock that nobody gives back */
            _exit(live_as_child(monitor, i % 10 == 0));
        }
        assert_int_equal(status_of(child), 0);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = snapshot_of(monitor);
    assert_int_equal(scope_of(run, (size_t)find_scope(run, -1, "forking")).calls, FORKS);
    assert_int_equal(find_scope(run, -1, "child"), -1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* ---- very many threads ------------------------------------------------------------------ */

#define VISITS 3

static atomic_int gate;

static void *visit_once(void *waits)
{
    for (int i = 0; i < VISITS; i++) {
        RESMON_SCOPE("thread");
        RESMON_SCOPE("inside");
        while (waits != NULL && atomic_load(&gate) == 0) {
            (void)sched_yield();
        }
    }
    return NULL;
}

static size_t start_threads(pthread_t *threads, size_t count, void *waits)
{
    pthread_attr_t small;
    size_t started = 0;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 128 * 1024), 0);
    while (started < count && pthread_create(&threads[started], &small, visit_once, waits) == 0) {
        started++;
    }
    assert_int_equal(pthread_attr_destroy(&small), 0);
    return started;
}

static void join_threads(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

TEST(threads_one_batch_after_the_other)
{
    enum { BATCH = 100 };
    pthread_t threads[BATCH];
    resmon_monitor *monitor = start_monitor(record_path, 10, BATCH);
    size_t total = 0;
    while (total < MANY_THREADS) {
        size_t started = start_threads(threads, BATCH, NULL);
        assert_true(started > 0);
        join_threads(threads, started);
        total += started;
    }
    resmon_run *run = snapshot_of(monitor);
    resmon_run_scope outer = scope_of(run, (size_t)find_scope(run, -1, "thread"));
    assert_int_equal(resmon_run_scope_count(run), 2);
    assert_int_equal(outer.calls, total * VISITS);
    assert_int_equal(scope_of(run, 1).calls, total * VISITS);
    assert_int_equal(outer.threads, total);
    assert_int_equal(outer.open, 0);
    assert_int_equal(info_of(run).dropped_scopes, 0);
    assert_int_equal(info_of(run).dropped_threads, 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* More at once than there are slots: each instance is in the tree or among the dropped. */
static void check_at_once(uint64_t slots)
{
    pthread_t *threads = calloc(AT_ONCE, sizeof *threads);
    assert_non_null(threads);
    resmon_monitor *monitor = start_monitor(record_path, 10, slots);
    atomic_store(&gate, 0);
    size_t started = start_threads(threads, AT_ONCE, &gate);
    resmon_run_free(snapshot_of(monitor));
    atomic_store(&gate, 1);
    join_threads(threads, started);
    free(threads);
    resmon_run *run = snapshot_of(monitor);
    resmon_run_info info = info_of(run);
    uint64_t counted = scope_of(run, 0).calls + scope_of(run, 1).calls;
    uint64_t expected = (uint64_t)started * VISITS * 2;
    print_message("%zu threads, %llu slots: %llu instances, %llu dropped, %llu threads dropped\n",
                  started, (unsigned long long)slots, (unsigned long long)counted,
                  (unsigned long long)info.dropped_scopes,
                  (unsigned long long)info.dropped_threads);
    assert_int_equal(counted + info.dropped_scopes, expected);
    assert_int_equal(counted, (started - info.dropped_threads) * VISITS * 2);
    assert_true(slots < started || info.dropped_threads == 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(threads_at_once)
{
    check_at_once(2048);
    check_at_once(50);
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
    (void)snprintf(record_path, sizeof record_path, "%s/run.rec", test_directory);
    (void)snprintf(other_path, sizeof other_path, "%s/child.rec", test_directory);
    return 0;
}

FIXTURE(tear_down)
{
    (void)unlink(record_path);
    (void)unlink(other_path);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down, .program = play_observed_program);
