/* SPDX-License-Identifier: MIT */
/*
 * Performance counters of scopes: page faults against the kernel's own account of the thread,
 * threads that end, documents, forks, and programs that close descriptors that they do not know.
 */
#define _GNU_SOURCE
#include "report_in_full.h"
#include "runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/json.h"
#include "os/perf.h"
#include "pages.h"
#include "scope/meter.h"

#define PAGES 256U

static resmon_monitor *start_monitor(const char *counters, const char *record)
{
    return start_with(&(resmon_monitor_options){.scopes = RESMON_METER_PERF,
                                                .scope_counters = counters,
                                                .record = record,
                                                .max_meter_share = 1e9});
}

static double thread_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (double)(usage.ru_minflt + usage.ru_majflt);
}

static size_t find_scope(const resmon_run *run, const char *name, resmon_run_scope *ret_scope)
{
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        *ret_scope = (resmon_run_scope){.struct_size = sizeof *ret_scope};
        assert_ok(resmon_run_get_scope(run, i, ret_scope));
        if (strcmp(ret_scope->name, name) == 0) {
            return i;
        }
    }
    fail_msg("there is no scope %s", name);
    return 0;
}

static double count_of(const resmon_run *run, const char *scope_name, size_t counter)
{
    resmon_run_scope scope;
    (void)find_scope(run, scope_name, &scope);
    assert_true(counter < resmon_run_counter_count(run));
    return scope.counters != NULL ? scope.counters[counter].value : (double)NAN;
}

/* Where nothing at all can be counted, as below a filter of system calls. */
static bool can_count(const resmon_run *run)
{
    resmon_run_counter counter = {.struct_size = sizeof counter};
    assert_ok(resmon_run_get_counter(run, 0, &counter));
    if (counter.status != RESMON_OK) {
        print_message("skipped: %s\n", counter.reason);
    }
    return counter.status == RESMON_OK;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void touch_in_scope(void)
{
    RESMON_SCOPE("of a thread");
    touch_pages(PAGES);
}

/* Adds what the thread has had to `faults`. */
static void *touch_in_thread(void *faults)
{
    double before = thread_faults();
    touch_in_scope();
    *(double *)faults += thread_faults() - before;
    return NULL;
}

static void check_counts(const resmon_run *run, double inner, double outer, double of_threads)
{
    resmon_run_scope scope;
    (void)find_scope(run, "outer", &scope);
    double of_outer = count_of(run, "outer", 0);
    double of_inner = count_of(run, "inner", 0);
    assert_true(of_inner >= PAGES && of_inner <= of_outer);
    assert_true(of_outer >= 2.0 * PAGES && of_outer <= outer);
    assert_true(!rm_perf_sees_kernel() || of_outer >= inner);
    assert_true(count_of(run, "of a thread", 0) >= 2.0 * PAGES); /* of two threads */
    assert_true(count_of(run, "of a thread", 0) <= of_threads);
    assert_true(count_of(run, "outer", 1) > 0.0 && count_of(run, "outer", 1) < 100.0); /* s */
    assert_int_equal(scope.counter_calls, scope.calls);
    assert_int_equal(scope.counter_provenance, RESMON_PROVENANCE_MEASURED);
    assert_near(scope.counter_running, 1.0, 1e-9);
    (void)find_scope(run, "of a thread", &scope);
    assert_int_equal(scope.counter_calls, 2);
}

static void check_reloaded(const resmon_run *run)
{
    char *text = NULL;
    resmon_run *copy = NULL;
    if (rm_json_check() != RESMON_OK) {
        return;
    }
    assert_ok(resmon_run_document(run, &text));
    assert_ok(resmon_run_parse(text, strlen(text), &copy));
    assert_int_equal(resmon_run_counter_count(copy), resmon_run_counter_count(run));
    for (size_t c = 0; c < resmon_run_counter_count(run); c++) {
        resmon_run_counter a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};
        assert_ok(resmon_run_get_counter(run, c, &a));
        assert_ok(resmon_run_get_counter(copy, c, &b));
        assert_string_equal(a.name, b.name);
        assert_string_equal(a.unit, b.unit);
        assert_string_equal(a.reason, b.reason);
        assert_int_equal(a.status, b.status);
        for (size_t s = 0; s < resmon_run_scope_count(run); s++) {
            resmon_run_scope of_a = {.struct_size = sizeof of_a};
            resmon_run_scope of_b = {.struct_size = sizeof of_b};
            assert_ok(resmon_run_get_scope(run, s, &of_a));
            assert_ok(resmon_run_get_scope(copy, s, &of_b));
            assert_int_equal(of_a.counter_calls, of_b.counter_calls);
            assert_int_equal(of_a.counter_provenance, of_b.counter_provenance);
        }
    }
    resmon_text_free(text);
    resmon_run_free(copy);
}

