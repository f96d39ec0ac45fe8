/* SPDX-License-Identifier: MIT */
/*
 * What the kernel had accounted to a process when it ended: the CPU time of its tree is that, also
 * of children that no sample saw; and it stands in the run, its document and its recording.
 */
#define _GNU_SOURCE /* the system call waitid */
#include "runs.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define CHILDREN 20
#define CHILD_NS (5 * RM_NS_PER_MS)

static void burn(int64_t cpu_ns)
{
    int64_t until = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns;
    while (rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < until) {
    }
}

/* Children that are gone before anybody looks. */
static void burn_in_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            burn(CHILD_NS);
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
    }
}

/* It stays a zombie. */
static resmon_run_usage wait_for(pid_t child)
{
    siginfo_t info;
    struct rusage usage;
    while (syscall(SYS_waitid, P_PID, child, &info, WEXITED | WNOWAIT, &usage) != 0) {
        assert_int_equal(errno, EINTR);
    }
    return (resmon_run_usage){
        .struct_size = sizeof(resmon_run_usage),
        .user_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6,
        .system_s = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6,
        .rss_peak_bytes = (double)usage.ru_maxrss * 1024.0,
        .minor_faults = (double)usage.ru_minflt,
        .major_faults = NAN,
        .voluntary_switches = NAN,
        .involuntary_switches = NAN,
        .read_bytes = NAN,
        .write_bytes = NAN,
    };
}

static void check_usage(const resmon_run *run, const resmon_run_usage *said)
{
    resmon_run_usage usage = {.struct_size = sizeof usage};
    resmon_headline headline = {.struct_size = sizeof headline};
    assert_ok(resmon_run_get_usage(run, &usage));
    assert_true(usage.user_s == said->user_s && usage.system_s == said->system_s);
    assert_true(usage.minor_faults == said->minor_faults && isnan(usage.major_faults));
    assert_true(isnan(usage.wall_s)); /* it was not said */
    assert_ok(resmon_run_get_headline(run, &headline));
    assert_true(headline.cpu_user_s == said->user_s);
    assert_true(headline.rss_peak_bytes == said->rss_peak_bytes);
    assert_int_equal(headline.rss_peak_provenance, RESMON_PROVENANCE_MEASURED);
    /* The run begins a little after the child: less than the children take. */
    double said_s = said->user_s + said->system_s;
    assert_true(headline.cpu_s <= said_s + 1e-3);
    assert_true(headline.cpu_s >= 0.9e-9 * CHILDREN * CHILD_NS);
}

/* Nothing is sampled after what the process had used was said: the run ends with the process. */
static resmon_run *finish_later(resmon_monitor *monitor)
{
    resmon_run *before = NULL;
    assert_int_equal(resmon_monitor_sample_now(monitor), RESMON_ESTATE);
    assert_ok(resmon_monitor_snapshot(monitor, &before));
    resmon_run *run = finish(monitor);
    int64_t last_ns = resmon_run_row_last_ns(before)[resmon_run_row_count(before) - 1];
    assert_int_equal(info_of(run).samples, info_of(before).samples);
    assert_int_equal(info_of(run).duration_ns, last_ns);
    resmon_run_free(before);
    return run;
}

static resmon_monitor *observe(pid_t child, const char *record)
{
    const resmon_monitor_options options = {
        .pid = child, .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE, .record = record};
    return start_with(&options);
}

TEST(the_tree_has_used_what_the_kernel_says)
{
    int go[2];
    char byte = 0;
    char path[] = "usage-XXXXXX";
    assert_int_equal(pipe(go), 0);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(read(go[0], &byte, 1) == 1 ? (burn_in_children(), 0) : 1);
    }
    resmon_monitor *monitor = observe(child, path);
    assert_int_equal(write(go[1], "g", 1), 1);
    resmon_run_usage said = wait_for(child);
    assert_true(said.user_s + said.system_s > 0.9e-9 * CHILDREN * CHILD_NS);
    assert_ok(resmon_monitor_set_usage(monitor, &said));
    assert_int_equal(resmon_monitor_set_usage(monitor, &said), RESMON_EBUSY);
    resmon_run *run = finish_later(monitor);
    check_usage(run, &said);
    char *text = NULL;
    assert_ok(resmon_run_document(run, &text));
    resmon_run_free(run);
#if defined(RM_HAVE_CJSON)
    run = parsed(text);
    check_usage(run, &said);
    resmon_run_free(run);
#else
    print_message("skipped: the document, as this build cannot read JSON\n");
#endif
    resmon_text_free(text);
    assert_ok(resmon_run_load(path, &run));
    check_usage(run, &said);
    resmon_run_free(run);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(go[0]);
    (void)close(go[1]);
}

