/* SPDX-License-Identifier: MIT */
/*
 * The events of a tree of processes, as this kernel gives them: what begins, is renamed, maps code
 * and ends, in order; that their CPU time is the kernel's own account of it; and samples of time
 * and faults with registers and stacks.
 */
#define _GNU_SOURCE
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "os/perf_tree.h"

/* What came of a tree. */
struct seen {
    unsigned forks, execs, exits, trues, maps, libcs, cpu, faults, lost, unknown;
    uint64_t used_ns;
    int64_t latest_ns;
    unsigned disordered, depthless;
    uint32_t pids[512];
    unsigned pid_count;
};

static bool is_known(const struct seen *seen, uint32_t pid)
{
    for (unsigned i = 0; i < seen->pid_count; i++) {
        if (seen->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

static void note(struct seen *seen, const struct rm_tree_record *record)
{
    seen->disordered += record->t_ns < seen->latest_ns ? 1 : 0;
    seen->latest_ns = record->t_ns;
    switch (record->kind) {
    case RM_TREE_FORK:
        assert_true(seen->pid_count < 512);
        seen->unknown += is_known(seen, record->parent) ? 0 : 1;
        seen->pids[seen->pid_count++] = record->pid;
        seen->forks++;
        break;
    case RM_TREE_EXEC:
        seen->execs++;
        seen->trues += strcmp(record->text, "true") == 0 ? 1 : 0;
        break;
    case RM_TREE_EXIT:
        seen->exits++;
        break;
    case RM_TREE_MAP:
        seen->maps++;
        seen->libcs += strstr(record->text, "libc.so") != NULL ? 1 : 0;
        assert_true(record->bytes > 0);
        break;
    case RM_TREE_USED:
        seen->used_ns += record->count;
        break;
    case RM_TREE_CPU:
    case RM_TREE_FAULT:
        seen->cpu += record->kind == RM_TREE_CPU ? 1 : 0;
        seen->faults += record->kind == RM_TREE_FAULT ? 1 : 0;
        seen->depthless += record->sample.stack_bytes == 0 ? 1 : 0;
        seen->unknown += is_known(seen, record->pid) ? 0 : 1;
        break;
    case RM_TREE_LOST:
        seen->lost += (unsigned)record->count;
        break;
    case RM_TREE_NAME:
    case RM_TREE_THREAD:
        break;
    case RM_TREE_NOTHING:
        fail();
    }
}

static void drain(struct rm_perf_tree *tree, int64_t until_ns, struct seen *seen)
{
    struct rm_tree_record record;
    rm_perf_tree_look(tree);
    while (rm_perf_tree_next(tree, until_ns, &record)) {
        note(seen, &record);
    }
}

/* A child that waits at a gate; what it does then is `work`. */
static pid_t start_child(int gate[2], void (*work)(void))
{
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;
        (void)close(gate[1]);
        if (read(gate[0], &byte, 1) == 1) {
            work();
        }
        _exit(1);
    }
    (void)close(gate[0]);
    return pid;
}

static struct rm_perf_tree *open_tree(pid_t pid, const struct rm_perf_tree_terms *terms)
{
    struct rm_perf_tree *tree = NULL;
    assert_int_equal(rm_perf_tree_new(terms, &tree), RESMON_OK);
    resmon_status status = rm_perf_tree_add(tree, (uint32_t)pid);
    if (status != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        rm_perf_tree_free(tree);
        return NULL;
    }
    return tree;
}

/* Until the child has ended, with a delay of one round, as the clocks of CPUs want it. */
static void watch(struct rm_perf_tree *tree, pid_t pid, struct seen *seen)
{
    int64_t before_ns = rm_clock_monotonic_ns();
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int64_t now_ns = rm_clock_monotonic_ns();
        drain(tree, before_ns, seen);
        before_ns = now_ns;
        (void)rm_perf_tree_wait(tree, 5 * RM_NS_PER_MS);
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    drain(tree, INT64_MAX, seen);
    drain(tree, INT64_MAX, seen);
}

static uint64_t children_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000U +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000U;
}

/* ---- processes --------------------------------------------------------------------------- */

static void run_a_hundred(void)
{
    (void)execl("/bin/sh", "sh", "-c",
                "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done; (exit 0); exit 0",
                (char *)NULL);
}

/* False: there are no events here. */
static bool watch_a_hundred(struct seen *seen, uint64_t *ret_kernel_ns, uint64_t *ret_counted_ns)
{
    int gate[2];
    const struct rm_perf_tree_terms terms = {.cpu_ns = 0, .fault_period = 0};
    uint64_t before_ns = children_ns();
    pid_t pid = start_child(gate, run_a_hundred);
    seen->pids[seen->pid_count++] = (uint32_t)pid;
    struct rm_perf_tree *tree = open_tree(pid, &terms);
    assert_int_equal(write(gate[1], "g", 1), 1);
    (void)close(gate[1]);
    if (tree == NULL) {
        (void)waitpid(pid, NULL, 0);
        return false;
    }
    watch(tree, pid, seen);
    *ret_kernel_ns = children_ns() - before_ns;
    *ret_counted_ns = rm_perf_tree_cpu_ns(tree);
    rm_perf_tree_free(tree);
    return true;
}

TEST(processes_are_told_in_order)
{
    struct seen seen = {.forks = 0};
    uint64_t kernel_ns, counted_ns;
    if (!watch_a_hundred(&seen, &kernel_ns, &counted_ns)) {
        skip();
    }
    assert_int_equal(seen.lost, 0);
    assert_int_equal(seen.disordered, 0);
    assert_int_equal(seen.unknown, 0);
    assert_in_range(seen.forks, 100, 101); /* a subshell at the end may be none */
    assert_int_equal(seen.trues, 100);
    assert_int_equal(seen.execs, 101);
    assert_int_equal(seen.exits, seen.forks + 1);
    assert_true(seen.used_ns < counted_ns);
}

TEST(the_time_of_processes_is_whole)
{
    needs_live("the clocks of processes to agree with events of this host");
    struct seen seen = {.forks = 0};
    uint64_t kernel_ns, counted_ns;
    if (!watch_a_hundred(&seen, &kernel_ns, &counted_ns)) {
        skip();
    }
    /* The shell began before its events did; what the kernel does at a process's end is its own. */
    assert_true((double)counted_ns > 0.8 * (double)kernel_ns - 1e6);
    assert_true((double)counted_ns < 1.1 * (double)kernel_ns + 1e6);
    assert_true(seen.used_ns > counted_ns / 4);
}

/* ---- samples ----------------------------------------------------------------------------- */

#define PAGES 16384U

static void touch_and_burn(void)
{
    size_t bytes = (size_t)PAGES * 4096;
    volatile char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        _exit(2);
    }
    (void)madvise((void *)(uintptr_t)memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) {
        memory[i] = 1;
    }
    int64_t until_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + 300 * RM_NS_PER_MS;
    while (rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns) {
    }
    _exit(0);
}