TEST(page_faults_of_scopes_are_the_threads)
{
    char record[] = "counters-XXXXXX";
    int fd = mkstemp(record);
    assert_true(fd >= 0);
    close(fd);
    resmon_monitor *monitor = start_monitor("page-faults+task-clock", record);
    double outer = thread_faults(), inner, of_threads = 0.0;
    {
        RESMON_SCOPE("outer");
        inner = thread_faults();
        touch_pages(PAGES);
        {
            RESMON_SCOPE("inner");
            touch_pages(PAGES);
        }
        inner = thread_faults() - inner;
    }
    outer = thread_faults() - outer;
    for (int i = 0; i < 2; i++) {
        in_thread(touch_in_thread, &of_threads);
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_counter_count(run), 2);
    bool is_counted = can_count(run);
    if (is_counted) {
        resmon_run *recorded;
        char *text;
        check_counts(run, inner, outer, of_threads);
        check_reloaded(run);
        assert_ok(report_in_full(run, &text));
        assert_non_null(strstr(text, "Counters of scopes"));
        assert_non_null(strstr(text, "page-faults"));
        resmon_text_free(text);
        assert_ok(resmon_run_load(record, &recorded));
        check_counts(recorded, inner, outer, of_threads);
        resmon_run_free(recorded);
    }
    resmon_run_free(run);
    unlink(record);
    if (!is_counted) {
        skip();
    }
}

/* Hardware where it is, and else what stands for it: each says so. */
TEST(the_default_counters_are_there_or_say_why)
{
    static const char *const names[4][2] = {{"instructions", "page-faults"},
                                            {"cycles", "context-switches"},
                                            {"cache-misses", "task-clock"},
                                            {"branch-misses", "migrations"}};
    resmon_monitor *monitor = start_monitor(NULL, NULL);
    {
        RESMON_SCOPE("scope");
        touch_pages(PAGES);
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_counter_count(run), 4);
    for (size_t i = 0; i < 4; i++) {
        resmon_run_counter counter = {.struct_size = sizeof counter};
        assert_ok(resmon_run_get_counter(run, i, &counter));
        bool is_first = strcmp(counter.name, names[i][0]) == 0;
        double count = count_of(run, "scope", i);
        print_message("%s: %g; %s\n", counter.name, count, counter.reason);
        assert_true(is_first || strcmp(counter.name, names[i][1]) == 0);
        assert_true(counter.status == RESMON_OK || isnan(count));
        if (is_first) {
            assert_string_equal(counter.reason, "");
        } else {
            assert_true(counter.reason[0] != '\0');
        }
    }
    check_reloaded(run);
    resmon_run_free(run);
}

/* ---- a kernel that is made: groups of hardware events ------------------------------------ */

static uint64_t made_running; /* of the 1000 ns from one reading to the next */

/* A descriptor that gives a group of four at each reading, in which each has counted 1000 more. */
static int open_made(const struct perf_event_attr *attributes, int64_t tid)
{
    int ends[2];
    (void)attributes, (void)tid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (uint64_t k = 1; k <= 100; k++) {
        const struct rm_perf_group group = {
            4, 1000 * k, made_running * k, {1000 * k, 1000 * k, 1000 * k, 1000 * k}};
        const size_t bytes = offsetof(struct rm_perf_group, values) + 4 * sizeof(uint64_t);
        assert_int_equal(write(ends[1], &group, bytes), bytes);
    }
    (void)close(ends[1]);
    return ends[0];
}

