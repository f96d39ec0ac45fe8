/* SPDX-License-Identifier: MIT */
/*
 * Stacks of this very program: loads that are known, held against what was sampled, by the
 * addresses of the calls.  And what programs do to whoever takes their stacks.
 */
#define _GNU_SOURCE /* madvise */
#include "base/libc.h"
#include "runs.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pages.h"
#include "stack_tests.h"

#define MIB      ((size_t)1 << 20)
#define NOINLINE __attribute__((noinline))
/* Behind a call: it is no tail call then. */
#define AFTER_CALL __asm__ volatile("" ::: "memory")

/* ---- what is asked of a run ----------------------------------------------------------------- */

static resmon_monitor *start(uint64_t stacks, uint64_t hz)
{
    const resmon_monitor_options options = {.stacks = stacks, .stack_hz = hz, .fault_period = 16};
    return start_with(&options);
}

/* The end of a run that nobody looks at: its functions get no names, which takes most of the time.
 */
static void end_unseen(resmon_monitor *monitor)
{
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

static bool has_address(const struct rm_run_profile *profile, size_t first, uint32_t depth,
                        uint64_t address)
{
    for (uint32_t i = 0; i < depth; i++) {
        if (profile->places[profile->frames[first + i]].address == address) {
            return true;
        }
    }
    return false;
}

/* Weight of the stacks that the address is in; 0: of all. */
static double weight_at(const resmon_run *run, int kind, uint64_t address)
{
    const struct rm_run_profile *profile = &run->profile;
    double sum = 0;
    for (size_t i = 0; i < profile->stack_count; i++) {
        const struct rm_run_stack *stack = &profile->stacks[i];
        if (address == 0 || has_address(profile, stack->first, stack->depth, address)) {
            sum += stack->weight[kind];
        }
    }
    return sum;
}

/* The place of a call: what stacks have of a caller. */
#define THIS_CALL ((uint64_t)(uintptr_t)__builtin_return_address(0) - 1)

static void skip_without(resmon_run *run, int kind)
{
    if (run->profile.kinds[kind].status != RESMON_OK) {
        print_message("skipped: no %s stacks: %s\n", rm_stack_kind_names[kind],
                      run->profile.kinds[kind].reason);
        resmon_run_free(run);
        skip();
    }
}

/* ---- loads ----------------------------------------------------------------------------------- */

static uint64_t calls[4];
static volatile uint64_t sink;

NOINLINE static void burn(int which, int64_t cpu_ns)
{
    int64_t until = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    calls[which] = THIS_CALL;
    while (rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
        for (int i = 0; i < 20000; i++) {
            sink = sink * 3 + 1;
        }
    }
}

/* Until the kernel has looked at the timer: it does when it ticks, and beside programs whose slices
 * of time are in step with the ticks that can be after seconds. */
NOINLINE static void burn_until_sampled(int which, int64_t least_ns)
{
    uint64_t before = rm_handler_ticks();
    for (int i = 0; i < 100 && (i == 0 || rm_handler_ticks() == before); i++) {
        burn(which, least_ns);
        AFTER_CALL;
    }
}

static int call_lines[3];

NOINLINE static void seventy(int64_t cpu_ns)
{
    call_lines[0] = __LINE__ + 1;
    burn(0, cpu_ns);
    AFTER_CALL;
}

NOINLINE static void twenty(int64_t cpu_ns)
{
    call_lines[1] = __LINE__ + 1;
    burn(1, cpu_ns);
    AFTER_CALL;
}

NOINLINE static void ten(int64_t cpu_ns)
{
    call_lines[2] = __LINE__ + 1;
    burn(2, cpu_ns);
    AFTER_CALL;
}

/* With resmon-names and libdw, and lines with -g. */
static void check_names(const resmon_run *run)
{
    static const char *const functions[] = {"seventy", "twenty", "ten"};
    const struct rm_run_profile *profile = &run->profile;
    if (missing_names() != NULL) {
        print_message("names are not tested: %s\n", resmon_last_error());
        return;
    }
    for (size_t i = 0; i < profile->place_count; i++) {
        const struct rm_run_place *place = &profile->places[i];
        for (int k = 0; k < 3; k++) {
            if (place->address == calls[k]) {
                assert_string_equal(place->function, functions[k]);
                assert_true(place->line == 0 || place->line == (uint32_t)call_lines[k]);
                assert_true(place->line == 0 || strstr(place->file, "test_stacks.c") != NULL);
            }
        }
    }
}

/* What was done, and which samples of it there must be. */
struct work {
    double spent_ns[3];
    double all_ns;
    double sampled_ns; /* until the last sample */
    double squares;    /* of the weights of the samples */
    int samples;
};

/* Pieces whose order and length are drawn: a rhythm could be in step with the samples. */
static void do_piece(struct work *work, uint64_t *seed)
{
    static void (*const functions[])(int64_t) = {seventy, twenty, ten};
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    unsigned drawn = (unsigned)(*seed >> 33) % 10;
    int which = drawn < 7 ? 0 : drawn < 9 ? 1 : 2;
    uint64_t before = rm_handler_ticks();
    int64_t begin_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    functions[which]((int64_t)(1 + (*seed >> 60)) * RM_NS_PER_MS / 4);
    double took_ns = (double)(rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
    work->spent_ns[which] += took_ns;
    work->all_ns += took_ns;
    if (rm_handler_ticks() != before) {
        double weight_ns = work->all_ns - work->sampled_ns;
        work->squares += weight_ns * weight_ns;
        work->sampled_ns = work->all_ns;
        work->samples++;
    }
}

static struct work do_work(void)
{
    struct work work = {.samples = 0};
    uint64_t seed = 20;
    RESMON_SCOPE("outer");
    RESMON_SCOPE("work");
    while (work.samples < 200 && work.all_ns < 5e9) {
        do_piece(&work, &seed);
    }
    return work;
}

/* Within 4 sigma of samples of these weights. */
static void check_shares(const resmon_run *run, const struct work *work)
{
    double all = weight_at(run, RESMON_STACK_CPU, 0);
    for (int i = 0; i < 3; i++) {
        double share = work->spent_ns[i] / work->all_ns;
        double sigma = sqrt(share * (1 - share) * work->squares) / work->sampled_ns;
        assert_near(weight_at(run, RESMON_STACK_CPU, calls[i]) / all, share, 4 * sigma + 0.01);
    }
    double late = (double)run->profile.lost[RM_LOSS_BLOCKED] * RM_NS_PER_S / 250;
    assert_near((all + late) / work->sampled_ns, 1, 0.1);
}

static void check_scopes(const resmon_run *run)
{
    double in_scope = 0;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        const struct rm_run_stack *stack = &run->profile.stacks[i];
        if (stack->scope >= 0) {
            const resmon_run_scope *scope = &run->scopes[stack->scope];
            assert_true(strcmp(scope->name, "work") == 0 || strcmp(scope->name, "outer") == 0);
            in_scope += stack->weight[RESMON_STACK_CPU];
        }
    }
    assert_true(in_scope > 0.9 * weight_at(run, RESMON_STACK_CPU, 0));
}

TEST(calls_have_their_names)
{
    static void (*const functions[])(int64_t) = {seventy, twenty, ten};
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    for (int k = 0; k < 3; k++) {
        RESMON_SCOPE("work");
        uint64_t before = rm_handler_ticks();
        for (int i = 0; i < 1000 && rm_handler_ticks() == before; i++) {
            functions[k](RM_NS_PER_S / 50);
        }
    }
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    for (int k = 0; k < 3; k++) {
        assert_true(weight_at(run, RESMON_STACK_CPU, calls[k]) > 0);
    }
    check_names(run);
    resmon_run_free(run);
}

TEST(cpu_time_is_divided_as_it_was_spent)
{
    needs_live("the ticks of this host to come as CPU time is spent");
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    struct work work = do_work();
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    assert_true(work.samples > 0);
    check_shares(run, &work);
    assert_true(run->profile.kinds[RESMON_STACK_CPU].total >= 0.95 * work.all_ns);
    check_scopes(run);
    check_names(run);
    resmon_run_free(run);
}

NOINLINE static char *touch(char *memory, size_t bytes)
{
    calls[3] = THIS_CALL;
    for (size_t i = 0; i < bytes; i += 4096) {
        memory[i] = 1;
    }
    return memory;
}

NOINLINE static void grow(char *memory, size_t bytes)
{
    (void)touch(memory, bytes);
    AFTER_CALL;
}

TEST(growth_is_where_memory_is_touched)
{
    char *memory = fresh_memory(256 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY};
    resmon_monitor *monitor = start_with(&options);
    grow(memory, 256 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 256 * MIB);
    skip_without(run, RESMON_STACK_MEMORY);
    assert_true(weight_at(run, RESMON_STACK_MEMORY, calls[3]) > 0);
    assert_true(run->profile.kinds[RESMON_STACK_MEMORY].total >= 255.0 * (double)MIB);
    assert_true(weight_at(run, RESMON_STACK_CPU, 0) == 0);
    resmon_run_free(run);
}

TEST(growth_has_the_size_of_what_was_touched)
{
    needs_live("the samples of page faults to be taken out before their ring is full");
    char *memory = fresh_memory(256 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY};
    resmon_monitor *monitor = start_with(&options);
    grow(memory, 256 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 256 * MIB);
    skip_without(run, RESMON_STACK_MEMORY);
    /* It looks at a byte of its own for each 8, which may be there already. */
    double most = HAS_ADDRESS_SANITIZER ? 1.125 : 1.0;
    double share = weight_at(run, RESMON_STACK_MEMORY, calls[3]) / (double)(256 * MIB);
    assert_true(share >= 0.95 && share <= most + 0.05);
    resmon_run_free(run);
}

/* Every fault is a sample, and they come while others are taken out. */
TEST(no_fault_is_charged_twice)
{
    needs_live("the samples of page faults to be taken out before their ring is full");
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY, .fault_period = 1};
    char *memory = fresh_memory(64 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    resmon_monitor *monitor = start_with(&options);
    grow(memory, 64 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 64 * MIB);
    skip_without(run, RESMON_STACK_MEMORY);
    double all = weight_at(run, RESMON_STACK_MEMORY, 0) + weight_at(run, RESMON_STACK_FILE, 0);
    assert_true(all > 60 * (double)MIB);
    /* Where a thread gets a ring with more of the stack, both count for some microseconds. */
    assert_true(all <= 1.25 * (run->profile.kinds[RESMON_STACK_MEMORY].total +
                               run->profile.kinds[RESMON_STACK_FILE].total));
    resmon_run_free(run);
}

static char *huge_memory(size_t bytes)
{
    uintptr_t at = (uintptr_t)mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *memory = (char *)((at + 2 * MIB - 1) / (2 * MIB) * (2 * MIB)); // NOLINT
    if (madvise(memory, bytes, MADV_HUGEPAGE) != 0) {
        print_message("skipped: this kernel has no transparent huge pages\n");
        skip();
    }
    return memory;
}

static size_t faults_so_far(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (size_t)(usage.ru_minflt + usage.ru_majflt);
}

/* One fault brings 512 times as much. */
TEST(huge_pages_are_growth_by_their_size)
{
    needs_live("huge pages, and a kernel that tells of them");
    char *memory = huge_memory(128 * MIB);
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY, .fault_period = 4};
    resmon_monitor *monitor = start_with(&options);
    size_t before = faults_so_far();
    grow(memory, 128 * MIB);
    size_t faults = faults_so_far() - before;
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 128 * MIB);
    skip_without(run, RESMON_STACK_MEMORY);
    const struct rm_run_stack_kind *kind = &run->profile.kinds[RESMON_STACK_MEMORY];
    if (faults > 128 || strstr(kind->reason, "does not report huge pages") != NULL) {
        print_message("skipped: %zu page faults for 64 huge pages; %s\n", faults, kind->reason);
        resmon_run_free(run);
        skip();
    }
    assert_near(weight_at(run, RESMON_STACK_MEMORY, calls[3]) / (double)(128 * MIB), 1, 0.15);
    assert_near(kind->total / (double)(128 * MIB), 1, 0.15);
    assert_true(weight_at(run, RESMON_STACK_MEMORY, 0) <= 1.03 * kind->total);
    assert_non_null(strstr(kind->reason, "MiB of it came in huge pages"));
    resmon_run_free(run);
}

