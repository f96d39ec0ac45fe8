/* SPDX-License-Identifier: MIT */
/*
 * Programs that die without notice.  A child records into a file and keeps a second account in
 * memory that it shares with us; at a random instant it is killed, and what the file says is held
 * against that account: nothing lost but what was being done, nothing invented.
 *
 * RESMON_KILLS: how many (default: 200; in `test all` 1000).  RESMON_KILL_SEED: others than always.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "report_in_full.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_checks.h"

#define WORKERS    3
#define MAX_TAGS   16
#define MAX_EVENTS 40
#define SEED       20261127

enum path { OUTER, INNER, LEAF, OTHER, SHORT, DEEP, PATHS };

static const struct {
    const char *name;
    int parent;  /* enum path, or -1 */
    int threads; /* that can be inside at once */
} paths[PATHS] = {
    [OUTER] = {"outer", -1, WORKERS},  [INNER] = {"inner", OUTER, WORKERS},
    [LEAF] = {"leaf", INNER, WORKERS}, [OTHER] = {"other", OUTER, WORKERS},
    [SHORT] = {"short", -1, 1},        [DEEP] = {"deep", SHORT, 1},
};

/* The child's own account; shared. */
static struct account {
    atomic_int is_ready; /* start returned */
    atomic_ulong begun[PATHS];
    atomic_ulong done[PATHS];
    atomic_ulong threads[PATHS]; /* that have been about to visit it */
    atomic_ulong tags_begun, tags_done;
    atomic_ulong samples_done;
} * account;

static char record_path[128];
static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % bound;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the child -------------------------------------------------------------------------- */

static resmon_monitor *monitor;
static atomic_int burned;

static resmon_site sites[PATHS] = {
    [OUTER] = {"outer", __FILE__, "work", 1, 0}, [INNER] = {"inner", __FILE__, "work", 2, 0},
    [LEAF] = {"leaf", __FILE__, "work", 3, 0},   [OTHER] = {"other", __FILE__, "work", 4, 0},
    [SHORT] = {"short", __FILE__, "run", 5, 0},  [DEEP] = {"deep", __FILE__, "run", 6, 0},
};

static uint64_t enter(enum path path)
{
    atomic_fetch_add(&account->begun[path], 1);
    return resmon_scope_begin(&sites[path]);
}

static void leave(enum path path, uint64_t scope)
{
    resmon_scope_end(scope);
    atomic_fetch_add(&account->done[path], 1);
}

static void *work(void *unused)
{
    (void)unused;
    for (enum path path = OUTER; path <= OTHER; path++) {
        atomic_fetch_add(&account->threads[path], 1);
    }
    for (;;) {
        uint64_t outer = enter(OUTER);
        for (int i = 0; i < 3; i++) {
            uint64_t inner = enter(INNER);
            uint64_t leaf = enter(LEAF);
            atomic_fetch_add(&burned, 1);
            leave(LEAF, leaf);
            leave(INNER, inner);
        }
        uint64_t other = enter(OTHER);
        leave(OTHER, other);
        leave(OUTER, outer);
    }
    return NULL;
}

static void *run_shortly(void *unused)
{
    (void)unused;
    atomic_fetch_add(&account->threads[SHORT], 1);
    atomic_fetch_add(&account->threads[DEEP], 1);
    uint64_t outer = enter(SHORT);
    uint64_t inner = enter(DEEP);
    leave(DEEP, inner);
    leave(SHORT, outer);
    return NULL;
}

/* One short-lived thread after the other: their trees are merged and freed all the time. */
static void *spawn(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_shortly, NULL) == 0) {
            (void)pthread_join(thread, NULL);
        }
    }
    return NULL;
}

static void *tag(void *unused)
{
    (void)unused;
    char label[32];
    for (;;) {
        unsigned long number = atomic_fetch_add(&account->tags_begun, 1);
        (void)snprintf(label, sizeof label, "tag %lu", number);
        (void)resmon_monitor_tag(monitor, label);
        atomic_fetch_add(&account->tags_done, 1);
        (void)resmon_monitor_set_label(monitor, number % 2 == 0 ? "even-even-even-even"
                                                                : "odd-odd-odd-odd-odd");
    }
    return NULL;
}

static void start_thread(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) {
        _exit(81);
    }
}