/* One scope; its counts, or that there are none. */
static void check_made_group(uint64_t running, double expected)
{
    made_running = running;
    rm_perf_made_open = open_made;
    resmon_monitor *monitor = start_monitor(NULL, NULL);
    {
        RESMON_SCOPE("scope");
    }
    resmon_run *run = finish(monitor);
    rm_perf_made_open = NULL;
    assert_int_equal(resmon_run_counter_count(run), 4);
    for (size_t i = 0; i < 4; i++) {
        resmon_run_counter counter = {.struct_size = sizeof counter};
        assert_ok(resmon_run_get_counter(run, i, &counter));
        double count = count_of(run, "scope", i);
        assert_int_equal(counter.status, RESMON_OK);
        assert_true(isnan(expected) ? isnan(count) : count == expected);
    }
    check_reloaded(run);
    resmon_run_free(run);
}

TEST(groups_that_run_for_a_part_of_the_time)
{
    check_made_group(1000, 1000.0);
    check_made_group(500, 2000.0);
    check_made_group(0, (double)NAN); /* another user of the counters has them: not 0 */
}

TEST(without_the_meter_there_are_no_counters)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .scopes = RESMON_METER_WALL};
    resmon_monitor *monitor;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    {
        RESMON_SCOPE("scope");
    }
    resmon_run *run = finish(monitor);
    resmon_run_scope scope;
    (void)find_scope(run, "scope", &scope);
    assert_int_equal(resmon_run_counter_count(run), 0);
    assert_int_equal(scope.counter_calls, 0);
    assert_int_equal(scope.counter_provenance, RESMON_PROVENANCE_NONE);
    resmon_run_free(run);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static size_t perf_files(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char target[128];
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        count += strstr(target, "perf_event") != NULL ? 1 : 0;
    }
    closedir(directory);
    return count;
}

static void *scope_in_thread(void *unused)
{
    (void)unused;
    RESMON_SCOPE("of a thread");
    return NULL;
}

TEST(a_thread_that_ends_leaves_no_descriptor)
{
    resmon_monitor *monitor = start_monitor("page-faults", NULL);
    {
        RESMON_SCOPE("scope");
    }
    size_t before = perf_files();
    for (int i = 0; i < 20; i++) {
        in_thread(scope_in_thread, NULL);
    }
    assert_int_equal(perf_files(), before);
    resmon_run_free(finish(monitor));
}

TEST(a_child_has_none_of_the_parents)
{
    resmon_monitor *monitor = start_monitor("page-faults", NULL);
    static resmon_site site = {"scope", "", "", 0, 0};
    uint64_t scope = resmon_scope_begin(&site);
    size_t own = perf_files();
    touch_pages(PAGES);
    pid_t child = fork();
    if (child == 0) {
        /* Those of the parent's scopes are closed; a sanitizer's build has the sampler's, too. */
        _exit(perf_files() == 0 && own <= 1 ? 0 : (int)perf_files());
    }
    assert_exits(child, 0);
    assert_int_equal(perf_files(), own);
    resmon_scope_end(scope);
    resmon_run *run = finish(monitor);
    if (can_count(run)) {
        assert_true(count_of(run, "scope", 0) >= PAGES);
    }
    resmon_run_free(run);
}

/* Daemons close everything, and then open files of their own: nothing of those may be read. */
static void close_all_in_scope(void)
{
    int pipes[64][2];
    {
        RESMON_SCOPE("before");
    }
    RESMON_SCOPE("scope");
    for (int fd = 3; fd < 256; fd++) {
        close(fd);
    }
    for (int i = 0; i < 64; i++) {
        char bytes[200] = {0};
        if (pipe(pipes[i]) != 0 ||
            write(pipes[i][1], bytes, sizeof bytes) != (ssize_t)sizeof bytes) {
            _exit(3);
        }
    }
    usleep(1000); /* programs do not fill so many descriptors in less */
    {
        RESMON_SCOPE("after");
    }
    for (int i = 0; i < 64; i++) {
        char bytes[256];
        if (read(pipes[i][0], bytes, sizeof bytes) != 200) {
            _exit(4);
        }
    }
}

TEST(descriptors_that_are_closed_are_not_read)
{
    pid_t child = fork(); /* with descriptors of its own */
    if (child == 0) {
        resmon_monitor *monitor = start_monitor("page-faults+task-clock", NULL);
        close_all_in_scope();
        resmon_run *run = finish(monitor);
        resmon_run_scope scope;
        (void)find_scope(run, "after", &scope);
        _exit(scope.counter_calls == 0 && isnan(count_of(run, "after", 0)) ? 0 : 5);
    }
    assert_exits(child, 0);
}