TEST(pages_of_files_are_no_growth)
{
    needs_live("the samples of page faults to be taken out before their ring is full");
    int fd = rm_memory_file("data");
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 32 * (off_t)MIB), 0);
    char *memory = fresh_memory(32 * MIB, MAP_SHARED, fd);
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY};
    resmon_monitor *monitor = start_with(&options);
    grow(memory, 32 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 32 * MIB);
    (void)close(fd);
    skip_without(run, RESMON_STACK_FILE);
    /* AddressSanitizer's own pages are between them, and what found a ring full is all of one kind.
     */
    double error = HAS_ADDRESS_SANITIZER ? 0.15 : 0.05;
    assert_near(weight_at(run, RESMON_STACK_FILE, calls[3]) / (double)(32 * MIB), 1, error);
    double others = HAS_ADDRESS_SANITIZER ? 8 : 1;
    assert_true(weight_at(run, RESMON_STACK_MEMORY, calls[3]) < others * (double)MIB);
    resmon_run_free(run);
}

/* A file that is in the page cache: the kernel maps its pages in groups, and in huge ones. */
static char *file_of(size_t bytes, int protection, int flags)
{
    char path[] = "test-pages-XXXXXX";
    int fd = mkstemp(path);
    char *page = calloc(1, MIB);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    for (size_t i = 0; i < bytes; i += MIB) {
        assert_int_equal(write(fd, page, MIB), MIB);
    }
    free(page);
    char *memory = mmap(NULL, bytes, protection, flags, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    (void)close(fd);
    return memory;
}

NOINLINE static void look_at(const volatile char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 512) {
        sink += (uint64_t)memory[i];
    }
}