static void start_monitor(uint64_t rows)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 1,
        .rows = rows,
        .domains = RESMON_DOMAIN_PROCESS,
        .max_overhead = 1.0,
        .scopes = RESMON_METER_ALL,
        .record = record_path,
        .tags = MAX_TAGS,
        .scope_paths = 64,
        .scope_threads = 8,
        .scope_depth = 8,
        .events = MAX_EVENTS,
    };
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        (void)fprintf(stderr, "the child cannot record: %s\n", resmon_last_error());
        _exit(82);
    }
}

static void live(uint64_t rows)
{
    start_monitor(rows);
    for (int i = 0; i < WORKERS; i++) {
        start_thread(work);
    }
    start_thread(spawn);
    start_thread(tag);
    atomic_store(&account->is_ready, 1);
    for (;;) {
        if (resmon_monitor_sample_now(monitor) != RESMON_OK) {
            _exit(83);
        }
        atomic_fetch_add(&account->samples_done, 1);
    }
}

/* ---- what must be in the file ----------------------------------------------------------- */

static bool check_path(const resmon_run *run, enum path path, const int64_t found[PATHS],
                       struct verdict *verdict)
{
    uint64_t begun = atomic_load(&account->begun[path]);
    uint64_t done = atomic_load(&account->done[path]);
    uint64_t threads = atomic_load(&account->threads[path]);
    if (found[path] < 0) {
        return done == 0 || object(verdict, "%s is not there, ended %llu times", paths[path].name,
                                   (unsigned long long)done);
    }
    resmon_run_scope scope = ended_of(scope_of(run, (size_t)found[path]));
    if (scope.calls < done || scope.calls > begun) {
        return object(verdict, "%s: %llu calls; %llu were done, %llu begun", scope.name,
                      (unsigned long long)scope.calls, (unsigned long long)done,
                      (unsigned long long)begun);
    }
    if (scope.open > (uint64_t)paths[path].threads ||
        scope.calls + scope.open > begun + (uint64_t)paths[path].threads) {
        return object(verdict, "%s: %llu calls and %llu open of %llu begun", scope.name,
                      (unsigned long long)scope.calls, (unsigned long long)scope.open,
                      (unsigned long long)begun);
    }
    if (scope.threads > threads) {
        return object(verdict, "%s: visited by %llu threads, of %llu", scope.name,
                      (unsigned long long)scope.threads, (unsigned long long)threads);
    }
    return true;
}

static bool check_paths(const resmon_run *run, struct verdict *verdict)
{
    int64_t found[PATHS];
    size_t known = 0;
    for (enum path path = 0; path < PATHS; path++) {
        int parent = paths[path].parent;
        found[path] = parent >= 0 && found[parent] < 0
                          ? -1
                          : find_scope(run, parent < 0 ? -1 : found[parent], paths[path].name);
        known += found[path] >= 0 ? 1 : 0;
        if (!check_path(run, path, found, verdict)) {
            return false;
        }
    }
    return known == resmon_run_scope_count(run) ||
           object(verdict, "%zu scopes where there are %zu", resmon_run_scope_count(run), known);
}

static bool check_tags(const resmon_run *run, struct verdict *verdict)
{
    uint64_t next = 0;
    uint64_t begun = atomic_load(&account->tags_begun);
    uint64_t done = atomic_load(&account->tags_done);
    uint64_t kept = resmon_run_tag_count(run);
    uint64_t least = done < MAX_TAGS ? done : MAX_TAGS - 1;
    if (!check_numbered_tags(run, &next, verdict)) {
        return false;
    }
    if (kept < least || kept > MAX_TAGS || next < done || next > begun) {
        return object(verdict, "%llu tags up to number %llu; %llu were done, %llu begun",
                      (unsigned long long)kept, (unsigned long long)next, (unsigned long long)done,
                      (unsigned long long)begun);
    }
    return true;
}

static bool check_label(const resmon_run *run, struct verdict *verdict)
{
    const char *label = info_of(run).label;
    return label[0] == '\0' || strcmp(label, "even-even-even-even") == 0 ||
           strcmp(label, "odd-odd-odd-odd-odd") == 0 ||
           object(verdict, "the label is torn: '%s'", label);
}

static bool check_dropped(const resmon_run *run, struct verdict *verdict)
{
    resmon_run_info info = info_of(run);
    return (info.dropped_scopes == 0 && info.dropped_threads == 0) ||
           object(verdict, "%llu scopes and %llu threads dropped, with room for all",
                  (unsigned long long)info.dropped_scopes,
                  (unsigned long long)info.dropped_threads);
}

