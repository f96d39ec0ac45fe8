/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: threads with scopes, handles and tasks that are passed between them, tags,
 * labels, samples on demand, snapshots, saving and loading, monitors that come and go, and forks.
 * Made for ThreadSanitizer, and for AddressSanitizer; bounded by counts, not by time.
 */
#define _GNU_SOURCE /* mkdtemp */
#include "report_in_full.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/json.h"
#include "torture/run_checks.h"

#define SCOPE_THREADS 3
#define ROUNDS        12 /* of a monitor that owns the scopes */
#define TURNS         40 /* of each thread in a round */
#define SHORT_THREADS 10 /* in a turn of the spawner */
#define FORKS         3  /* in a round */
#define EXTRA         2  /* monitors without scopes in a round */

static char record_path[128];
static char json_path[128];

static resmon_monitor *monitor;
static atomic_int round_is_over;
static atomic_int complaints;
static atomic_ulong begun, done;
static _Atomic uint64_t handle;          /* of a scope of some thread, maybe in a round before */
static _Atomic(resmon_task *) passed_on; /* between threads: one ends what another began */

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
    atomic_fetch_add(&complaints, 1);
}

#define EXPECT(call)                                                          \
    do {                                                                      \
        resmon_status expect_status = (call);                                 \
        if (expect_status != RESMON_OK) {                                     \
            complain("%s: %s (%s)", #call, resmon_status_name(expect_status), \
                     resmon_last_error());                                    \
        }                                                                     \
    } while (0)

/* ---- threads ---------------------------------------------------------------------------- */

static void recurse(int depth)
{
    RESMON_SCOPE("recurse");
    if (depth > 0) {
        recurse(depth - 1);
    }
}

static void pass_on(const char *name, uint64_t flags)
{
    resmon_site *site;
    resmon_task *task = NULL;
    EXPECT(resmon_site_intern(name, &site));
    EXPECT(resmon_task_begin(site, atomic_load(&handle), flags, &task));
    if (resmon_task_here(task) != 0) {
        atomic_store(&handle, resmon_task_here(task));
    }
    resmon_task_end(atomic_exchange(&passed_on, task));
}

static void visit_scopes(int turn)
{
    char name[16];
    resmon_site *site;
    atomic_fetch_add(&begun, 1);
    {
        RESMON_SCOPE("counted");
        for (int i = 0; i < 5; i++) {
            RESMON_SCOPE("inner");
            RESMON_SCOPE("leaf");
        }
        recurse(3);
        (void)snprintf(name, sizeof name, "name %d", turn % 7);
        EXPECT(resmon_site_intern(name, &site));
        resmon_scope_end(resmon_scope_begin(site));
        RESMON_TIMED("timed", (void)0);
        RESMON_PEAK_RSS("peak", (void)0);
        RESMON_SCOPE_UNDER(atomic_load(&handle), "under");
        atomic_store(&handle, resmon_scope_here());
        RESMON_SCOPE("inner");
        pass_on("task", turn % 2 == 0 ? RESMON_INSIDE : 0);
    }
    atomic_fetch_add(&done, 1);
}

static void *run_scopes(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS * 5; i++) {
        visit_scopes(i);
    }
    return NULL;
}

/* Goes on while the monitor stops and the next one starts. */
static void *run_scopes_across_rounds(void *stop)
{
    for (int i = 0; atomic_load((atomic_int *)stop) == 0; i++) {
        uint64_t scope;
        static resmon_site site = {"across", __FILE__, "run", 1, 0};
        RESMON_SCOPE("outer across");
        scope = resmon_scope_begin(&site);
        (void)sched_yield();
        resmon_scope_end(scope);
        RESMON_SCOPE_UNDER(atomic_load(&handle), "under across");
        pass_on("task across", 0);
        RESMON_PEAK_RSS("peak across", (void)sched_yield());
    }
    return NULL;
}

static void *run_short_threads(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS / 8; i++) {
        pthread_t threads[SHORT_THREADS];
        int started = 0;
        while (started < SHORT_THREADS &&
               pthread_create(&threads[started], NULL, run_scopes_across_rounds, &round_is_over) ==
                   0) {
            started++;
            if (started == SHORT_THREADS / 2) {
                break;
            }
        }
        atomic_store(&round_is_over, 1);
        while (started > 0) {
            (void)pthread_join(threads[--started], NULL);
        }
        atomic_store(&round_is_over, 0);
    }
    return NULL;
}

