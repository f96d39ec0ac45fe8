/* SPDX-License-Identifier: MIT */
/*
 * What taking stacks costs the threads that are sampled, in their own CPU time: a program that only
 * computes, 15 calls deep, one that builds a table in fresh memory, and one that only touches fresh
 * pages, without and with a monitor.  Beside gperftools' profiler at the same rate, where it is
 * installed, and beside what the kernel takes for the same samples when nobody reads them.  And
 * what it costs another process whose stacks are taken from outside.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"
#include "stack/unwind.h"

#define DEPTH   15
#define TOUCHED ((size_t)64 << 20)

#define NODES       ((size_t)1 << 19)
#define CHAIN_BITS  19
#define CHAIN_BYTES (sizeof(struct node *) << CHAIN_BITS)

#define KERNEL_RING ((size_t)(1 + 1024) * 4096)

struct load {
    bench_fn work;
    uint64_t stacks, hz;
    double samples; /* for each second of CPU time, of the latest round */
};

static double thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static volatile uint64_t sink;

__attribute__((noinline)) static void compute(size_t count)
{
    uint64_t value = sink;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 1000; k++) {
            value = value * 6364136223846793005U + 1442695040888963407U;
        }
    }
    sink = value;
}

__attribute__((noinline)) static void descend(int depth, size_t count)
{
    if (depth == 0) {
        compute(count);
    } else {
        descend(depth - 1, count);
    }
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static double computing(void *context, size_t count)
{
    (void)context;
    double start = thread_cpu_ns();
    descend(DEPTH, count);
    return (thread_cpu_ns() - start) / (double)count;
}

static char *fresh_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        abort();
    }
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

static double touching(void *context, size_t count)
{
    (void)context;
    double spent = 0;
    for (size_t i = 0; i < count; i++) {
        char *memory = fresh_memory(TOUCHED);
        double start = thread_cpu_ns();
        for (size_t at = 0; at < TOUCHED; at += 4096) {
            memory[at] = 1;
        }
        spent += thread_cpu_ns() - start;
        munmap(memory, TOUCHED);
    }
    return spent / (double)count;
}

/* A table of words as programs have it: chains of nodes, by a hash. */
struct node {
    struct node *next;
    uint64_t count;
    char word[48];
};

__attribute__((noinline)) static void insert(struct node **chains, struct node *fresh, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    struct node **chain = &chains[hash >> (64 - CHAIN_BITS)];
    for (size_t i = 0; i < sizeof fresh->word - 1; i++) {
        fresh->word[i] = (char)('a' + (hash >> (i % 60)) % 16);
    }
    for (const struct node *node = *chain; node != NULL; node = node->next) {
        if (memcmp(node->word, fresh->word, sizeof node->word) == 0) {
            return;
        }
    }
    fresh->count = 1;
    fresh->next = *chain;
    *chain = fresh;
}

static double building(void *context, size_t count)
{
    (void)context;
    double spent = 0;
    for (size_t i = 0; i < count; i++) {
        char *memory = fresh_memory(CHAIN_BYTES + NODES * sizeof(struct node));
        struct node *nodes = (struct node *)(void *)(memory + CHAIN_BYTES);
        double start = thread_cpu_ns();
        for (size_t n = 0; n < NODES; n++) {
            insert((struct node **)(void *)memory, &nodes[n], n);
        }
        spent += thread_cpu_ns() - start;
        munmap(memory, CHAIN_BYTES + NODES * sizeof(struct node));
    }
    return spent / (double)count;
}

/* ---- the kernel alone -------------------------------------------------------------------- */

/* The samples that the library takes, in a ring that holds them all, and nobody reads. */
static int open_kernel(void **ret_ring)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .sample_period = 64,
        .sample_type =
            PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX,
        .sample_regs_user = 0xff,
        .sample_stack_user = 2048,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    *ret_ring = mmap(NULL, KERNEL_RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0 && *ret_ring == MAP_FAILED) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static double touching_counted(void *context, size_t count)
{
    void *ring;
    int fd = open_kernel(&ring);
    double each = touching(context, count);
    if (fd >= 0) {
        munmap(ring, KERNEL_RING);
        close(fd);
    }
    return each;
}