static int index_of(const resmon_run_event *event)
{
    for (int path = 0; path < PATHS; path++) {
        if (strcmp(paths[path].name, event->name) == 0) {
            return path;
        }
    }
    return -1;
}

/* Each call is an event, but for those that were just ending. */
static bool check_event_counts(const resmon_run *run, struct verdict *verdict)
{
    static const uint64_t depths[PATHS] = {[INNER] = 1, [LEAF] = 2, [OTHER] = 1, [DEEP] = 1};
    uint64_t calls = 0;
    uint64_t events = info_of(run).dropped_events;
    for (size_t i = 0; i < resmon_run_event_count(run); i++) {
        resmon_run_event event = event_of(run, i);
        int path = index_of(&event);
        if (path < 0 || event.depth != depths[path]) {
            return object(verdict, "event %zu is '%s' at depth %llu", i, event.name,
                          (unsigned long long)event.depth);
        }
        events += event.is_open == 0 ? 1 : 0;
    }
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        calls += ended_of(scope_of(run, i)).calls;
    }
    if (events > calls || events + WORKERS + 1 < calls) {
        return object(verdict, "%llu events of %llu calls", (unsigned long long)events,
                      (unsigned long long)calls);
    }
    return resmon_run_event_count(run) >= (calls < MAX_EVENTS ? calls : MAX_EVENTS) - WORKERS - 1 ||
           calls <= WORKERS + 1 || object(verdict, "%zu events", resmon_run_event_count(run));
}

static bool check_run(const resmon_run *run, uint64_t rows, double elapsed_ns,
                      struct verdict *verdict)
{
    resmon_run_info info = info_of(run);
    uint64_t least = atomic_load(&account->samples_done) + atomic_load(&account->is_ready);
    char *text = NULL;
    if (strcmp(info.state, "interrupted") != 0) {
        return object(verdict, "the state is '%s'", info.state);
    }
    if (info.samples < least) {
        return object(verdict, "%llu samples of at least %llu", (unsigned long long)info.samples,
                      (unsigned long long)least);
    }
    if (report_in_full(run, &text) != RESMON_OK) {
        return object(verdict, "no report: %s", resmon_last_error());
    }
    resmon_text_free(text);
    return check_spans(run, rows, verdict) && check_columns(run, verdict) &&
           check_scopes(run, elapsed_ns, verdict) && check_paths(run, verdict) &&
           check_dropped(run, verdict) && check_tags(run, verdict) && check_label(run, verdict) &&
           check_events(run, verdict) && check_event_counts(run, verdict);
}

/* ---- killing ---------------------------------------------------------------------------- */

static void write_previous_recording(void)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .domains = RESMON_DOMAIN_PROCESS,
        .rows = 2,
        .tags = 1,
        .flags = RESMON_FLAG_NO_SCOPES,
        .name = "previous",
        .record = record_path,
    };
    resmon_monitor *previous = NULL;
    if (resmon_monitor_new(&options, &previous) != RESMON_OK ||
        resmon_monitor_start(previous) != RESMON_OK || resmon_monitor_stop(previous) != RESMON_OK) {
        (void)fprintf(stderr, "cannot record: %s\n", resmon_last_error());
        _exit(84);
    }
    resmon_monitor_free(previous);
}

/* Forked, so that this process never has a monitor of its own: children start from a clean state.
 */
static void leave_previous_recording(void)
{
    pid_t child = fork();
    if (child == 0) {
        write_previous_recording();
        _exit(0);
    }
    assert_exits(child, 0);
}

