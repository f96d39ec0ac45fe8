/* SPDX-License-Identifier: MIT */
/*
 * The whole life of a monitor, with the k-th allocation, open, read, write, thread or mapping
 * failing, for k = 0, 1, 2, ... until a life passes without the failure.  Each life has a process
 * of its own, so that what the library does only once fails too.  Whatever fails says so, can be
 * tried again, leaves nothing behind, and spoils nothing that was there before.
 */
#define _GNU_SOURCE /* dirent types */
#include "report_in_full.h"
#include "test.h"

#include "format/json.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_disk_wait.h"
#include "run_checks.h"

#include "base/fault.h"
#include "base/thread.h"

#define MOST_K      1000000 /* against lives without end: the faults grow with the machine */
#define MOST_BAD    50      /* what is wrong is known then */
#define THREADS     3
#define INSTANCES   4
#define OLD_CONTENT "what was there before\n"

static char json_path[128];
static char trace_path[128];
static bool has_documents; /* the library was built with JSON */
static char record_path[128];

/* The number of faults is to be the code's, and not the host's: a life is of this process and its
 * group, or of a machine that is a tree of files, below which there are no scopes. */
static bool is_of_host;
static char host_root[512];

static enum rm_fault_kind kind;
static int complaints;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list args;
    complaints++;
    (void)fprintf(stderr, "    ");
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
}

/* ---- what is left behind ---------------------------------------------------------------- */

