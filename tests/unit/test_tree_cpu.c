/* SPDX-License-Identifier: MIT */
/*
 * tree_cpu, and the meter pcpu of scopes: CPU time of the process, its threads and its descendants,
 * against getrusage() and against the clocks of those who burn it.
 */
#define _GNU_SOURCE
#include "runs.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/own_usage.h"
#include "run/run.h"

#define MS INT64_C(1000000)

static int64_t clock_of(clockid_t clock)
{
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void burn(clockid_t clock, int64_t ns)
{
    for (int64_t end = clock_of(clock) + ns; clock_of(clock) < end;) {
    }
}

/* ---- processes that burn and tell ----------------------------------------------------------- */

struct child {
    pid_t pid;
    int orders, replies; /* pipes: a byte for each */
};

/* Burns so much at each byte, and says when that is done; ends without one. */
static struct child start_child(int64_t ns)
{
    int down[2], up[2];
    char byte = 0;
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(down[1]);
        while (read(down[0], &byte, 1) == 1) {
            burn(CLOCK_PROCESS_CPUTIME_ID, ns);
            if (write(up[1], &byte, 1) != 1) {
                break;
            }
        }
        _exit(0);
    }
    (void)close(down[0]);
    (void)close(up[1]);
    return (struct child){pid, down[1], up[0]};
}

static void let_burn(const struct child *child)
{
    char byte = 0;
    assert_int_equal(write(child->orders, &byte, 1), 1);
    assert_int_equal(read(child->replies, &byte, 1), 1);
}

static void end_child(const struct child *child)
{
    (void)close(child->orders);
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    (void)close(child->replies);
}

static uint64_t clock_of_process(pid_t pid)
{
    clockid_t clock;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    return (uint64_t)clock_of(clock);
}

/* ---- the sum -------------------------------------------------------------------------------- */

static int owner, other_owner;

TEST(without_children_it_is_the_process)
{
    int64_t before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    struct rm_tree_cpu cpu = rm_tree_cpu_at_begin();
    int64_t after = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    assert_true((int64_t)cpu.process_ns >= before && (int64_t)cpu.process_ns <= after);
    assert_false(cpu.has_descendants);
    errno = 4711;
    (void)rm_tree_cpu_at_end();
    assert_int_equal(errno, 4711);
}

/* To the microseconds of getrusage, and of what a process still does after it can be waited for. */
TEST(a_child_that_is_waited_for_counts_once_through_its_life)
{
    uint64_t start = rm_tree_cpu_at_begin().descendants_ns;
    struct child child = start_child(30 * MS);
    assert_true(rm_tree_cpu_at_end().has_descendants); /* known or not */
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, start);
    rm_tree_cpu_publish(&owner, &(struct rm_descendant){.pid = child.pid, .child = child.pid}, 1,
                        0);
    let_burn(&child);
    uint64_t alive = rm_tree_cpu_at_end().descendants_ns;
    uint64_t own = clock_of_process(child.pid);
    assert_true(alive - start >= 30 * (uint64_t)MS && alive - start <= own);
    (void)close(child.orders);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    uint64_t zombie = rm_tree_cpu_at_end().descendants_ns;
    assert_int_equal(zombie - start, clock_of_process(child.pid));
    assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
    (void)close(child.replies);
    /* The child's time is in getrusage now; its clock, still in the list, is gone. */
    uint64_t reaped = rm_tree_cpu_at_end().descendants_ns;
    assert_true(reaped >= zombie && reaped - zombie < (uint64_t)MS);
    assert_false(rm_tree_cpu_at_end().has_descendants); /* though it is in the list */
    rm_tree_cpu_publish(&owner, NULL, 0, 0);
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, reaped);
    assert_false(rm_tree_cpu_at_end().has_descendants);
    rm_tree_cpu_withdraw(&owner);
}

/* A number that is nobody's: above the highest that the kernel gives, 2^22. */
#define NOBODY INT64_C(5000000)