static void remove_temporaries(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -f %s/*.tmp", test_directory);
    assert_int_equal(system(command), 0);
}

static void pause_for(uint64_t us)
{
    struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)us * 1000};
    (void)nanosleep(&pause, NULL);
}

/* A reader beside the writer, while it is at it. */
static bool check_alive(uint64_t rows, int64_t begun_ns, struct verdict *verdict)
{
    resmon_run *run = NULL;
    if (resmon_run_load(record_path, &run) != RESMON_OK) {
        return object(verdict, "loading while the writer is at work: %s", resmon_last_error());
    }
    const double elapsed_ns =
        2.0 * (double)(now_ns() - begun_ns); /* the load takes its time, too */
    bool is_good = check_spans(run, rows, verdict) && check_columns(run, verdict) &&
                   check_scopes(run, elapsed_ns, verdict) && check_event_bounds(run, verdict);
    resmon_run_free(run);
    return is_good;
}

struct plan {
    bool waits; /* until the monitor runs; else the instant may fall into its start */
    bool looks; /* loads the file while it is being written */
    uint64_t rows;
    uint64_t delay_us;
};

static pid_t start_child(const struct plan *plan)
{
    memset(account, 0, sizeof *account);
    pid_t child = fork();
    if (child == 0) {
        live(plan->rows);
    }
    return child;
}

static bool kill_one(const struct plan *plan, struct verdict *verdict)
{
    int status;
    int64_t begun_ns = now_ns();
    pid_t child = start_child(plan);
    while (plan->waits && atomic_load(&account->is_ready) == 0 &&
           waitpid(child, &status, WNOHANG) == 0) {
        pause_for(50);
    }
    pause_for(plan->delay_us);
    bool is_good = !plan->looks || check_alive(plan->rows, begun_ns, verdict);
    (void)kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) {
        return object(verdict, "the child ended by itself, with status %d", status);
    }
    resmon_run *run = NULL;
    if (!is_good) {
        return false;
    }
    if (resmon_run_load(record_path, &run) != RESMON_OK) {
        return object(verdict, "%s: %s", atomic_load(&account->is_ready) ? "running" : "starting",
                      resmon_last_error());
    }
    const char *name = resmon_run_fact(run, "run", "name");
    bool is_previous = name != NULL && strcmp(name, "previous") == 0;
    if (is_previous) {
        is_good = atomic_load(&account->is_ready) == 0 ||
                  object(verdict, "the recording is still the previous one");
    } else {
        is_good = check_run(run, plan->rows, 2.0 * (double)(now_ns() - begun_ns), verdict);
    }
    resmon_run_free(run);
    return is_good;
}

static struct plan plan_one(int number)
{
    static const uint64_t rows[] = {2, 4, 8, 8, 8, 64};
    bool waits = number % 8 != 0;
    return (struct plan){
        .waits = waits,
        .looks = waits && number % 4 == 1,
        .rows = rows[random_below(sizeof rows / sizeof rows[0])],
        .delay_us = random_below(waits ? 8000 : 20000),
    };
}

TEST(kills_at_random_instants)
{
    const char *wanted = getenv("RESMON_KILLS");
    const char *seed = getenv("RESMON_KILL_SEED");
    int most = wanted != NULL                       ? (int)strtol(wanted, NULL, 10)
               : getenv("RESMON_TEST_LIVE") != NULL ? 1000
                                                    : 200;
    uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) : SEED;
    int done = 0;
    int bad = 0;
    random_state = first;
    while (done < most) {
        struct verdict verdict = {0};
        struct plan plan = plan_one(done++);
        leave_previous_recording();
        if (!kill_one(&plan, &verdict)) {
            bad++;
            print_error("kill %d (rows %llu%s): %s\n", done, (unsigned long long)plan.rows,
                        plan.looks ? ", looked at" : "", verdict.why);
        }
        remove_temporaries();
    }
    print_message("%d kills, %d of them bad; RESMON_KILL_SEED=%llu\n", done, bad,
                  (unsigned long long)first);
    assert_int_equal(bad, 0);
}

/* ---- reading while it is written --------------------------------------------------------- */

#define WRITERS 40
#define LOADS   20

static bool load_once(uint64_t rows, int64_t begun_ns, struct verdict *verdict)
{
    uint64_t done[PATHS];
    uint64_t samples = atomic_load(&account->samples_done);
    resmon_run *run = NULL;
    for (enum path path = 0; path < PATHS; path++) {
        done[path] = atomic_load(&account->done[path]);
    }
    if (resmon_run_load(record_path, &run) != RESMON_OK) {
        return object(verdict, "%s", resmon_last_error());
    }
    double elapsed_ns = (double)(now_ns() - begun_ns); /* after the load: it takes its time */
    bool is_good = check_spans(run, rows, verdict) && check_columns(run, verdict) &&
                   check_scopes(run, 2.0 * elapsed_ns, verdict) && check_event_bounds(run, verdict);
    if (is_good && info_of(run).samples < samples) {
        is_good = object(verdict, "%llu samples, %llu before",
                         (unsigned long long)info_of(run).samples, (unsigned long long)samples);
    }
    for (enum path path = 0; path < PATHS && is_good; path++) {
        int parent = paths[path].parent;
        int64_t top = parent < 0 ? -1 : find_scope(run, -1, paths[parent].name);
        top = path == LEAF ? find_scope(run, find_scope(run, -1, "outer"), "inner") : top;
        int64_t found = find_scope(run, top, paths[path].name);
        uint64_t calls = found >= 0 ? ended_of(scope_of(run, (size_t)found)).calls : 0;
        if (calls < done[path] || calls > atomic_load(&account->begun[path])) {
            is_good =
                object(verdict, "%s: %llu calls; %llu were done before, %llu begun after",
                       paths[path].name, (unsigned long long)calls, (unsigned long long)done[path],
                       (unsigned long long)atomic_load(&account->begun[path]));
        }
    }
    resmon_run_free(run);
    return is_good;
}