static int has_kernel_samples(void)
{
    void *ring;
    int fd = open_kernel(&ring);
    if (fd >= 0) {
        munmap(ring, KERNEL_RING);
        close(fd);
    }
    return fd >= 0;
}

/* ---- with a monitor ---------------------------------------------------------------------- */

static resmon_monitor *start_of(const struct load *load, pid_t pid)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 3600000,
        .domains = RESMON_DOMAIN_PROCESS,
        .stacks = load->stacks,
        .stack_hz = load->hz,
        .pid = pid,
    };
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "%s\n", resmon_last_error());
        exit(2);
    }
    return monitor;
}

static resmon_monitor *start(const struct load *load)
{
    return start_of(load, 0);
}

static void finish(resmon_monitor *monitor, struct load *load, double cpu_ns)
{
    resmon_run *run = NULL;
    resmon_run_stack_info info = {.struct_size = sizeof info};
    int32_t kind = load->stacks == RESMON_STACKS_CPU ? RESMON_STACK_CPU : RESMON_STACK_MEMORY;
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK ||
        resmon_run_get_stack_info(run, kind, &info) != RESMON_OK) {
        fprintf(stderr, "%s\n", resmon_last_error());
        exit(2);
    }
    if (info.status != RESMON_OK) {
        printf("skipped: no stacks: %s\n", info.reason);
        exit(77);
    }
    load->samples = (double)info.samples / (cpu_ns / 1e9);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

static double sampled(void *context, size_t count)
{
    struct load *load = context;
    resmon_monitor *monitor = start(load);
    double each = load->work(NULL, count);
    finish(monitor, load, each * (double)count);
    return each;
}

/* ---- from outside ------------------------------------------------------------------------- */

/* What the work takes in a process of its own, which waits until it is observed. */
static double in_child(struct load *load, size_t count, bool is_observed)
{
    int gate[2], result[2];
    double each = 0;
    char byte = 'g';
    if (pipe(gate) != 0 || pipe(result) != 0) {
        abort();
    }
    pid_t pid = fork();
    if (pid == 0) {
        bool may_go = read(gate[0], &byte, 1) == 1;
        each = may_go ? load->work(NULL, count) : 0;
        _exit(write(result[1], &each, sizeof each) == (ssize_t)sizeof each ? 0 : 1);
    }
    resmon_monitor *monitor = is_observed ? start_of(load, pid) : NULL;
    if (write(gate[1], &byte, 1) != 1 || read(result[0], &each, sizeof each) < 0) {
        abort();
    }
    (void)waitpid(pid, NULL, 0);
    if (monitor != NULL) {
        finish(monitor, load, each * (double)count);
    }
    for (int i = 0; i < 2; i++) {
        (void)close(gate[i]);
        (void)close(result[i]);
    }
    return each;
}

static double alone_in_child(void *context, size_t count)
{
    return in_child(context, count, false);
}

static double sampled_in_child(void *context, size_t count)
{
    return in_child(context, count, true);
}

static void bench_outside(struct bench *bench)
{
    struct load cpu = {.work = computing, .stacks = RESMON_STACKS_CPU, .hz = 99};
    struct load table = {.work = building, .stacks = RESMON_STACKS_MEMORY};
    struct load pages = {.work = touching, .stacks = RESMON_STACKS_MEMORY};
    bench_ratio(bench, "CPU of another process that computes, stacks at 99 Hz from outside",
                alone_in_child, sampled_in_child, &cpu, 200000, 1.02);
    bench_ratio(bench, "CPU of one that builds a table, a stack each 64 page faults",
                alone_in_child, sampled_in_child, &table, 1, 1.05);
    bench_ratio(bench, "CPU of one that only touches pages, the same", alone_in_child,
                sampled_in_child, &pages, 4, 0);
}

/* ---- following one stack ----------------------------------------------------------------- */

struct followed {
    struct rm_unwind unwind;
    struct rm_unwound last;
    double ns;
};

static double reading_memory(void *context, size_t count)
{
    struct followed *followed = context;
    char bytes[RM_VIEW_WINDOW_BYTES];
    struct iovec to = {bytes, sizeof bytes};
    struct iovec from = {followed, sizeof bytes};
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)sizeof bytes) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