static void *run_tags(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS * 10; i++) {
        char label[32];
        (void)snprintf(label, sizeof label, "tag %d", i);
        EXPECT(resmon_monitor_tag(monitor, label));
        EXPECT(resmon_monitor_set_label(monitor, label));
    }
    return NULL;
}

static void *run_samples(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        EXPECT(resmon_monitor_sample_now(monitor));
    }
    return NULL;
}

static void check(const resmon_run *run)
{
    struct verdict verdict = {0};
    if (!check_spans(run, 8, &verdict) || !check_columns(run, &verdict) ||
        !check_scopes(run, 1e13, &verdict)) {
        complain("%s", verdict.why);
    }
}

static void *run_snapshots(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS; i++) {
        resmon_run *run = NULL;
        unsigned long before = atomic_load(&done);
        EXPECT(i % 2 == 0 ? resmon_monitor_snapshot(monitor, &run)
                          : resmon_monitor_summary(monitor, &run));
        if (run == NULL) {
            continue;
        }
        if (i % 2 == 0) {
            check(run);
            int64_t index = find_scope(run, -1, "counted");
            uint64_t calls = index >= 0 ? ended_of(scope_of(run, (size_t)index)).calls : 0;
            if (calls < before || calls > atomic_load(&begun)) {
                complain("%llu calls; %lu were done before, %lu begun after",
                         (unsigned long long)calls, before, atomic_load(&begun));
            }
        }
        resmon_run_free(run);
    }
    return NULL;
}

static void *run_files(void *unused)
{
    (void)unused;
    for (int i = 0; i < TURNS / 4; i++) {
        resmon_run *run = NULL;
        char *text = NULL;
        EXPECT(resmon_monitor_save(monitor, json_path));
        if (rm_json_check() == RESMON_OK) {
            EXPECT(resmon_run_load(json_path, &run));
            EXPECT(report_in_full(run, &text));
            resmon_text_free(text);
            resmon_run_free(run);
        }
#if !defined(__SANITIZE_THREAD__)
        EXPECT(resmon_run_load(record_path, &run));
        check(run);
        resmon_run_free(run);
#endif
    }
    return NULL;
}

static void *run_other_monitors(void *unused)
{
    (void)unused;
    for (int i = 0; i < EXTRA; i++) {
        resmon_monitor_options options = {
            .struct_size = sizeof options,
            .interval_ms = 1,
            .domains = RESMON_DOMAIN_PROCESS,
            .rows = 8,
            .flags = i % 2 == 0 ? RESMON_FLAG_NO_SCOPES : 0, /* 0: takes them if they are free */
        };
        resmon_monitor *other = NULL;
        EXPECT(resmon_monitor_new(&options, &other));
        EXPECT(resmon_monitor_start(other));
        EXPECT(resmon_monitor_sample_now(other));
        resmon_monitor_free(other);
    }
    return NULL;
}

static void *run_forks(void *unused)
{
    (void)unused;
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) { /* it allocates nothing: sanitizers' allocators may be locked for ever */
            (void)alarm(60);
            RESMON_SCOPE("child");
            RESMON_SCOPE_UNDER(atomic_load(&handle), "under");
            RESMON_PEAK_RSS("child", (void)0);
            _exit(resmon_monitor_sample_now(monitor) == RESMON_ESTATE ? 0 : 1);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (status != 0) {
            complain("a forked child ended with status %d", status);
        }
    }
    return NULL;
}

/* ---- rounds ----------------------------------------------------------------------------- */

static atomic_ulong rows_seen;

static resmon_status on_rows(void *context, const resmon_rows *rows)
{
    (void)context;
    atomic_fetch_add(&rows_seen, rows->row_count);
    return RESMON_OK;
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    (void)context;
    check(run);
    return RESMON_OK;
}