/* One sample of 16 faults, of at most some 200 for 2 MiB: then it is rather a bound than a part. */
TEST(pages_of_a_file_are_what_rose)
{
    needs_live("a kernel whose page faults come as often as counted on");
    char *memory = file_of(64 * MIB, PROT_READ, MAP_SHARED);
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY, 0);
    look_at(memory, 64 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 64 * MIB);
    const struct rm_run_stack_kind *kind = &run->profile.kinds[RESMON_STACK_FILE];
    if (kind->status == RESMON_ENOENT) { /* as few faults as that */
        assert_non_null(strstr(kind->reason, "RssFile rose by "));
        resmon_run_free(run);
        return;
    }
    skip_without(run, RESMON_STACK_FILE);
    double all = weight_at(run, RESMON_STACK_FILE, 0);
    assert_true(kind->total >= 60.0 * (double)MIB);
    assert_true(all <= kind->total);
    assert_true(all >= 0.4 * kind->total);
    assert_near(kind->last_bytes - kind->first_bytes, 64.0 * (double)MIB, 4.0 * (double)MIB);
    resmon_run_free(run);
}

TEST(pages_that_are_copied_are_growth)
{
    needs_live("the samples of page faults to be taken out before their ring is full");
    if (access("/proc/thread-self/pagemap", R_OK) != 0) {
        print_message("skipped: /proc/thread-self/pagemap cannot be read\n");
        skip();
    }
    char *memory = file_of(32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY, 0);
    grow(memory, 32 * MIB);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 32 * MIB);
    skip_without(run, RESMON_STACK_MEMORY);
    double copied = weight_at(run, RESMON_STACK_MEMORY, calls[3]);
    assert_true(copied >= 30.0 * (double)MIB);
    assert_true(weight_at(run, RESMON_STACK_FILE, calls[3]) < 2.0 * (double)MIB);
    resmon_run_free(run);
}

