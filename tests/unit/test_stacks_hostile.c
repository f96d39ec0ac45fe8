/* SPDX-License-Identifier: MIT */
/*
 * Stacks of programs that are hostile to whoever takes them: they close what they do not know, give
 * up rights, switch stacks by hand, and jump out of handlers.  What is taken away is said.
 */
#define _GNU_SOURCE /* closefrom, makecontext */
#include "runs.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/thread.h"
#include "os/kept.h"
#include "os/perf_ring.h"
#include "pages.h"
#include "stack_tests.h"

#define NOINLINE __attribute__((noinline))
/* Behind a call: it is no tail call then. */
#define AFTER_CALL __asm__ volatile("" ::: "memory")

static volatile unsigned sink;

NOINLINE static void burn(int64_t cpu_ns)
{
    int64_t until = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
        for (unsigned i = 0; i < 20000; i++) {
            sink = sink * 3 + i;
        }
    }
    AFTER_CALL;
}

/* Until the kernel has looked at the timer, which it does when it ticks. */
NOINLINE static void burn_until_sampled(int64_t least_ns)
{
    uint64_t before = rm_handler_ticks();
    for (int i = 0; i < 1000 && (i == 0 || rm_handler_ticks() == before); i++) {
        burn(least_ns);
    }
}

static resmon_monitor *start(void)
{
    return start_with(&(resmon_monitor_options){
        .stacks = RESMON_STACKS_ALL, .stack_hz = 250, .fault_period = 16});
}

static uint64_t samples_of(const resmon_run *run, int32_t kind)
{
    resmon_run_stack_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_stack_info(run, kind, &info));
    return info.samples;
}

/* In a child: what it does to itself stays there.  It ends with 0, or with 77: cannot be had. */
static void in_child(int (*act)(void))
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(act());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: this may not be done here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void *burn_in_thread(void *unused)
{
    burn_until_sampled(RM_NS_PER_S / 4);
    touch_pages(2048);
    return unused;
}

static void run_thread(const pthread_attr_t *attributes)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, attributes, burn_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- descriptors and rights ------------------------------------------------------------------ */

/* The number is a pipe of the program's by now: nothing is read from it, and it stays open. */
TEST(a_number_that_is_anothers_is_left_alone)
{
    struct rm_perf_ring ring;
    struct rm_perf_record record;
    const struct rm_perf_ring_terms terms = {
        .kind = RM_RING_MINOR, .thread = rm_thread_id(), .stack_bytes = 1024, .period = 16};
    int ends[2];
    char byte = 0;
    if (rm_perf_ring_open(&ring, &terms) != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        skip();
    }
    int number = ring.fd;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "12345678", 8), 8);
    assert_int_equal(dup2(ends[0], number), number);
    assert_int_equal(rm_perf_ring_count(&ring), 0);
    rm_perf_ring_set_period(&ring, 16);
    touch_pages(512);
    assert_true(rm_perf_ring_look(&ring)); /* the mapping keeps it alive */
    assert_true(rm_perf_ring_peek(&ring, &record));
    rm_perf_ring_close(&ring);
    assert_int_equal(read(number, &byte, 1), 1);
    assert_int_equal(byte, '1');
    (void)close(number);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static int lose_descriptors(void)
{
    const struct rlimit few = {8, 8};
    resmon_monitor *monitor = start();
    for (int fd = 3; fd < 1024; fd++) {
        (void)close(fd);
    }
    (void)setrlimit(RLIMIT_NOFILE, &few);
    run_thread(NULL); /* a new one: its timer and counter are made now */
    resmon_run *run = finish(monitor);
    bool has_all = samples_of(run, RESMON_STACK_CPU) > 0 &&
                   (run->profile.kinds[RESMON_STACK_MEMORY].status != RESMON_OK ||
                    samples_of(run, RESMON_STACK_MEMORY) > 0);
    resmon_run_free(run);
    return has_all ? 0 : 1;
}

static void *isolate(void *ret_is_isolated)
{
    rm_kept_isolate_thread();
    *(bool *)ret_is_isolated = rm_kept_is_isolated();
    return NULL;
}

TEST(descriptors_may_go)
{
    bool is_isolated = false;
    in_thread(isolate, &is_isolated);
    if (!is_isolated) {
        print_message("skipped: the library's threads have no table of descriptors of their own "
                      "here\n");
        skip();
    }
    in_child(lose_descriptors);
}

static bool deny(unsigned error)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