/* A grandchild ends: what its parent has waited for is known by the next look only. */
TEST(what_a_child_has_waited_for_is_nowhere_lost)
{
    struct child child = start_child(MS);
    struct rm_descendant both[] = {
        {.pid = child.pid, .child = child.pid, .own_ns = 0, .waited_ns = 100},
        {.pid = NOBODY, .child = child.pid, .own_ns = 7000000000, .waited_ns = 50},
    };
    uint64_t base = rm_tree_cpu_at_end().descendants_ns;
    rm_tree_cpu_publish(&owner, both, 2, 1000);
    uint64_t with = rm_tree_cpu_at_end().descendants_ns;
    assert_true(with - base >= 7000001150 &&
                with - base <= 7000001150 + clock_of_process(child.pid));
    both[0].waited_ns += 7000000050; /* the next look */
    rm_tree_cpu_publish(&owner, both, 1, 1000);
    uint64_t later = rm_tree_cpu_at_end().descendants_ns;
    assert_true(later >= with && later - with < 1000 * (uint64_t)MS); /* not 7 s more */
    end_child(&child);
    /* A child that has been waited for takes what was below it along, into getrusage: here it was
     * made up.  A sum never falls. */
    both[0].pid = NOBODY - 1;
    both[1].child = NOBODY - 1;
    rm_tree_cpu_publish(&owner, both, 2, 1000);
    assert_true(rm_tree_cpu_at_end().descendants_ns - later < 1000 * (uint64_t)MS);
    rm_tree_cpu_withdraw(&owner);
}

TEST(the_first_publisher_is_heard)
{
    rm_tree_cpu_publish(&owner, NULL, 0, 0);
    uint64_t base = rm_tree_cpu_at_end().descendants_ns;
    rm_tree_cpu_publish(&other_owner, NULL, 0, 5000);
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, base);
    rm_tree_cpu_withdraw(&other_owner);
    rm_tree_cpu_publish(&owner, NULL, 0, 100);
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, base + 100);
    rm_tree_cpu_withdraw(&owner);
    rm_tree_cpu_publish(&other_owner, NULL, 0, 50); /* its rest is of its own time */
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, base + 50);
    rm_tree_cpu_withdraw(&other_owner);
}

/* A clock that is behind what the descendant had used is not its own. */
TEST(a_number_that_another_has_now_is_not_believed)
{
    struct child child = start_child(MS);
    rm_tree_cpu_publish(&owner, NULL, 0, 0);
    uint64_t base = rm_tree_cpu_at_end().descendants_ns;
    const struct rm_descendant former = {
        .pid = child.pid, .child = child.pid, .own_ns = UINT64_C(1) << 50};
    rm_tree_cpu_publish(&owner, &former, 1, 0);
    assert_int_equal(rm_tree_cpu_at_end().descendants_ns, base);
    end_child(&child);
    rm_tree_cpu_withdraw(&owner);
}

static void *publish_all_the_time(void *stop)
{
    struct rm_descendant list[RM_DESCENDANTS] = {{0}};
    for (uint64_t turn = 0; __atomic_load_n((int *)stop, __ATOMIC_RELAXED) == 0; turn++) {
        for (size_t i = 0; i < RM_DESCENDANTS; i++) {
            list[i] = (struct rm_descendant){.pid = NOBODY, .child = NOBODY, .own_ns = turn};
        }
        rm_tree_cpu_publish(&owner, list, turn % (RM_DESCENDANTS + 1), 0);
    }
    return NULL;
}

TEST(reading_while_it_is_published)
{
    int stop = 0;
    pthread_t thread;
    uint64_t base = rm_tree_cpu_at_end().descendants_ns;
    assert_int_equal(pthread_create(&thread, NULL, publish_all_the_time, &stop), 0);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(rm_tree_cpu_at_begin().descendants_ns, base);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rm_tree_cpu_withdraw(&owner);
}

/* ---- scopes --------------------------------------------------------------------------------- */

static resmon_monitor *started(void)
{
    return start_with(
        &(resmon_monitor_options){.domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE,
                                  .scopes = RESMON_METER_PCPU | RESMON_METER_CPU,
                                  .max_meter_share = 1e9});
}

static resmon_run_scope finished(resmon_monitor *monitor, const char *name)
{
    resmon_run *run = NULL;
    resmon_run_scope found = {0};
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_scopes(monitor, &run));
    for (size_t i = 0; i < run->scope_count; i++) {
        found = strcmp(run->scopes[i].name, name) == 0 ? run->scopes[i] : found;
    }
    assert_int_equal(found.calls, 1);
    assert_int_equal(found.pcpu_calls, 1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return found;
}