/* Descriptors that the library opens once for the process and keeps. */
static bool is_kept_for_ever(const char *target)
{
    static const char *const names[] = {"/clear_refs", "/status", "/statm", "/io"};
    size_t length = strlen(target);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t wide = strlen(names[i]);
        if (length > wide && strcmp(target + length - wide, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int count_descriptors(bool is_shown)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char target[256];
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (length < 0 || atoi(entry->d_name) == dirfd(dir)) {
            continue;
        }
        target[length] = '\0';
        if (!is_kept_for_ever(target)) {
            count++;
            if (is_shown) {
                complain("open: %s -> %s", entry->d_name, target);
            }
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

static bool has_content(const char *path, const char *content)
{
    char bytes[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, bytes, sizeof bytes - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    return length == (ssize_t)strlen(content) && strcmp(bytes, content) == 0;
}

static void put_old(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, OLD_CONTENT, strlen(OLD_CONTENT)) != (ssize_t)strlen(OLD_CONTENT)) {
        complain("cannot write %s", path);
    }
    (void)close(fd);
}

static void look_for_temporaries(void)
{
    DIR *dir = opendir(test_directory);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strstr(entry->d_name, ".tmp") != NULL) {
            complain("left behind: %s", entry->d_name);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* ---- one life --------------------------------------------------------------------------- */

struct sink_account {
    atomic_int starts, rows, tags, stops, closes;
};

static resmon_status on_start(void *context, const resmon_run *run)
{
    (void)run;
    atomic_fetch_add(&((struct sink_account *)context)->starts, 1);
    return RESMON_OK;
}

static resmon_status on_rows(void *context, const resmon_rows *rows)
{
    atomic_fetch_add(&((struct sink_account *)context)->rows, (int)rows->row_count);
    return RESMON_OK;
}

static resmon_status on_tag(void *context, int64_t t_ns, const char *label)
{
    (void)t_ns, (void)label;
    atomic_fetch_add(&((struct sink_account *)context)->tags, 1);
    return RESMON_OK;
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    (void)run;
    atomic_fetch_add(&((struct sink_account *)context)->stops, 1);
    return RESMON_OK;
}

static void on_close(void *context)
{
    atomic_fetch_add(&((struct sink_account *)context)->closes, 1);
}

/* A failure has a code of ours and a sentence. */
static bool is_clear(resmon_status status, const char *what)
{
    const char *text = resmon_last_error();
    if (status == RESMON_OK) {
        return true;
    }
    if (strcmp(resmon_status_name(status), "RESMON_UNKNOWN") == 0) {
        complain("%s: status %d", what, (int)status);
    }
    if (text[0] == '\0' || strstr(text, "Success") != NULL) {
        complain("%s: %s, and the text is '%s'", what, resmon_status_name(status), text);
    }
    if (!rm_fault_fired(kind)) {
        complain("%s: %s without a fault: %s", what, resmon_status_name(status), text);
    }
    return false;
}

/* Only one call fails: what failed must work at the second try. */
#define TWICE(call)             \
    (is_clear((call), #call) || \
     (is_clear((call), "again: " #call) ? true : (complain("%s does not recover", #call), false)))

static void *run_scopes(void *unused)
{
    (void)unused;
    for (int i = 0; i < INSTANCES; i++) {
        RESMON_SCOPE("outer");
        RESMON_SCOPE("inner");
    }
    RESMON_TIMED("timed", (void)0);
    RESMON_PEAK_RSS("peak", (void)0);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run_scopes, NULL) != 0) {
            complain("no thread");
            return;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* Every instance is in the tree or among the dropped. */
static void check_instances(const resmon_run *run)
{
    uint64_t counted = info_of(run).dropped_scopes;
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = scope_of(run, i);
        if (strcmp(scope.name, "outer") == 0 || strcmp(scope.name, "inner") == 0) {
            counted += scope.calls;
        }
    }
    if (!is_of_host && counted < (uint64_t)THREADS * INSTANCES * 2) {
        complain("%llu of %d scope instances counted or dropped", (unsigned long long)counted,
                 THREADS * INSTANCES * 2);
    }
}

static void check_sources(const resmon_run *run)
{
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        (void)resmon_run_get_source(run, i, &source);
        if (source.status != RESMON_OK && source.reason[0] == '\0') {
            complain("source %s: %s, and no reason", source.name,
                     resmon_status_name(source.status));
        }
    }
}

static void check_finished_run(const resmon_run *run, const char *state)
{
    struct verdict verdict = {0};
    if (strcmp(info_of(run).state, state) != 0) {
        complain("the run is %s, not %s", info_of(run).state, state);
    }
    if (!check_spans(run, 4, &verdict) || !check_columns(run, &verdict) ||
        !check_scopes(run, 1e12, &verdict) || !check_events(run, &verdict)) {
        complain("%s", verdict.why);
    }
    check_sources(run);
    check_instances(run);
}

static void check_report(const resmon_run *run)
{
    char *text = NULL;
    if (TWICE(report_in_full(run, &text))) {
        if (text == NULL) {
            complain("a report without a text");
        }
        resmon_text_free(text);
    }
}

/* Of another program: the statistics are computed when it is loaded. */
static void load_foreign(void)
{
    static const char text[] =
        "{\"format\":\"resmon-run\",\"version\":1,\"columns\":[{\"metric\":\"a\"}],"
        "\"series\":{\"t_last_ns\":[0,1000],\"columns\":[{\"last\":[3,5]}]}}";
    resmon_run *run = NULL;
    if (TWICE(resmon_run_parse(text, strlen(text), &run))) {
        resmon_column column = {.struct_size = sizeof column};
        (void)resmon_run_get_column(run, 0, &column);
        if (column.n != 2 || column.max != 5.0) {
            complain("a document of another program without its statistics");
        }
        resmon_run_free(run);
    }
}

static void save_and_load(const resmon_run *run)
{
    resmon_run *loaded = NULL;
    if (!has_documents) {
        return;
    }
    load_foreign();
    put_old(json_path);
    resmon_status status = resmon_run_save(run, json_path);
    if (!is_clear(status, "save") && !has_content(json_path, OLD_CONTENT)) {
        complain("the failed save has spoilt the document before");
    }
    look_for_temporaries();
    if (status != RESMON_OK && !TWICE(resmon_run_save(run, json_path))) {
        return;
    }
    if (TWICE(resmon_run_load(json_path, &loaded))) {
        check_report(loaded);
        if (info_of(loaded).samples != info_of(run).samples ||
            resmon_run_scope_count(loaded) != resmon_run_scope_count(run)) {
            complain("the document is not the run");
        }
        resmon_run_free(loaded);
    }
}

static void save_trace(const resmon_run *run)
{
    put_old(trace_path);
    resmon_status status = resmon_trace_save(&run, 1, trace_path);
    if (!is_clear(status, "trace") && !has_content(trace_path, OLD_CONTENT)) {
        complain("the failed trace has spoilt the one before");
    }
    look_for_temporaries();
}

static void use(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    run_threads();
    if (resmon_monitor_tag(monitor, "tag 0") != RESMON_OK) {
        complain("no tag");
    }
    (void)TWICE(resmon_monitor_set_label(monitor, "label"));
    (void)TWICE(resmon_monitor_sample_now(monitor));
    (void)TWICE(resmon_monitor_sample_now(monitor));
    if (TWICE(resmon_monitor_snapshot(monitor, &run))) {
        check_finished_run(run, "running");
        resmon_run_free(run);
    }
    if (TWICE(resmon_monitor_scopes(monitor, &run))) {
        resmon_run_free(run);
    }
    if (TWICE(resmon_monitor_summary(monitor, &run))) {
        resmon_run_free(run);
    }
}

static void check_after_stop(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    if (TWICE(resmon_monitor_snapshot(monitor, &run))) {
        check_finished_run(run, "stopped");
        save_and_load(run);
        save_trace(run);
        resmon_run_free(run);
    }
    put_old(json_path);
    if (has_documents) {
        (void)TWICE(resmon_monitor_save(monitor, json_path));
    }
    if (TWICE(resmon_run_load(record_path, &run))) {
        check_finished_run(run, "stopped");
        resmon_run_free(run);
    }
}

static void check_unstarted(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    if (resmon_monitor_tag(monitor, "x") != RESMON_ESTATE ||
        resmon_monitor_sample_now(monitor) != RESMON_ESTATE ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_ESTATE ||
        resmon_monitor_start(monitor) != RESMON_ESTATE ||
        resmon_monitor_stop(monitor) != RESMON_ESTATE) {
        complain("a monitor whose start failed takes part");
    }
    if (!has_content(record_path, OLD_CONTENT)) {
        complain("the failed start has spoilt the recording before");
    }
}

static void live(struct sink_account *account)
{
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 20,
        .domains = is_of_host ? RESMON_DOMAIN_ALL
                              : RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE | RESMON_DOMAIN_CGROUP |
                                    RESMON_DOMAIN_CPU | RESMON_DOMAIN_ENERGY,
        .rows = 4,
        .max_overhead = 1.0,
        .flags = RESMON_FLAG_SMAPS,
        .scopes = RESMON_METER_ALL,
        .name = "faults",
        .fs_root = is_of_host ? host_root : "/",
        .record = record_path,
        .tags = 4,
        .scope_paths = 64,
        .scope_threads = 8,
        .scope_depth = 8,
        .events = 16,
    };
    const resmon_sink_ops ops = {
        .struct_size = sizeof ops,
        .name = "account",
        .start = on_start,
        .rows = on_rows,
        .tag = on_tag,
        .stop = on_stop,
        .close = on_close,
    };
    resmon_monitor *monitor = NULL;
    put_old(record_path);
    if (!TWICE(resmon_monitor_new(&options, &monitor)) ||
        !TWICE(resmon_monitor_add_sink(monitor, &ops, account))) {
        return;
    }
    if (!is_clear(resmon_monitor_start(monitor), "start")) {
        check_unstarted(monitor);
        resmon_monitor_free(monitor);
        return;
    }
    use(monitor);
    (void)TWICE(resmon_monitor_stop(monitor));
    check_after_stop(monitor);
    resmon_monitor_free(monitor);
    if (atomic_load(&account->starts) != 1 || atomic_load(&account->rows) < 4 ||
        atomic_load(&account->tags) != 1) {
        complain("the sink had %d starts, %d rows, %d tags", atomic_load(&account->starts),
                 atomic_load(&account->rows), atomic_load(&account->tags));
    }
}

/* What dead programs of other tests have left is folded in on a thread that nobody waits for. */
static void wait_for_threads(void)
{
    uint64_t changes;
    while (rm_thread_count(&changes) > 0) {
        (void)usleep(1000);
    }
}

static void name_places(void)
{
    const char *fixtures = getenv("RESMON_FIXTURES");
    (void)snprintf(host_root, sizeof host_root, "%s/intel-2s/t0", fixtures != NULL ? fixtures : "");
    (void)snprintf(json_path, sizeof json_path, "%s/run.json", test_directory);
    (void)snprintf(trace_path, sizeof trace_path, "%s/trace.json", test_directory);
    (void)snprintf(record_path, sizeof record_path, "%s/run.rec", test_directory);
}

/* In a child.  Exit status: 0 fine, 1 complaints, 2 fine and the fault did not happen; under
 * AddressSanitizer also what LeakSanitizer says. */
static void live_with_fault(int64_t k)
{
    struct sink_account account = {0};
    int descriptors = count_descriptors(false);
    int64_t allocations = rm_fault_live(0);
    rm_fault_arm(kind, k);
    live(&account);
    bool has_fired = rm_fault_fired(kind);
    rm_fault_arm(kind, -1);
    wait_for_threads();
    if (rm_fault_live(0) != allocations) {
        complain("%lld allocations are left", (long long)(rm_fault_live(0) - allocations));
    }
    if (count_descriptors(false) != descriptors) {
        (void)count_descriptors(true);
    }
    if (atomic_load(&account.closes) != 1 && atomic_load(&account.starts) == 1) {
        complain("the sink was closed %d times", atomic_load(&account.closes));
    }
    look_for_temporaries();
    (void)fflush(NULL);
    exit(complaints > 0 ? 1 : has_fired ? 0 : 2);
}

static int run_life(int64_t k)
{
    int status;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(60); /* a hang is a failure too */
        live_with_fault(k);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void fail_each(enum rm_fault_kind which, const char *name)
{
    int bad = 0;
    int64_t k = 0;
    int result = 0;
    kind = which;
    for (; k < MOST_K && result != 2 && bad < MOST_BAD; k++) {
        result = run_life(k);
        if (result != 0 && result != 2) {
            print_error("%s fault %lld: exit status %d\n", name, (long long)k, result);
            bad++;
        }
    }
    print_message("%s: %lld faults, %d of them badly taken\n", name, (long long)k - 1, bad);
    assert_int_equal(result, 2);
    assert_int_equal(bad, 0);
}

#define OF_BOTH_MACHINES(name, kind) \
    TEST(name##_own)                 \
    {                                \
        is_of_host = false;          \
        fail_each(kind, #name);      \
    }                                \
    TEST(name##_host)                \
    {                                \
        is_of_host = true;           \
        fail_each(kind, #name);      \
    }

OF_BOTH_MACHINES(threads, RM_FAULT_THREAD)
OF_BOTH_MACHINES(mappings, RM_FAULT_MAP)
OF_BOTH_MACHINES(writes, RM_FAULT_WRITE)
OF_BOTH_MACHINES(allocations, RM_FAULT_ALLOC)
OF_BOTH_MACHINES(opens, RM_FAULT_OPEN)
OF_BOTH_MACHINES(reads, RM_FAULT_READ)

FIXTURE(set_up)
{
    has_documents = rm_json_check() == RESMON_OK;
    if (!has_documents) {
        printf("skipped here: saving of run documents: %s\n", resmon_last_error());
    }
    name_places();
    return setenv("RESMON_ENERGY_ROOT", host_root, 1);
}

FIXTURE(tear_down)
{
    (void)unlink(json_path);
    (void)unlink(trace_path);
    (void)unlink(record_path);
    return is_left_empty(state);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