TEST(samples_have_registers_and_stacks)
{
    needs_live("samples of CPU time and of page faults of this host");
    int gate[2];
    struct seen seen = {.forks = 0};
    const struct rm_perf_tree_terms terms = {.cpu_ns = 5 * RM_NS_PER_MS, .fault_period = 64};
    pid_t pid = start_child(gate, touch_and_burn);
    seen.pids[seen.pid_count++] = (uint32_t)pid;
    struct rm_perf_tree *tree = open_tree(pid, &terms);
    assert_int_equal(write(gate[1], "g", 1), 1);
    (void)close(gate[1]);
    if (tree == NULL || rm_perf_tree_refusal(tree, RM_TREE_CPU) != NULL ||
        rm_perf_tree_refusal(tree, RM_TREE_FAULT) != NULL) {
        print_message("skipped: no samples of CPU time or of page faults\n");
        rm_perf_tree_free(tree);
        (void)waitpid(pid, NULL, 0);
        skip();
    }
    watch(tree, pid, &seen);
    uint64_t counted_ns = rm_perf_tree_cpu_ns(tree);
    assert_int_equal(seen.unknown, 0);
    assert_int_equal(seen.depthless, 0);
    /* One for each 64 pages, and those of each CPU on their own; without the kernel's own faults.
     */
    assert_in_range(seen.faults + seen.lost, PAGES / 64 - 8, PAGES / 64 + 64);
    /* A sample for each 5 ms on a CPU, but for the last piece on each. */
    if (rm_perf_tree_sees_kernel(tree, RM_TREE_CPU)) {
        assert_in_range(seen.cpu, counted_ns * 9 / 10 / 5000000 - 8, counted_ns / 5000000 + 2);
    }
    rm_perf_tree_free(tree);
}