/* Never 0 B and all is well. */
TEST(growth_without_faults_is_told)
{
    const resmon_monitor_options options = {.stacks = RESMON_STACKS_MEMORY, .fault_period = 100000};
    resmon_monitor *monitor = start_with(&options);
    char *memory = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 64 * MIB);
    const struct rm_run_stack_kind *kind = &run->profile.kinds[RESMON_STACK_MEMORY];
    if (kind->status != RESMON_OK && kind->status != RESMON_ENOENT) {
        skip_without(run, RESMON_STACK_MEMORY);
    }
    assert_int_equal(kind->status, RESMON_ENOENT);
    assert_true(kind->total >= 60.0 * (double)MIB);
    assert_non_null(strstr(kind->reason, "RssAnon rose by 6"));
    resmon_run_free(run);
}

/* ---- threads ----------------------------------------------------------------------------------
 */

static void *burn_for_a_while(void *unused)
{
    burn(0, RM_NS_PER_S / 4);
    AFTER_CALL;
    return unused;
}

static void *burn_in_thread(void *unused)
{
    (void)unused;
    burn_until_sampled(0, RM_NS_PER_S / 2);
    AFTER_CALL;
    return NULL;
}

static void *burn_blocked(void *is_seen)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (!__atomic_load_n((bool *)is_seen, __ATOMIC_ACQUIRE)) {
        burn(1, RM_NS_PER_S / 20);
        AFTER_CALL;
    }
    return NULL;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static void run_thread(void *(*function)(void *))
{
    in_thread(function, NULL);
}

