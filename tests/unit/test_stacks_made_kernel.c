/* SPDX-License-Identifier: MIT */
/*
 * Stacks of page faults of a whole run, where the kernel's answers are made: rings with samples
 * that are known, and everything that a kernel may refuse, from the start, midway, or of a thread
 * that ends.  So the figures are exact, and each refusal is tried on every host.
 */
#define _GNU_SOURCE /* memfd_create */
#include "base/libc.h"
#include "runs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/thread.h"
#include "os/perf.h"
#include "os/perf_ring.h"
#include "stack/faults.h"
#include "stack_tests.h"

#define PAGE   4096U
#define PERIOD 16U

/* ---- the kernel ------------------------------------------------------------------------- */

/* What it refuses. */
static struct {
    int all;         /* atomic: every event, with this errno */
    bool kernel;     /* what others do in the kernel: perf_event_paranoid 2 */
    bool page_sizes; /* before Linux 5.11 */
    bool locked;     /* memory for rings: ulimit -l */
} refuses;

/* The rings of page faults that it has given out. */
static struct made {
    int64_t thread;
    struct perf_event_mmap_page *page;
    bool has_pages;
    uint64_t faults;
} rings[16];
static unsigned ring_count; /* atomic */

static int refuse(int error)
{
    errno = error;
    return -1;
}

static int new_ring(const struct perf_event_attr *attributes, int64_t tid)
{
    const size_t bytes = PAGE + RM_PERF_RING_MOST_BYTES;
    int fd = (int)syscall(SYS_memfd_create, "ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    struct perf_event_mmap_page *page =
        mmap(NULL, bytes, PROT_READ | (refuses.locked ? 0 : PROT_WRITE), MAP_SHARED, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    if (refuses.locked) { /* it may not be mapped to be written to: EPERM, as for locked memory */
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    }
    if (attributes->config == PERF_COUNT_SW_PAGE_FAULTS_MIN) {
        unsigned count = __atomic_load_n(&ring_count, __ATOMIC_RELAXED);
        rings[count % 16] =
            (struct made){tid, page, (attributes->sample_type & RM_PERF_SAMPLE_PAGE_SIZE) != 0, 0};
        __atomic_store_n(&ring_count, count + 1, __ATOMIC_RELEASE);
    }
    return fd;
}

struct worker {
    pthread_t thread;
    int64_t id;     /* atomic */
    bool is_to_end; /* atomic */
};

/* Its ring is refused, and it has ended when the answer comes. */
static struct worker *ending;

static void end_at_once(struct worker *worker, int64_t thread)
{
    __atomic_store_n(&worker->is_to_end, true, __ATOMIC_RELEASE);
    while (syscall(SYS_tgkill, getpid(), (pid_t)thread, 0) == 0) {
        (void)sched_yield();
    }
}

static int made_open(const struct perf_event_attr *attributes, int64_t tid)
{
    if (ending != NULL && tid == ending->id) {
        end_at_once(ending, tid);
        return refuse(EPERM);
    }
    int all = __atomic_load_n(&refuses.all, __ATOMIC_RELAXED);
    if (all != 0) {
        return refuse(all);
    }
    if (refuses.kernel && attributes->exclude_kernel == 0) {
        return refuse(EACCES);
    }
    if (refuses.page_sizes && (attributes->sample_type & RM_PERF_SAMPLE_PAGE_SIZE) != 0) {
        return refuse(EINVAL);
    }
    return new_ring(attributes, tid);
}

/* Of this program's function, with one frame. */
static void put_sample(struct made *ring, uint64_t faults, const void *address, uint64_t ip)
{
    enum { STACK_WORDS = 8, SP = RM_PERF_REGISTERS > 20 ? 31 : 7, IP = SP + 1 };
    uint64_t words[4 + RM_PERF_REGISTERS + STACK_WORDS + 4] = {0};
    static uint64_t stack[STACK_WORDS];
    size_t n = 1; /* behind the header */
    ring->faults += faults;
    words[n++] = (uint64_t)rm_clock_monotonic_ns();
    words[n++] = (uint64_t)(uintptr_t)address;
    words[n++] = ring->faults;
    words[n++] = PERF_SAMPLE_REGS_ABI_64;
    words[n + SP] = (uint64_t)(uintptr_t)stack;
    words[n + IP] = ip;
    n += RM_PERF_REGISTERS;
    words[n++] = STACK_WORDS * sizeof(uint64_t);
    n += STACK_WORDS;
    words[n++] = STACK_WORDS * sizeof(uint64_t);
    if (ring->has_pages) {
        words[n++] = PAGE;
    }
    const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
                                             .size = (uint16_t)(n * sizeof words[0])};
    memcpy(words, &header, sizeof header);
    unsigned char *data = (unsigned char *)ring->page + PAGE;
    uint64_t head = ring->page->data_head;
    for (size_t i = 0; i < n; i++) {
        memcpy(data + (head + i * 8) % RM_PERF_RING_MOST_BYTES, &words[i], 8);
    }
    __atomic_store_n(&ring->page->data_head, head + n * 8, __ATOMIC_RELEASE);
}

/* ---- runs ------------------------------------------------------------------------------- */

FIXTURE(begin)
{
    memset(&refuses, 0, sizeof refuses);
    ring_count = 0;
    rm_perf_made_open = made_open;
    return 0;
}

FIXTURE(end)
{
    rm_perf_made_open = NULL;
    return 0;
}

static resmon_monitor *start(uint64_t stacks)
{
    return start_with(&(resmon_monitor_options){.stacks = stacks, .fault_period = PERIOD});
}

static struct made *ring_of(int64_t thread)
{
    unsigned count;
    for (;;) {
        count = __atomic_load_n(&ring_count, __ATOMIC_ACQUIRE);
        for (unsigned i = 0; i < count; i++) {
            if (rings[i].thread == thread) {
                return &rings[i];
            }
        }
        (void)usleep(1000);
    }
}

static uint64_t code(void)
{
    return (uint64_t)(uintptr_t)ring_of + 4;
}

static double weight_of(const resmon_run *run, int kind)
{
    double sum = 0;
    for (size_t i = 0; i < run->profile.stack_count; i++) {
        sum += run->profile.stacks[i].weight[kind];
    }
    return sum;
}

static const struct rm_run_stack_kind *memory_of(const resmon_run *run)
{
    return &run->profile.kinds[RESMON_STACK_MEMORY];
}

/* ---- samples ---------------------------------------------------------------------------- */

/* Each stands for the faults since the one before; what found the ring full is charged to the next
 * one, and said. */
TEST(growth_is_what_the_samples_say)
{
    char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY);
    struct made *ring = ring_of((int64_t)rm_thread_id());
    for (int i = 0; i < 100; i++) {
        put_sample(ring, PERIOD, memory, code());
    }
    put_sample(ring, (uint64_t)10 * PERIOD, memory, code());
    resmon_run *run = finish(monitor);
    assert_int_equal(memory_of(run)->status, RESMON_OK);
    assert_true(weight_of(run, RESMON_STACK_MEMORY) == 110.0 * PERIOD * PAGE);
    assert_int_equal(run->profile.lost[RM_LOSS_RING], 9);
    assert_int_equal(run->profile.lost[RM_LOSS_THREADS], 0);
    resmon_run_free(run);
    (void)munmap(memory, PAGE);
}