static int load_beside_a_writer(uint64_t rows)
{
    int status;
    int bad = 0;
    const struct plan plan = {.rows = rows};
    int64_t begun_ns = now_ns();
    (void)unlink(record_path);
    pid_t child = start_child(&plan);
    while (atomic_load(&account->is_ready) == 0 && waitpid(child, &status, WNOHANG) == 0) {
        pause_for(50);
    }
    for (int i = 0; i < LOADS; i++) {
        struct verdict verdict = {0};
        if (!load_once(rows, begun_ns, &verdict)) {
            print_error("load %d with rows %llu: %s\n", i, (unsigned long long)rows, verdict.why);
            bad++;
        }
    }
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    return bad;
}

/* Young writers: that is when rows are halved most often. */
TEST(reading_while_it_is_written)
{
    static const uint64_t rows[] = {8, 128, 256, 512};
    int bad = 0;
    for (size_t i = 0; i < WRITERS; i++) {
        bad += load_beside_a_writer(rows[i % (sizeof rows / sizeof rows[0])]);
    }
    print_message("%d loads, %d of them bad\n", WRITERS * LOADS, bad);
    assert_int_equal(bad, 0);
}

/* ---- other ways to die ------------------------------------------------------------------ */

static void die_inside_a_scope(void (*die)(void), const char *expected_state)
{
    int status;
    struct verdict verdict = {0};
    pid_t child = fork();
    if (child == 0) {
        start_monitor(8);
        uint64_t outer = resmon_scope_begin(&sites[OUTER]);
        uint64_t inner = resmon_scope_begin(&sites[INNER]);
        resmon_scope_end(inner);
        (void)resmon_monitor_tag(monitor, "tag 0");
        (void)resmon_monitor_sample_now(monitor);
        inner = resmon_scope_begin(&sites[INNER]); /* after the last sample */
        for (int64_t from = now_ns(); now_ns() < from + 5000000;) {
        }
        resmon_scope_end(inner);
        die();
        resmon_scope_end(outer);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(record_path, &run));
    assert_string_equal(info_of(run).state, expected_state);
    assert_true(info_of(run).samples >= 2);
    assert_int_equal(resmon_run_tag_count(run), 1);
    assert_int_equal(resmon_run_scope_count(run), 2);
    assert_int_equal(scope_of(run, 0).open, 1);
    assert_int_equal(scope_of(run, 0).calls, 1);
    assert_int_equal(scope_of(run, 1).calls, 2);
    assert_int_equal(scope_of(run, 1).open, 0);
    assert_true(scope_of(run, 0).open_ns >= scope_of(run, 1).wall_ns);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_string_equal(event_of(run, 0).name, "outer");
    assert_int_equal(event_of(run, 0).is_open, 1);
    assert_int_equal(event_of(run, 1).is_open, 0);
    if (!check_spans(run, 8, &verdict) || !check_columns(run, &verdict) ||
        !check_events(run, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    resmon_run_free(run);
}

static void die_by_abort(void)
{
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static void die_by_exit_now(void)
{
    _exit(3);
}

static void die_by_segv(void)
{
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

static void die_by_kill(void)
{
    (void)raise(SIGKILL);
}

TEST(abort_inside_a_scope)
{
    die_inside_a_scope(die_by_abort, "interrupted");
}

TEST(exit_now_inside_a_scope)
{
    die_inside_a_scope(die_by_exit_now, "interrupted");
}

TEST(fault_inside_a_scope)
{
    die_inside_a_scope(die_by_segv, "interrupted");
}

TEST(kill_inside_a_scope)
{
    die_inside_a_scope(die_by_kill, "interrupted");
}

static void *die_below(void *under)
{
    (void)resmon_scope_begin(&sites[SHORT]);
    (void)resmon_scope_begin_under(&sites[INNER], *(uint64_t *)under, 0);
    (void)resmon_scope_begin(&sites[LEAF]);
    die_by_kill();
    return NULL;
}

/* Another thread is inside of what this one gave it a handle for. */
TEST(kill_below_a_handle)
{
    int status;
    struct verdict verdict = {0};
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        resmon_task *task;
        start_monitor(8);
        (void)resmon_scope_begin(&sites[OUTER]);
        uint64_t here = resmon_scope_here();
        (void)resmon_task_begin(&sites[OTHER], here, 0, &task);
        (void)pthread_create(&thread, NULL, die_below, &here);
        (void)pthread_join(thread, NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(record_path, &run));
    assert_string_equal(info_of(run).state, "interrupted");
    assert_int_equal(resmon_run_scope_count(run), 5);
    int64_t outer = find_scope(run, -1, "outer");
    int64_t inner = find_scope(run, outer, "inner");
    int64_t leaf = find_scope(run, inner, "leaf");
    int64_t other = find_scope(run, outer, "other");
    int64_t around = find_scope(run, -1, "short");
    assert_true(outer >= 0 && inner >= 0 && leaf >= 0 && other >= 0 && around >= 0);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(scope_of(run, i).open, 1);
        assert_int_equal(scope_of(run, i).calls, 1);
        assert_true(scope_of(run, i).wall_ns == scope_of(run, i).open_ns);
    }
    assert_true(scope_of(run, (size_t)inner).concurrent_ns == scope_of(run, (size_t)inner).open_ns);
    if (!check_spans(run, 8, &verdict) || !check_columns(run, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    resmon_run_free(run);
}

/* ---- out of memory, in a control group of version 1 ------------------------------------- */

#define GROUP_LIMIT "33554432"

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_done;
}

static bool enter_group(const char *group)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
    return write_file(path, "0");
}

static void eat_memory(void)
{
    for (;;) {
        char *bytes =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED) {
            _exit(85);
        }
        for (size_t i = 0; i < 1 << 20; i += 4096) {
            bytes[i] = 1;
        }
    }
}

TEST(out_of_memory)
{
    needs_live("a memory control group of version 1");
    char group[80], limit[128], swappiness[128];
    int status;
#if defined(__SANITIZE_ADDRESS__)
    print_message("skipped: the shadow memory of AddressSanitizer does not fit in a small group\n");
    skip();
#endif
    (void)snprintf(group, sizeof group, "/sys/fs/cgroup/memory/resmon-kill-test-%ld",
                   (long)getpid());
    (void)snprintf(limit, sizeof limit, "%s/memory.limit_in_bytes", group);
    (void)snprintf(swappiness, sizeof swappiness, "%s/memory.swappiness", group);
    if (mkdir(group, 0755) != 0 || !write_file(limit, GROUP_LIMIT) ||
        !write_file(swappiness, "0")) {
        print_message("skipped: no memory control group of version 1 to be made here: %s\n",
                      strerror(errno));
        (void)rmdir(group);
        skip();
    }
    pid_t child = fork();
    if (child == 0) {
        if (!enter_group(group)) {
            _exit(86);
        }
        start_monitor(8);
        uint64_t outer = resmon_scope_begin(&sites[OUTER]);
        (void)resmon_monitor_sample_now(monitor);
        eat_memory();
        resmon_scope_end(outer);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)rmdir(group);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
        print_message("skipped: the kernel did not kill the child (status %d)\n", status);
        skip();
    }
    resmon_run *run = NULL;
    struct verdict verdict = {0};
    assert_ok(resmon_run_load(record_path, &run));
    assert_string_equal(info_of(run).state, "interrupted");
    assert_true(info_of(run).samples >= 2);
    assert_int_equal(scope_of(run, 0).open, 1);
    if (!check_spans(run, 8, &verdict) || !check_columns(run, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    resmon_run_free(run);
}

FIXTURE(set_up)
{
    account =
        mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (account == MAP_FAILED) {
        return -1;
    }
    (void)snprintf(record_path, sizeof record_path, "%s/run.rec", test_directory);
    return 0;
}

FIXTURE(tear_down)
{
    (void)unlink(record_path);
    return munmap(account, sizeof *account);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