TEST(later_threads_are_seen)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    run_thread(burn_in_thread);
    run_thread(burn_in_thread);
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    assert_true(weight_at(run, RESMON_STACK_CPU, calls[0]) > 0);
    resmon_run_free(run);
}

TEST(later_threads_have_no_more_than_there_was)
{
    needs_live("new threads to be found soon");
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    run_thread(burn_in_thread);
    run_thread(burn_in_thread);
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    double seen = weight_at(run, RESMON_STACK_CPU, calls[0]);
    assert_true(seen < 1.3 * run->profile.kinds[RESMON_STACK_CPU].total);
    resmon_run_free(run);
}

static resmon_run *run_of_short_threads(void)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, 1000);
    uint64_t before = rm_handler_ticks();
    int64_t begin = rm_clock_monotonic_ns();
    int64_t passed_ns = 0;
    while (passed_ns < RM_NS_PER_S / 2 ||
           (rm_handler_ticks() == before && passed_ns < 20 * RM_NS_PER_S)) {
        run_thread(do_nothing);
        passed_ns = rm_clock_monotonic_ns() - begin;
    }
    return finish(monitor);
}

TEST(threads_may_end_soon)
{
    resmon_run *run = run_of_short_threads();
    assert_int_equal(run->profile.kinds[RESMON_STACK_CPU].status, RESMON_OK);
    resmon_run_free(run);
}

/* Not that a thread has ended before it could be sampled. */
TEST(threads_that_end_soon_are_no_failure)
{
    needs_live("memory to be locked for the ring of each thread");
    resmon_run *run = run_of_short_threads();
    if (run->profile.kinds[RESMON_STACK_MEMORY].status != RESMON_ENOENT) { /* too few faults each */
        skip_without(run, RESMON_STACK_MEMORY);
    }
    assert_int_equal(run->profile.lost[RM_LOSS_THREADS], 0);
    resmon_run_free(run);
}

static void *burn_until_cancelled(void *unused)
{
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    for (;;) {
        sink++;
    }
    return unused;
}

/* Most are cancelled in the handler, or near it: each of them must end, and sampling goes on. */
TEST(threads_are_cancelled_while_sampled)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 1000);
    for (int i = 0; i < 25; i++) {
        pthread_t threads[2];
        for (int t = 0; t < 2; t++) {
            assert_int_equal(pthread_create(&threads[t], NULL, burn_until_cancelled, NULL), 0);
        }
        (void)usleep(25000);
        for (int t = 0; t < 2; t++) {
            assert_int_equal(pthread_cancel(threads[t]), 0);
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        }
    }
    burn_until_sampled(2, RM_NS_PER_S / 8);
    AFTER_CALL;
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    assert_true(weight_at(run, RESMON_STACK_CPU, calls[2]) > 0);
    resmon_run_free(run);
}