/* A thread whose counters have got the numbers of those that were closed. */
static pthread_barrier_t met;

static void *count_beside(void *unused)
{
    {
        RESMON_SCOPE("beside");
    }
    (void)pthread_barrier_wait(&met);
    (void)pthread_barrier_wait(&met);
    RESMON_SCOPE("beside, later");
    touch_pages(PAGES);
    return unused;
}

static void lose_counters_to_a_thread(void)
{
    pthread_t thread;
    {
        RESMON_SCOPE("before");
    }
    for (int fd = 3; fd < 256; fd++) {
        (void)close(fd);
    }
    if (pthread_barrier_init(&met, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, count_beside, NULL) != 0) {
        _exit(3);
    }
    (void)pthread_barrier_wait(&met);
    usleep(1000); /* programs do not fill so many descriptors in less */
    {
        RESMON_SCOPE("after");
        touch_pages(PAGES);
    }
    (void)pthread_barrier_wait(&met);
    (void)pthread_join(thread, NULL);
}

TEST(counters_of_another_thread_are_not_read)
{
    pid_t child = fork(); /* with descriptors of its own */
    if (child == 0) {
        resmon_monitor *monitor = start_monitor("page-faults+task-clock", NULL);
        lose_counters_to_a_thread();
        resmon_run *run = finish(monitor);
        resmon_run_scope scope;
        bool has_counters = can_count(run);
        (void)find_scope(run, "after", &scope);
        bool is_right = scope.counter_calls == 0 &&
                        (!has_counters || count_of(run, "beside, later", 0) >= (double)PAGES);
        _exit(is_right ? 0 : 5);
    }
    assert_exits(child, 0);
}

TEST(few_descriptors_are_the_programs)
{
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit few = {64, 64};
        resmon_monitor *monitor;
        if (setrlimit(RLIMIT_NOFILE, &few) != 0) {
            _exit(3);
        }
        monitor = start_monitor("page-faults", NULL);
        touch_in_scope();
        resmon_run *run = finish(monitor);
        resmon_run_counter counter = {.struct_size = sizeof counter};
        assert_ok(resmon_run_get_counter(run, 0, &counter));
        bool is_told = counter.status != RESMON_OK && counter.reason[0] != '\0';
        _exit(is_told && isnan(count_of(run, "of a thread", 0)) ? 0 : 5);
    }
    assert_exits(child, 0);
}

/* As in containers: perf_event_open fails with EPERM for everything. */
static bool forbid_perf(void)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof instructions / sizeof instructions[0], instructions};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void check_forbidden(void)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .counters = "default+flops+r0451",
                                            .scope_counters = "default"};
    resmon_monitor *monitor;
    size_t refused = 0;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    touch_in_scope();
    resmon_run *run = finish(monitor);
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        assert_ok(resmon_run_get_source(run, i, &source));
        bool is_ours = strcmp(source.name, "perf_software") == 0 ||
                       strcmp(source.name, "perf_hardware") == 0 ||
                       strcmp(source.name, "perf_events") == 0;
        if (is_ours && source.status == RESMON_EACCES &&
            strstr(source.reason, "a filter of system calls") != NULL) {
            refused++;
        }
    }
    assert_int_equal(refused, 3);
    for (size_t i = 0; i < 4; i++) {
        resmon_run_counter counter = {.struct_size = sizeof counter};
        assert_ok(resmon_run_get_counter(run, i, &counter));
        assert_int_equal(counter.status, RESMON_EACCES);
        assert_true(isnan(count_of(run, "of a thread", i)));
    }
    resmon_run_free(run);
}