static double used_s(int who)
{
    struct rusage usage;
    assert_int_equal(getrusage(who, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void *burn_in_a_thread(void *ns)
{
    burn(CLOCK_THREAD_CPUTIME_ID, *(int64_t *)ns);
    return NULL;
}

TEST(a_pool_of_threads_is_in_the_scope_that_waits_for_it)
{
    int64_t ns = 100 * MS;
    pthread_t threads[2];
    resmon_monitor *monitor = started();
    double before = used_s(RUSAGE_SELF);
    {
        RESMON_SCOPE("fit");
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, burn_in_a_thread, &ns), 0);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
    }
    double after = used_s(RUSAGE_SELF);
    resmon_run_scope fit = finished(monitor, "fit");
    print_message("two threads of 100 ms: CPU %.1f ms, thread CPU %.1f ms, getrusage %.1f ms\n",
                  fit.pcpu_ns.value / 1e6, fit.cpu_ns.value / 1e6, (after - before) * 1e3);
    assert_true(fit.pcpu_ns.value >= 199e6);
    assert_true(fit.pcpu_ns.value <= (after - before) * 1e9 + 1e5);
    assert_true(fit.cpu_ns.value < 100e6);
    assert_near(fit.pcpu_ns.value, fit.pcpu_process_ns.value, 0.0);
    assert_int_equal(fit.pcpu_provenance, RESMON_PROVENANCE_MEASURED);
    assert_true(fit.pcpu_ns.low == fit.pcpu_ns.value && fit.pcpu_ns.high == fit.pcpu_ns.value);
}

TEST(a_child_inside_of_a_scope_is_exact)
{
    resmon_monitor *monitor = started();
    double before = used_s(RUSAGE_CHILDREN);
    {
        RESMON_SCOPE("make");
        struct child child = start_child(80 * MS);
        let_burn(&child);
        end_child(&child);
    }
    double children = used_s(RUSAGE_CHILDREN) - before;
    resmon_run_scope make = finished(monitor, "make");
    assert_near(make.pcpu_ns.value - make.pcpu_process_ns.value, children * 1e9, 2e3);
    assert_true(make.pcpu_ns.value >= 80e6 && make.pcpu_process_ns.value < 80e6);
    assert_int_equal(make.pcpu_provenance, RESMON_PROVENANCE_MEASURED);
}

/* It lives before, meanwhile and after; the sample before the scope has seen it. */
TEST(a_child_that_lives_on_counts_for_what_it_used_meanwhile)
{
    struct child child = start_child(60 * MS);
    resmon_monitor *monitor = started();
    let_burn(&child); /* before: not in the scope */
    assert_ok(resmon_monitor_sample_now(monitor));
    uint64_t before = clock_of_process(child.pid);
    {
        RESMON_SCOPE("ask");
        let_burn(&child);
    }
    uint64_t meanwhile = clock_of_process(child.pid) - before;
    let_burn(&child); /* after */
    resmon_run_scope ask = finished(monitor, "ask");
    end_child(&child);
    double of_child = ask.pcpu_ns.value - ask.pcpu_process_ns.value;
    print_message("a child burnt %.1f ms meanwhile: %.1f ms\n", (double)meanwhile / 1e6,
                  of_child / 1e6);
    assert_true(of_child >= 59e6 && of_child <= (double)meanwhile + 1e6);
    assert_int_equal(ask.pcpu_provenance, RESMON_PROVENANCE_SAMPLED);
}

TEST(in_a_child_nothing_of_the_parents_is_left)
{
    rm_tree_cpu_publish(&owner, NULL, 0, 1000000);
    assert_true(rm_tree_cpu_at_end().descendants_ns >= 1000000);
    resmon_monitor_free(started()); /* for the handlers of fork */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rm_tree_cpu cpu = rm_tree_cpu_at_begin();
        _exit(cpu.descendants_ns == 0 && !cpu.has_descendants ? 0 : 1);
    }
    assert_exits(pid, 0);
    rm_tree_cpu_withdraw(&owner);
}

TEST(a_watch_has_it_too)
{
    uint64_t watch;
    resmon_watched watched = {.struct_size = sizeof watched};
    assert_ok(resmon_watch_begin(RESMON_METER_PCPU, &watch));
    struct child child = start_child(20 * MS);
    let_burn(&child);
    end_child(&child);
    assert_ok(resmon_watch_lap(watch, &watched));
    assert_true(watched.tree_cpu_ns >= 20e6);
    assert_true(isnan(watched.cpu_ns));
    assert_ok(resmon_watch_end(watch, &watched));
    assert_true(watched.tree_cpu_ns < 20e6);
}