static void start_round(int number)
{
    const resmon_sink_ops ops = {.struct_size = sizeof ops, .rows = on_rows, .stop = on_stop};
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 1,
        .rows = 8,
        .max_overhead = 1.0,
        .scopes = number % 2 == 0 ? RESMON_METER_ALL : RESMON_METER_WALL,
        .record = number % 3 == 0 ? record_path : NULL,
        .tags = 8,
        .scope_paths = 512,
        .scope_threads = 16,
        .scope_depth = 8,
        .events = number % 4 < 2 ? 16 : 0,
    };
    EXPECT(resmon_monitor_new(&options, &monitor));
    EXPECT(resmon_monitor_add_sink(monitor, &ops, NULL));
    EXPECT(resmon_monitor_start(monitor));
}

static void end_round(void)
{
    resmon_run *run = NULL;
    EXPECT(resmon_monitor_stop(monitor));
    EXPECT(resmon_monitor_snapshot(monitor, &run));
    check(run);
    int64_t index = find_scope(run, -1, "counted");
    uint64_t calls = index >= 0 ? scope_of(run, (size_t)index).calls : 0;
    if (calls != atomic_load(&done)) {
        complain("%llu calls of %lu", (unsigned long long)calls, atomic_load(&done));
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    monitor = NULL;
}

static void run_round(int number)
{
    static void *(*const jobs[])(void *) = {
        run_scopes,  run_scopes,    run_scopes,         run_short_threads, run_tags,
        run_samples, run_snapshots, run_other_monitors, run_forks,
    };
    enum { JOBS = sizeof jobs / sizeof jobs[0] };
    pthread_t threads[JOBS + 1];
    atomic_store(&begun, 0);
    atomic_store(&done, 0);
    start_round(number);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], NULL), 0);
    }
    bool has_files = number % 3 == 0;
    if (has_files) {
        assert_int_equal(pthread_create(&threads[JOBS], NULL, run_files, NULL), 0);
    }
    for (size_t i = 0; i < JOBS + (has_files ? 1 : 0); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    end_round();
}

TEST(everything_at_once)
{
    pthread_t across[2];
    atomic_int is_over;
    atomic_init(&is_over, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&across[i], NULL, run_scopes_across_rounds, &is_over), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        run_round(i);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(across[i], NULL), 0);
    }
    resmon_task_end(atomic_exchange(&passed_on, NULL));
    print_message("%lu rows delivered\n", atomic_load(&rows_seen));
    assert_int_equal(atomic_load(&complaints), 0);
}

/* Monitors that race for the scopes while threads are in them. */
static void *fight_for_scopes(void *unused)
{
    (void)unused;
    for (int i = 0; i < 25; i++) {
        resmon_monitor_options options = {
            .struct_size = sizeof options,
            .interval_ms = 1,
            .domains = RESMON_DOMAIN_PROCESS,
            .rows = 4,
            .scopes = RESMON_METER_ALL,
            .scope_paths = 64,
            .scope_threads = 8,
        };
        resmon_monitor *own = NULL;
        EXPECT(resmon_monitor_new(&options, &own));
        resmon_status status = resmon_monitor_start(own);
        if (status != RESMON_OK && status != RESMON_EBUSY) {
            complain("start: %s", resmon_last_error());
        }
        if (status == RESMON_OK) {
            resmon_run *run = NULL;
            EXPECT(resmon_monitor_scopes(own, &run));
            resmon_run_free(run);
        }
        resmon_monitor_free(own);
    }
    return NULL;
}

TEST(monitors_that_come_and_go)
{
    pthread_t fighters[3], visitors[SCOPE_THREADS];
    atomic_int is_over;
    atomic_store(&complaints, 0);
    atomic_init(&is_over, 0);
    for (int i = 0; i < SCOPE_THREADS; i++) {
        assert_int_equal(pthread_create(&visitors[i], NULL, run_scopes_across_rounds, &is_over), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&fighters[i], NULL, fight_for_scopes, NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(fighters[i], NULL), 0);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < SCOPE_THREADS; i++) {
        assert_int_equal(pthread_join(visitors[i], NULL), 0);
    }
    resmon_task_end(atomic_exchange(&passed_on, NULL));
    assert_int_equal(atomic_load(&complaints), 0);
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
    (void)snprintf(json_path, sizeof json_path, "%s/run.json", test_directory);
    return 0;
}

FIXTURE(tear_down)
{
    (void)unlink(record_path);
    (void)unlink(json_path);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