TEST(a_blocked_signal_is_counted)
{
    pthread_t thread;
    bool is_seen = false;
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    assert_int_equal(pthread_create(&thread, NULL, burn_blocked, &is_seen), 0);
    while (lost_so_far(monitor, RM_LOSS_BLOCKED) == 0) { /* it is looked for now and then */
        (void)usleep(50000);
    }
    __atomic_store_n(&is_seen, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    resmon_run *run = finish(monitor);
    assert_true(run->profile.lost[RM_LOSS_BLOCKED] > 0);
    assert_true(weight_at(run, RESMON_STACK_CPU, calls[1]) == 0.0);
    resmon_run_free(run);
}

/* ---- unusual stacks -----------------------------------------------------------------------------
 */

NOINLINE static int recurse(int depth)
{
    if (depth == 0) {
        burn_until_sampled(0, RM_NS_PER_S / 8);
        AFTER_CALL;
        return 1;
    }
    int below = recurse(depth - 1);
    AFTER_CALL;
    return below + 1;
}

TEST(deep_recursion_is_cut)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    assert_int_equal(recurse(20000), 20001);
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    assert_true(weight_at(run, RESMON_STACK_CPU, calls[0]) > 0);
    assert_true(run->profile.lost[RM_LOSS_DEPTH] > 0);
    resmon_run_free(run);
}

static uint64_t interrupted;

static void burn_in_handler(int number)
{
    (void)number;
    burn_until_sampled(1, RM_NS_PER_S / 8);
    AFTER_CALL;
}

NOINLINE static void be_interrupted(void)
{
    interrupted = THIS_CALL;
    assert_int_equal(raise(SIGUSR1), 0);
    AFTER_CALL;
}

static void check_handler_stacks(int flags)
{
    struct sigaction action = {.sa_flags = flags};
    action.sa_handler = burn_in_handler;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    be_interrupted();
    AFTER_CALL;
    resmon_run *run = finish(monitor);
    skip_without(run, RESMON_STACK_CPU);
    double in_handler = weight_at(run, RESMON_STACK_CPU, calls[1]);
    assert_true(in_handler > 0);
    assert_true(weight_at(run, RESMON_STACK_CPU, interrupted) >= in_handler * 0.9);
    resmon_run_free(run);
    (void)signal(SIGUSR1, SIG_DFL);
}

TEST(stacks_go_through_signal_frames)
{
    check_handler_stacks(0);
}

TEST(stacks_go_from_an_alternate_stack)
{
    stack_t alternate = {.ss_sp = malloc(256 * 1024), .ss_size = 256 * 1024};
    const stack_t none = {.ss_flags = SS_DISABLE};
    assert_non_null(alternate.ss_sp);
    assert_int_equal(sigaltstack(&alternate, NULL), 0);
    check_handler_stacks(SA_ONSTACK);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    free(alternate.ss_sp);
}

/* ---- several monitors, signals of the program
 * ---------------------------------------------------- */

TEST(one_monitor_takes_stacks)
{
    resmon_monitor *first = start(RESMON_STACKS_CPU, 99);
    resmon_monitor *second = start(RESMON_STACKS_ALL, 99);
    resmon_run *of_second = finish(second);
    assert_int_equal(of_second->profile.kinds[RESMON_STACK_CPU].status, RESMON_EBUSY);
    assert_int_equal(of_second->profile.kinds[RESMON_STACK_MEMORY].status, RESMON_EBUSY);
    resmon_run_free(of_second);
    resmon_run_free(finish(first));
    resmon_run *again = finish(start(RESMON_STACKS_CPU, 99));
    assert_int_equal(again->profile.kinds[RESMON_STACK_CPU].status, RESMON_OK);
    resmon_run_free(again);
}

TEST(a_monitor_without_stacks_has_none)
{
    resmon_run *run = finish(start(0, 0));
    assert_false(rm_profile_is_there(&run->profile));
    assert_int_equal(run->profile.stack_count, 0);
    resmon_run_free(run);
}

static volatile sig_atomic_t programs;

static void on_signal(int number)
{
    (void)number;
    programs++;
}