/* Never more than rose of the pages of files, whatever their samples stand for. */
TEST(pages_of_files_are_no_growth)
{
    int fd = rm_memory_file("data");
    assert_true(fd >= 0 && ftruncate(fd, PAGE) == 0);
    char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY);
    struct made *ring = ring_of((int64_t)rm_thread_id());
    for (int i = 0; i < 100; i++) {
        put_sample(ring, PERIOD, memory, code());
    }
    resmon_run *run = finish(monitor);
    assert_true(weight_of(run, RESMON_STACK_MEMORY) == 0.0);
    assert_true(weight_of(run, RESMON_STACK_FILE) <= run->profile.kinds[RESMON_STACK_FILE].total);
    resmon_run_free(run);
    (void)munmap(memory, PAGE);
    (void)close(fd);
}

/* ---- refusals --------------------------------------------------------------------------- */

TEST(all_may_be_refused)
{
    static const struct {
        int error;
        resmon_status status;
        const char *text;
    } cases[] = {
        {EACCES, RESMON_EACCES, "kernel.perf_event_paranoid above 2"},
        {EPERM, RESMON_EACCES, "a filter of system calls"},
        {ENOSYS, RESMON_ENOTSUP, "does not sample page faults"},
        {EINVAL, RESMON_ENOTSUP, "does not sample page faults"},
        {EMFILE, RESMON_EIO, "cannot sample page faults"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuses.all = cases[i].error;
        resmon_run *run = finish(start(RESMON_STACKS_MEMORY | RESMON_STACKS_CPU));
        assert_int_equal(memory_of(run)->status, cases[i].status);
        assert_non_null(strstr(memory_of(run)->reason, cases[i].text));
        assert_null(strstr(memory_of(run)->reason, "not of all threads"));
        assert_int_not_equal(run->profile.kinds[RESMON_STACK_CPU].status, cases[i].status);
        assert_int_equal(run->profile.lost[RM_LOSS_THREADS], 0);
        resmon_run_free(run);
    }
}

static bool has_huge_pages(void)
{
    char line[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    bool is_read = file != NULL && fgets(line, sizeof line, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_read && rm_huge_pages_parse(rm_text_of(line, strlen(line))) != RM_HUGE_PAGES_NONE;
}

/* An old kernel, and one that lets nobody see what others do in it: both are said. */
TEST(less_may_be_granted)
{
    for (int i = 0; i < 4; i++) {
        refuses.kernel = (i & 1) != 0;
        refuses.page_sizes = (i & 2) != 0;
        ring_count = 0;
        resmon_monitor *monitor = start(RESMON_STACKS_MEMORY);
        struct made *ring = ring_of((int64_t)rm_thread_id());
        char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        put_sample(ring, PERIOD, memory, code());
        resmon_run *run = finish(monitor);
        const char *reason = memory_of(run)->reason;
        assert_int_equal(ring->has_pages, !refuses.page_sizes);
        assert_int_equal(memory_of(run)->status, RESMON_OK);
        assert_int_equal(strstr(reason, "kernel.perf_event_paranoid 2") != NULL, refuses.kernel);
        assert_int_equal(strstr(reason, "does not report huge pages") != NULL,
                         refuses.page_sizes && has_huge_pages());
        assert_true(weight_of(run, RESMON_STACK_MEMORY) == (double)PERIOD * PAGE);
        resmon_run_free(run);
        (void)munmap(memory, PAGE);
    }
}

TEST(memory_for_rings_may_be_refused)
{
    refuses.locked = true;
    resmon_run *run = finish(start(RESMON_STACKS_MEMORY));
    assert_int_equal(memory_of(run)->status, RESMON_EACCES);
    assert_non_null(strstr(memory_of(run)->reason, "ulimit -l"));
    resmon_run_free(run);
}

/* ---- threads ---------------------------------------------------------------------------- */

static void *work(void *worker_)
{
    struct worker *worker = worker_;
    __atomic_store_n(&worker->id, (int64_t)rm_thread_id(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&worker->is_to_end, __ATOMIC_ACQUIRE)) {
        (void)usleep(1000);
    }
    return NULL;
}

static void begin_work(struct worker *worker)
{
    *worker = (struct worker){.id = 0};
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    while (__atomic_load_n(&worker->id, __ATOMIC_ACQUIRE) == 0) {
        (void)sched_yield();
    }
}

static void end_work(struct worker *worker)
{
    __atomic_store_n(&worker->is_to_end, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
}

/* Of the one thread there are stacks; the one that came when it was refused is missing, by name. */
TEST(a_refusal_midway_is_of_some_threads)
{
    struct worker worker;
    char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY);
    put_sample(ring_of((int64_t)rm_thread_id()), PERIOD, memory, code());
    __atomic_store_n(&refuses.all, EPERM, __ATOMIC_RELAXED);
    begin_work(&worker);
    while (lost_so_far(monitor, RM_LOSS_THREADS) == 0) {
        (void)usleep(1000);
    }
    end_work(&worker);
    resmon_run *run = finish(monitor);
    assert_int_equal(memory_of(run)->status, RESMON_OK);
    assert_int_equal(strncmp(memory_of(run)->reason, "not of all threads: the kernel does not", 39),
                     0);
    assert_int_equal(run->profile.lost[RM_LOSS_THREADS], 1);
    resmon_run_free(run);
    (void)munmap(memory, PAGE);
}

/* Where the ring of a thread is refused that has ended meanwhile, nobody is missing. */
TEST(a_thread_that_has_ended_is_not_missing)
{
    struct worker first, second;
    char *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    begin_work(&first);
    ending = &first;
    resmon_monitor *monitor = start(RESMON_STACKS_MEMORY);
    put_sample(ring_of((int64_t)rm_thread_id()), PERIOD, memory, code());
    begin_work(&second);
    (void)ring_of(second.id); /* a round later */
    end_work(&second);
    assert_true(first.is_to_end);
    assert_int_equal(pthread_join(first.thread, NULL), 0);
    ending = NULL;
    resmon_run *run = finish(monitor);
    assert_int_equal(memory_of(run)->status, RESMON_OK);
    assert_int_equal(run->profile.lost[RM_LOSS_THREADS], 0);
    assert_null(strstr(memory_of(run)->reason, "not of all threads"));
    resmon_run_free(run);
    (void)munmap(memory, PAGE);
}

static const char *missing_samples_of_faults(void)
{
    return RM_PERF_REGISTERS == 0 ? "page faults are not sampled on this architecture"
                                  : missing_stacks();
}

TEST_FILE(.missing = missing_samples_of_faults, .before_each = begin, .after_each = end);