__attribute__((noinline)) static void follow_here(struct followed *followed, size_t count)
{
    static uint64_t addresses[128];
    static ucontext_t here; /* of this very place, which is left only when all is measured */
    const struct rm_view_start from = {.context = &here};
    if (getcontext(&here) != 0) {
        abort();
    }
    here.uc_stack.ss_flags = SS_DISABLE;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        followed->last = rm_unwind_follow(&followed->unwind, &from, addresses, 128);
    }
    followed->ns = (bench_now_ns() - start) / (double)count;
}

__attribute__((noinline)) static void follow_below(int depth, struct followed *followed,
                                                   size_t count)
{
    if (depth == 0) {
        follow_here(followed, count);
    } else {
        follow_below(depth - 1, followed, count);
    }
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static double following(void *context, size_t count)
{
    struct followed *followed = context;
    follow_below(DEPTH, followed, count);
    return followed->ns;
}

static void bench_following(struct bench *bench)
{
    static struct followed followed;
    if (rm_unwind_open() != RESMON_OK || !rm_code_refresh(true)) {
        printf("skipped: no stacks: %s\n", resmon_last_error());
        exit(77);
    }
    followed.unwind.code = rm_code_now();
    bench_ratio(bench, "following one stack, against one process_vm_readv()", reading_memory,
                following, &followed, 20000, 0);
    bench_value(bench, "  its frames", followed.last.depth, "", 0);
    if (followed.last.is_broken) {
        printf("  it could be unwound only in part\n");
    }
    rm_code_free();
}

/* ---- gperftools -------------------------------------------------------------------------- */

static int (*profiler_start)(const char *path);
static void (*profiler_stop)(void);

static double computing_profiled(void *context, size_t count)
{
    (void)context;
    profiler_start("/dev/null");
    double each = computing(NULL, count);
    profiler_stop();
    return each;
}

static int has_gperftools(void)
{
    void *library = dlopen("libprofiler.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        *(void **)&profiler_start = dlsym(library, "ProfilerStart");
        *(void **)&profiler_stop = dlsym(library, "ProfilerStop");
    }
    return profiler_start != NULL && profiler_stop != NULL;
}

int main(int argc, char **argv)
{
    setenv("CPUPROFILE_FREQUENCY", "1000", 1);
    struct bench bench = bench_begin(argc, argv, "stacks");
    struct load fast = {.work = computing, .stacks = RESMON_STACKS_CPU, .hz = 1000};
    struct load usual = {.work = computing, .stacks = RESMON_STACKS_CPU, .hz = 99};
    struct load builder = {.work = building, .stacks = RESMON_STACKS_MEMORY};
    struct load toucher = {.work = touching, .stacks = RESMON_STACKS_MEMORY};
    const size_t count = 150000; /* about 0.15 s */
    bench_ratio(&bench, "computing, stacks at 1000 Hz", computing, sampled, &fast, count, 1.01);
    bench_value(&bench, "  samples for each second of CPU time", fast.samples, "1/s", 0);
    bench_ratio(&bench, "computing, stacks at 99 Hz", computing, sampled, &usual, count, 1.01);
    if (has_gperftools()) {
        bench_ratio(&bench, "computing, gperftools at 1000 Hz", computing, computing_profiled, NULL,
                    count, 0);
    } else {
        printf("  gperftools is not installed (libgoogle-perftools4): without it\n");
    }
    bench_ratio(&bench, "building a table, a stack each 64 faults", building, sampled, &builder, 4,
                1.03);
    bench_value(&bench, "  samples for each second of CPU time", builder.samples, "1/s", 0);
    bench_ratio(&bench, "touching pages, a stack each 64 faults", touching, sampled, &toucher, 4,
                0);
    if (has_kernel_samples()) {
        bench_ratio(&bench, "touching pages, sampled but not read", touching, touching_counted,
                    NULL, 4, 0);
        bench_ratio(&bench, "a stack each 64 faults, above sampled", touching_counted, sampled,
                    &toucher, 4, 1.03);
    }
    bench_outside(&bench);
    bench_following(&bench);
    return bench_end(&bench);
}