TEST(the_programs_handlers_are_its_own)
{
    struct sigaction action = {.sa_flags = 0};
    struct sigaction after;
    action.sa_handler = on_signal;
    assert_int_equal(sigaction(SIGURG, &action, NULL), 0);
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    assert_int_equal(raise(SIGURG), 0);
    burn_until_sampled(0, RM_NS_PER_S / 8);
    AFTER_CALL;
    resmon_run *run = finish(monitor);
    assert_int_equal(programs, 1);
    assert_true(weight_at(run, RESMON_STACK_CPU, calls[0]) > 0);
    resmon_run_free(run);
    assert_int_equal(sigaction(SIGURG, NULL, &after), 0);
    assert_true(after.sa_handler == on_signal);
    (void)signal(SIGURG, SIG_DFL);
}

TEST(peaks_have_all_threads)
{
    needs_live("looks at the stacks while memory grows");
    char *memory = fresh_memory(128 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    resmon_monitor *monitor = start(RESMON_STACKS_PEAK, 0);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, burn_for_a_while, NULL), 0);
    }
    for (size_t done = 0; done < 128 * MIB; done += 8 * MIB) {
        grow(memory + done, 8 * MIB);
        burn(2, 20 * RM_NS_PER_MS);
        AFTER_CALL;
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    resmon_run *run = finish(monitor);
    (void)munmap(memory, 128 * MIB);
    const struct rm_run_peak *peak = &run->profile.peak;
    if (run->profile.kinds[RESMON_STACK_CPU].status == RESMON_EBUSY) {
        fail_msg("%s", run->profile.kinds[RESMON_STACK_CPU].reason);
    }
    assert_true(peak->t_ns > 0);
    assert_true(peak->stack_count >= 1);
    assert_true(peak->rss_bytes > 16.0 * (double)MIB);
    for (size_t i = 0; i < peak->stack_count; i++) {
        assert_true(peak->stacks[i].thread > 0);
        assert_true(peak->stacks[i].depth > 0);
        /* One that has ended before its name was read has none. */
        const char *name = peak->stacks[i].thread_name;
        bool may_have_ended = peak->stacks[i].thread != (uint64_t)getpid();
        assert_true(strcmp(name, "test_stacks") == 0 || (may_have_ended && name[0] == '\0'));
    }
    resmon_run_free(run);
}
/* Signals go on no more then: the handler would get a thousand in a second. */
TEST(a_program_takes_the_signal_for_itself)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 1000);
    programs = 0;
    (void)signal(SIGURG, on_signal);
    bool goes_on = true;
    for (int i = 0; i < 100 && goes_on; i++) { /* it is noticed when the threads are looked at */
        int seen = programs;
        burn(0, RM_NS_PER_S / 2);
        AFTER_CALL;
        goes_on = programs - seen > 2;
    }
    assert_false(goes_on);
    resmon_run *run = finish(monitor);
    assert_int_equal(run->profile.kinds[RESMON_STACK_CPU].status, RESMON_EBUSY);
    resmon_run_free(run);
    (void)signal(SIGURG, SIG_DFL);
}

/* ---- other processes
 * ----------------------------------------------------------------------------- */

static int outcome_of(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

TEST(children_are_left_alone)
{
    resmon_monitor *monitor = start(RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, 1000);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            burn(3, 5 * RM_NS_PER_MS);
            AFTER_CALL;
            if (i % 2 == 0) {
                (void)execlp("true", "true", (char *)NULL);
            }
            _exit(0);
        }
        burn(0, 5 * RM_NS_PER_MS);
        AFTER_CALL;
        assert_int_equal(outcome_of(child), 0);
    }
    end_unseen(monitor);
}

/* The allocator of AddressSanitizer stays locked in a child where the fork found another thread in
 * it, as threads that follow stacks often are. */
static void skip_if_no_child_can_allocate(void)
{
    if (HAS_ADDRESS_SANITIZER) {
        print_message("skipped: under AddressSanitizer a child may not be able to allocate\n");
        skip();
    }
}

TEST(a_child_has_stacks_of_its_own)
{
    skip_if_no_child_can_allocate();
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        resmon_monitor *own = start(RESMON_STACKS_CPU, 250);
        burn_until_sampled(1, RM_NS_PER_S / 8);
        AFTER_CALL;
        resmon_run *run = finish(own);
        int code = weight_at(run, RESMON_STACK_CPU, calls[1]) > 0 ? 0 : 3;
        resmon_run_free(run);
        resmon_monitor_free(monitor);
        _exit(code);
    }
    assert_int_equal(outcome_of(child), 0);
    end_unseen(monitor);
}