TEST(below_a_filter_of_system_calls_all_say_why)
{
    pid_t child = fork();
    if (child == 0) {
        if (!forbid_perf()) {
            _exit(77);
        }
        check_forbidden();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: no filter of system calls can be set here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- the page -------------------------------------------------------------------------------- */

static uint64_t made_pmc, made_tsc;
static struct perf_event_mmap_page *changing;

static uint64_t made_rdpmc(uint32_t index)
{
    assert_int_equal(index, 2);
    if (changing != NULL) { /* the kernel writes the page meanwhile, once */
        changing->lock += 2;
        changing->offset = 5000;
        changing = NULL;
    }
    return made_pmc;
}

static uint64_t made_rdtsc(void)
{
    return made_tsc;
}

TEST(the_shared_page_is_read_as_the_kernel_says)
{
    const struct rm_perf_processor processor = {made_rdpmc, made_rdtsc};
    const struct rm_perf_processor without_clock = {made_rdpmc, NULL};
    struct perf_event_mmap_page page = {.offset = 1000,
                                        .index = 3,
                                        .cap_user_rdpmc = 1,
                                        .pmc_width = 48,
                                        .time_enabled = 700,
                                        .time_running = 700};
    struct rm_perf_count count = {0};
    made_pmc = 234;
    assert_true(rm_perf_page_read_by(&page, &processor, &count));
    assert_int_equal(count.value, 1234);
    assert_int_equal(count.enabled, 700);
    made_pmc = (UINT64_C(1) << 48) - 10; /* negative: it counts up to 0 */
    assert_true(rm_perf_page_read_by(&page, &processor, &count));
    assert_int_equal(count.value, 990);
    made_pmc = 1;
    changing = &page;
    assert_true(rm_perf_page_read_by(&page, &processor, &count));
    assert_int_equal(count.value, 5001);
    page.time_running = 300; /* shared: time since the page was written counts */
    assert_false(rm_perf_page_read_by(&page, &processor, &count));
    page.cap_user_time = 1;
    assert_true(rm_perf_page_read_by(&page, &without_clock, &count)); /* of another, as is said */
    assert_int_equal(count.value, 5001);
    page.time_mult = 512;
    page.time_shift = 10;
    page.time_offset = 5;
    made_tsc = 4096 + 100;
    assert_true(rm_perf_page_read_by(&page, &processor, &count));
    assert_int_equal(count.enabled, 700 + 5 + (4 * 512) + 50);
    assert_int_equal(count.running, 300 + 5 + (4 * 512) + 50);
    page.lock = 7; /* it is being written for ever */
    assert_false(rm_perf_page_read_by(&page, &processor, &count));
    page.lock = 8;
    page.index = 0; /* not on the processor */
    assert_false(rm_perf_page_read_by(&page, &processor, &count));
    page.index = 3;
    page.cap_user_rdpmc = 0;
    assert_false(rm_perf_page_read_by(&page, &processor, &count));
}

/* By RDPMC nothing but the page tells that it was counted all the time. */
static void check_time(struct perf_event_mmap_page *page, uint64_t enabled, uint64_t running)
{
    const struct rm_perf_processor processor = {made_rdpmc, made_rdtsc};
    struct rm_perf_group ends[2];
    for (size_t i = 0; i < 2; i++) {
        struct rm_perf_count count;
        made_tsc = 1000 * i;
        assert_true(rm_perf_page_read_by(page, &processor, &count));
        ends[i] = (struct rm_perf_group){.enabled = count.enabled, .running = count.running};
    }
    struct rm_counted_call call = {.enabled = 1};
    rm_thread_counters_time(&ends[0], &ends[1], &call);
    assert_int_equal(call.enabled, enabled);
    assert_int_equal(call.running, running);
}

TEST(a_counter_that_is_never_descheduled_ran_all_the_time)
{
    struct perf_event_mmap_page page = {.index = 3,
                                        .cap_user_rdpmc = 1,
                                        .cap_user_time = 1,
                                        .pmc_width = 48,
                                        .time_enabled = 700,
                                        .time_running = 700,
                                        .time_mult = 1,
                                        .time_shift = 0};
    check_time(&page, 1000, 1000);
    page.time_running = 300; /* it waited earlier, and runs now */
    check_time(&page, 1000, 1000);
    page.cap_user_time = 0; /* the page has no clock, and was not written meanwhile */
    page.time_running = 700;
    check_time(&page, 0, 0);
    /* A reading by the kernel is ahead of one by the page. */
    const struct rm_perf_group kernel = {.enabled = 900, .running = 900};
    const struct rm_perf_group lagging = {.enabled = 700, .running = 700};
    struct rm_counted_call call = {.enabled = 1};
    rm_thread_counters_time(&kernel, &lagging, &call);
    assert_true(call.enabled == 0 && call.running == 0);
    rm_thread_counters_time(&lagging, &kernel, &call);
    assert_true(call.enabled == 200 && call.running == 200);
}