/* What the process had used before its exec is in the first sample, and in no figure. */
TEST(a_run_that_its_parent_timed)
{
    const resmon_run_usage said = {.struct_size = sizeof said,
                                   .user_s = 1e-3,
                                   .system_s = 2e-4,
                                   .rss_peak_bytes = 4096.0,
                                   .minor_faults = 50.0,
                                   .wall_s = 1.5e-3};
    int go[2];
    char byte = 0;
    assert_int_equal(pipe(go), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        burn(CHILD_NS);
        _exit(read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    const uint64_t domains[] = {RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE, RESMON_DOMAIN_PROCESS};
    for (size_t i = 0; i < RM_ARRAY_LEN(domains); i++) {
        const resmon_monitor_options options = {.pid = child, .domains = domains[i]};
        resmon_headline headline = {.struct_size = sizeof headline};
        resmon_monitor *monitor = start_with(&options);
        assert_ok(resmon_monitor_set_usage(monitor, &said));
        resmon_run *run = finish(monitor);
        assert_ok(resmon_run_get_headline(run, &headline));
        assert_true(headline.wall_s == said.wall_s);
        assert_true(fabs(headline.cpu_s - 1.2e-3) < 1e-9);
        assert_true(fabs(headline.cpu_user_s - said.user_s) < 1e-9);
        resmon_run_free(run);
    }
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(go[0]);
    (void)close(go[1]);
}

static double last_of(const resmon_run *run, const char *metric)
{
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        resmon_column column = {.struct_size = sizeof column};
        assert_ok(resmon_run_get_column(run, c, &column));
        if (strcmp(column.metric, metric) == 0) {
            return column.last;
        }
    }
    return NAN;
}

/* Its parent let it go before the monitor began. */
TEST(what_was_before_the_monitor_is_of_the_run)
{
    int ready[2], go[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(go), 0);
    const int64_t begin_ns = rm_clock_monotonic_ns();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        burn(4 * CHILD_NS);
        _exit(write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    const resmon_run_usage before = {.struct_size = sizeof before, .user_s = 1e-3};
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .pid = child,
                                            .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE};
    resmon_monitor *monitor = NULL;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_int_equal(resmon_monitor_set_begin(monitor, begin_ns + RM_NS_PER_S * 3600, &before),
                     RESMON_EINVAL);
    assert_int_equal(resmon_monitor_set_begin(monitor, 0, &before), RESMON_EINVAL);
    assert_int_equal(resmon_monitor_set_begin(monitor, begin_ns, NULL), RESMON_EINVAL);
    assert_ok(resmon_monitor_set_begin(monitor, begin_ns, &before));
    assert_ok(resmon_monitor_start(monitor));
    assert_int_equal(resmon_monitor_set_begin(monitor, begin_ns, &before), RESMON_ESTATE);
    resmon_run *run = finish(monitor);
    /* A first sample with what was said, and two of ours. */
    assert_int_equal(info_of(run).samples, 3);
    assert_int_equal(resmon_run_row_first_ns(run)[0], 0);
    assert_true(info_of(run).duration_ns >= 4 * CHILD_NS);
    assert_true(last_of(run, "tree.cpu.time") >= 4e-9 * CHILD_NS - 1e-3);
    assert_true(last_of(run, "proc.cpu.time") >= 4e-9 * CHILD_NS - 1e-3);
    resmon_run_free(run);
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 2; i++) {
        (void)close(ready[i]);
        (void)close(go[i]);
    }
}

TEST(who_observes_itself_was_there_from_its_beginning)
{
    const resmon_run_usage before = {.struct_size = sizeof before, .user_s = 1e-3};
    resmon_monitor *monitor = NULL;
    assert_ok(resmon_monitor_new(NULL, &monitor));
    assert_int_equal(resmon_monitor_set_begin(monitor, 1, &before), RESMON_ENOTSUP);
    resmon_monitor_free(monitor);
}

TEST(usages_make_a_benchmark)
{
    const resmon_run_usage said = {.struct_size = sizeof said,
                                   .user_s = 0.25,
                                   .system_s = 0.5,
                                   .rss_peak_bytes = NAN,
                                   .minor_faults = 50.0,
                                   .wall_s = 1.0};
    const resmon_run_end end = {.struct_size = sizeof end, .exit_status = 7};
    resmon_bench *bench = NULL;
    char *text = NULL;
    assert_ok(resmon_bench_new(&bench));
    assert_ok(resmon_bench_add_usage(bench, "true", &said, NULL));
    assert_ok(resmon_bench_add_usage(bench, "true", &said, &end));
    assert_int_equal(resmon_bench_add_usage(NULL, "true", &said, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_bench_add_usage(bench, NULL, &said, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_bench_add_usage(bench, "true", NULL, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_bench_run_count(bench, 0), 2);
    assert_ok(resmon_bench_text(bench, "go", &text));
    assert_non_null(strstr(text, "BenchmarkRun/command=true 1 1 sec/op 0.75 cpu-sec/op\n"));
    assert_null(strstr(text, "peak"));
    resmon_text_free(text);
#if defined(RM_HAVE_CJSON)
    assert_ok(resmon_bench_text(bench, "json", &text));
    assert_non_null(strstr(text, "\"exit_codes\":[0,7]"));
    resmon_text_free(text);
#endif
    resmon_bench_free(bench);
}

TEST(bad_usages_are_refused)
{
    const resmon_monitor_options options = {.name = "usage"};
    resmon_monitor *monitor = start_with(&options);
    resmon_run_usage usage = {.struct_size = sizeof usage, .user_s = NAN, .system_s = 1.0};
    assert_int_equal(resmon_monitor_set_usage(NULL, &usage), RESMON_EINVAL);
    assert_int_equal(resmon_monitor_set_usage(monitor, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_monitor_set_usage(monitor, &usage), RESMON_EINVAL);
    usage.user_s = -1.0;
    assert_int_equal(resmon_monitor_set_usage(monitor, &usage), RESMON_EINVAL);
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_get_usage(run, &usage), RESMON_ENOENT);
    assert_int_equal(resmon_run_get_usage(NULL, &usage), RESMON_EINVAL);
    resmon_run_free(run);
}