static uint32_t count_fresh(struct rm_perf_tree *tree, bool *ret_is_stopped)
{
    uint32_t count = 0;
    struct rm_tree_record record;
    for (size_t i = 0; i < rm_perf_tree_cpu_count(tree); i++) {
        struct rm_perf_fresh fresh;
        if (!rm_perf_tree_open_fresh(tree, i, &fresh)) {
            continue;
        }
        int64_t latest_ns = 0;
        while (rm_perf_fresh_next(&fresh, &fresh.cpu_time, &record)) {
            assert_true(record.kind == RM_TREE_CPU && record.t_ns >= latest_ns);
            latest_ns = record.t_ns;
            count++;
        }
        while (rm_perf_fresh_next(&fresh, &fresh.faults, &record)) {
            assert_int_equal(record.kind, RM_TREE_FAULT);
            count++;
        }
        rm_perf_tree_stop_fresh(tree);
        *ret_is_stopped = !rm_perf_fresh_wait(&fresh);
    }
    return count;
}

/* They stay in the rings for who reads the tree, and are not fresh once that one has them. */
TEST(fresh_samples_are_seen_before_the_tree_is_read)
{
    needs_live("samples of CPU time and of page faults of this host");
    int gate[2];
    struct seen seen = {.forks = 0};
    bool is_stopped = false;
    const struct rm_perf_tree_terms terms = {
        .cpu_ns = 20 * RM_NS_PER_MS, .fault_period = 1024, .fault_wakeup = 1};
    pid_t pid = start_child(gate, touch_and_burn);
    seen.pids[seen.pid_count++] = (uint32_t)pid;
    struct rm_perf_tree *tree = open_tree(pid, &terms);
    assert_int_equal(write(gate[1], "g", 1), 1);
    (void)close(gate[1]);
    (void)waitpid(pid, NULL, 0);
    if (tree == NULL || rm_perf_tree_refusal(tree, RM_TREE_CPU) != NULL) {
        print_message("skipped: no samples of CPU time\n");
        rm_perf_tree_free(tree);
        skip();
    }
    uint32_t fresh = count_fresh(tree, &is_stopped);
    assert_true(is_stopped);
    assert_true(fresh > 0);
    drain(tree, INT64_MAX, &seen);
    assert_int_equal(fresh, seen.cpu + seen.faults);
    assert_int_equal(count_fresh(tree, &is_stopped), 0);
    rm_perf_tree_free(tree);
}

TEST(what_has_ended_is_no_process)
{
    int gate[2];
    struct rm_perf_tree *tree = NULL;
    const struct rm_perf_tree_terms terms = {.cpu_ns = RM_NS_PER_MS};
    pid_t pid = start_child(gate, touch_and_burn);
    (void)close(gate[1]);
    (void)waitpid(pid, NULL, 0);
    assert_int_equal(rm_perf_tree_new(&terms, &tree), RESMON_OK);
    assert_int_not_equal(rm_perf_tree_add(tree, (uint32_t)pid), RESMON_OK);
    rm_perf_tree_free(tree);
}