static volatile bool is_over;

static void *touch_until_over(void *unused)
{
    while (!is_over) {
        volatile char *bytes =
            mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < MIB; i += 4096) {
            bytes[i] = 1;
        }
        (void)munmap((void *)bytes, MIB);
    }
    return unused;
}

/* Some of the forks find a thread in the handler. */
TEST(a_fork_in_the_midst_of_handlers)
{
    skip_if_no_child_can_allocate();
    const resmon_monitor_options options = {
        .stacks = RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, .stack_hz = 1000, .fault_period = 1};
    resmon_monitor *monitor = start_with(&options);
    pthread_t threads[2];
    for (int t = 0; t < 2; t++) {
        assert_int_equal(pthread_create(&threads[t], NULL, touch_until_over, NULL), 0);
    }
    for (int i = 0; i < 15; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            resmon_monitor *own = start(RESMON_STACKS_CPU, 1000);
            burn(1, 10 * RM_NS_PER_MS);
            AFTER_CALL;
            if (i % 5 == 0) {
                resmon_run_free(finish(own));
            } else {
                end_unseen(own);
            }
            _exit(0);
        }
        assert_int_equal(outcome_of(child), 0);
    }
    is_over = true;
    for (int t = 0; t < 2; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    end_unseen(monitor);
}

static void *sample_without_main(void *main_thread)
{
    (void)pthread_join(*(pthread_t *)main_thread, NULL);
    resmon_monitor *monitor = start(RESMON_STACKS_CPU, 250);
    burn_until_sampled(1, RM_NS_PER_S / 8);
    AFTER_CALL;
    resmon_run *run = finish(monitor);
    _exit(weight_at(run, RESMON_STACK_CPU, calls[1]) > 0 ? 0 : 6);
}

TEST(the_main_thread_may_end)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static pthread_t self;
        pthread_t thread;
        self = pthread_self();
        (void)pthread_create(&thread, NULL, sample_without_main, &self);
        pthread_exit(NULL);
    }
    assert_int_equal(outcome_of(child), 0);
}

TEST(exec_ends_it_all)
{
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)start(RESMON_STACKS_CPU | RESMON_STACKS_MEMORY, 1000);
            burn(0, 3 * RM_NS_PER_MS * i);
            AFTER_CALL;
            (void)execlp("true", "true", (char *)NULL);
            _exit(4);
        }
        assert_int_equal(outcome_of(child), 0);
    }
}

static bool has_recorded_stacks(const char *path)
{
    resmon_run *run = NULL;
    if (resmon_run_load(path, &run) != RESMON_OK) {
        return false;
    }
    bool has_some = weight_at(run, RESMON_STACK_CPU, 0) > 0;
    resmon_run_free(run);
    return has_some;
}

TEST(a_killed_program_leaves_its_stacks)
{
    char path[] = "stacks-XXXXXX";
    int fd = mkstemp(path);
    int ready[2];
    char byte;
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const resmon_monitor_options options = {
            .stacks = RESMON_STACKS_CPU, .stack_hz = 250, .record = path};
        (void)start_with(&options);
        burn_until_sampled(0, RM_NS_PER_S / 8);
        AFTER_CALL;
        (void)write(ready[1], "", 1);
        burn(1, 600 * RM_NS_PER_S);
        AFTER_CALL;
        _exit(5);
    }
    burn(0, 0); /* the address is the same here */
    assert_int_equal(read(ready[0], &byte, 1), 1);
    for (int i = 0; i < 600 && !has_recorded_stacks(path); i++) {
        (void)usleep(100000); /* until the thread that takes them out has come by */
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_true(WIFSIGNALED(outcome_of(child)));
    resmon_run *run = NULL;
    assert_ok(resmon_run_load(path, &run));
    assert_string_equal(run->info.state, "interrupted");
    skip_without(run, RESMON_STACK_CPU);
    assert_true(weight_at(run, RESMON_STACK_CPU, 0) > 0);
    assert_true(run->profile.module_count > 0);
    resmon_run_free(run);
    (void)unlink(path);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

TEST_FILE(.missing = missing_stacks);