/* Of CPU time the innermost address is left, and that the rest is missing; of memory, why. */
static int deny_midway(void)
{
    resmon_monitor *monitor = start();
    touch_pages(2048); /* of this thread there is something to see */
    if (!deny(EPERM)) {
        return 77;
    }
    run_thread(NULL);
    resmon_run *run = finish(monitor);
    const struct rm_run_stack_kind *memory = &run->profile.kinds[RESMON_STACK_MEMORY];
    bool had_memory = memory->status == RESMON_OK; /* a container's filter was there before */
    bool is_said = samples_of(run, RESMON_STACK_CPU) > 0 && run->profile.lost[RM_LOSS_UNWIND] > 0 &&
                   (run->profile.lost[RM_LOSS_THREADS] > 0) == had_memory &&
                   (strncmp(memory->reason, "not of all threads: ", 20) == 0) == had_memory;
    resmon_run_free(run);
    return is_said ? 0 : 1;
}

TEST(a_filter_of_system_calls_comes_midway)
{
    in_child(deny_midway);
}

static int lose_timers(void)
{
    const struct rlimit none = {0, 0};
    resmon_monitor *monitor = NULL;
    if (setrlimit(RLIMIT_SIGPENDING, &none) != 0) {
        return 77;
    }
    monitor = start();
    burn(RM_NS_PER_S / 20);
    resmon_run *run = finish(monitor);
    const struct rm_run_stack_kind *cpu = &run->profile.kinds[RESMON_STACK_CPU];
    bool is_said = cpu->status != RESMON_OK && strstr(cpu->reason, "timer") != NULL;
    resmon_run_free(run);
    return is_said ? 0 : 1;
}

TEST(timers_may_be_refused)
{
    in_child(lose_timers);
}

/* ---- stacks by hand ---------------------------------------------------------------------------
 */

/* Half of it is what the handler may find. */
TEST(a_stack_may_be_small)
{
    pthread_attr_t attributes;
    if (HAS_ADDRESS_SANITIZER) {
        print_message("skipped: AddressSanitizer wants more stack than this\n");
        skip();
    }
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)),
                     0);
    resmon_monitor *monitor = start();
    run_thread(&attributes);
    resmon_run *run = finish(monitor);
    (void)pthread_attr_destroy(&attributes);
    assert_true(samples_of(run, RESMON_STACK_CPU) > 0);
    resmon_run_free(run);
}

static ucontext_t outside, inside[4];

static void coroutine(int number)
{
    for (int i = 0; i < 20; i++) {
        burn_until_sampled(RM_NS_PER_S / 200);
        (void)swapcontext(&inside[number], &outside);
    }
}

static void make_coroutine(int number, char *stack, size_t bytes)
{
    assert_int_equal(getcontext(&inside[number]), 0);
    inside[number].uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
    inside[number].uc_link = &outside;
    makecontext(&inside[number], (void (*)(void))(void *)coroutine, 1, number);
}

/* Each stack is followed to its own beginning, where the C library says that it ends. */
TEST(coroutines_have_stacks_of_their_own)
{
    enum { BYTES = 65536 };
    char *stacks = fresh_memory((size_t)4 * BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    resmon_monitor *monitor = start();
    for (int i = 0; i < 4; i++) {
        make_coroutine(i, stacks + (size_t)i * BYTES, BYTES);
    }
    for (int i = 0; i < 4 * 20; i++) {
        assert_int_equal(swapcontext(&outside, &inside[i % 4]), 0);
    }
    resmon_run *run = finish(monitor);
    assert_true(samples_of(run, RESMON_STACK_CPU) > 0);
#if defined(__x86_64__)
    assert_true(run->profile.lost[RM_LOSS_UNWIND] < samples_of(run, RESMON_STACK_CPU) / 2);
#endif
    resmon_run_free(run);
    (void)munmap(stacks, (size_t)4 * BYTES);
}

static sigjmp_buf target;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(target, 1);
}

/* The program's jump never leaves the library's handler, which has all signals blocked. */
TEST(handlers_are_jumped_out_of)
{
    static volatile unsigned jumps;
    static int64_t until; /* static: a jump would forget it */
    static uint64_t before;
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = jump_out;
    static resmon_monitor *monitor;
    monitor = start();
    before = rm_handler_ticks();
    until = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) + RM_NS_PER_S / 2;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    (void)sigsetjmp(target, 1);
    jumps++;
    (void)setitimer(ITIMER_REAL, &often, NULL);
    while (rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until ||
           (rm_handler_ticks() == before &&
            rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until + 20 * RM_NS_PER_S)) {
        sink = sink * 3 + 1;
    }
    (void)signal(SIGALRM, SIG_IGN);
    (void)setitimer(ITIMER_REAL, &never, NULL);
    resmon_run *run = finish(monitor);
    assert_true(jumps > 1);
    assert_true(samples_of(run, RESMON_STACK_CPU) > 0);
    resmon_run_free(run);
}

TEST_FILE(.missing = missing_stacks);
