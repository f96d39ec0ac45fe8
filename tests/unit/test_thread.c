/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library: work on a stack of our own is done, and answers as if it had been done
 * here; where no thread can be had, it is done here if there is stack for it, and else not at all.
 */
#define _GNU_SOURCE /* pthread_attr_setstack */
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"
#include "base/thread.h"
#include "unit/sanitizer.h"

struct work {
    resmon_status status;
    int calls;
    uint32_t thread, inner;
    size_t left;
    int is_blocked; /* SIGTERM */
};

static resmon_status note(void *inner)
{
    *(uint32_t *)inner = rm_thread_id();
    return RESMON_OK;
}

static resmon_status do_work(void *work_)
{
    struct work *work = work_;
    sigset_t blocked;
    work->calls++;
    work->thread = rm_thread_id();
    work->left = rm_thread_stack_left();
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    work->is_blocked = sigismember(&blocked, SIGTERM);
    assert_ok(rm_thread_call(note, &work->inner));
    errno = EDOM;
    return work->status == RESMON_OK ? RESMON_OK : rm_error(work->status, "the text of %s", "it");
}

TEST(work_is_done_on_another_stack)
{
    struct work work = {.status = RESMON_OK};
    errno = EILSEQ;
    assert_ok(rm_thread_call(do_work, &work));
    assert_int_equal(errno, EILSEQ);
    assert_int_equal(work.calls, 1);
    assert_int_not_equal(work.thread, rm_thread_id());
    assert_int_equal(work.inner, work.thread);
    assert_in_range(work.left, 960 * 1024, 1100 * 1024);
    assert_int_equal(work.is_blocked, 1);
}

TEST(errors_come_back)
{
    struct work work = {.status = RESMON_ENOSPC};
    assert_int_equal(rm_thread_call(do_work, &work), RESMON_ENOSPC);
    assert_string_equal(resmon_last_error(), "the text of it");
}

TEST(without_a_thread_it_is_done_here)
{
    struct work work = {.status = RESMON_OK};
    rm_fault_arm(RM_FAULT_THREAD, 0);
    assert_ok(rm_thread_call(do_work, &work));
    assert_true(rm_fault_fired(RM_FAULT_THREAD));
    rm_fault_arm(RM_FAULT_THREAD, -1);
    assert_int_equal(work.calls, 1);
    assert_int_equal(work.thread, rm_thread_id());
    assert_int_not_equal(work.inner, work.thread); /* a thread could be had again */
}

static void *call_on_small_stack(void *work)
{
    rm_fault_arm(RM_FAULT_THREAD, 0);
    resmon_status status = rm_thread_call(do_work, work);
    rm_fault_arm(RM_FAULT_THREAD, -1);
    return (void *)(intptr_t)status;
}

TEST(nor_on_a_small_stack)
{
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: ThreadSanitizer takes more of a stack than that\n");
        skip();
    }
    struct work work = {.status = RESMON_OK};
    static _Alignas(4096) char stack[60 * 1024];
    pthread_attr_t attributes;
    pthread_t thread;
    void *status = NULL;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, call_on_small_stack, &work), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((intptr_t)status, RESMON_EBUSY);
    assert_int_equal(work.calls, 0);
}

/* More than can be started at a time without memory of the heap. */
static void *call_work(void *work)
{
    return (void *)(intptr_t)rm_thread_call(do_work, work);
}

TEST(many_at_once)
{
    enum { MANY = 64 };
    static struct work work[MANY];
    pthread_t threads[MANY];
    int64_t live = rm_fault_live(0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, call_work, &work[i]), 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        void *status = NULL;
        assert_int_equal(pthread_join(threads[i], &status), 0);
        assert_null(status);
        assert_int_equal(work[i].calls, 1);
    }
    assert_int_equal(rm_fault_live(0), live);
}

/* ---- how many there are --------------------------------------------------------------------- */

static void *end_at_once(void *unused)
{
    return unused;
}

static const struct rm_thread_work brief = {"rm-brief", RM_STACK_SMALL, end_at_once, NULL};

/* num_threads of proc(5). */
static uint64_t threads_of_kernel(void)
{
    uint64_t threads = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file,
                            "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                            "%*d %*d %" SCNu64,
                            &threads),
                     1);
    assert_int_equal(fclose(file), 0);
    return threads;
}

/* The kernel counts a thread for a while after it was joined: longer, where CPUs are busy. */
TEST(a_joined_thread_counts_until_it_is_gone)
{
    uint64_t changes, later;
    uint64_t programs = threads_of_kernel() - rm_thread_count(&changes);
    unsigned compared = 0;
    for (unsigned i = 0; i < 3000; i++) {
        pthread_t thread;
        assert_ok(rm_thread_start(&thread, &brief));
        assert_int_equal(pthread_join(thread, NULL), 0);
        uint64_t ours = rm_thread_count(&changes);
        uint64_t threads = threads_of_kernel();
        (void)rm_thread_count(&later);
        if (later == changes) { /* else it went meanwhile */
            assert_int_equal(threads - ours, programs);
            compared++;
        }
    }
    assert_true(compared > 0);
}

static void *wait_for_end(void *mutex)
{
    (void)pthread_mutex_lock(mutex);
    (void)pthread_mutex_unlock(mutex);
    return NULL;
}

TEST(a_forks_child_has_none)
{
    pthread_t thread;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const struct rm_thread_work work = {"rm-waits", RM_STACK_SMALL, wait_for_end, &mutex};
    uint64_t changes;
    int status = 0;
    assert_int_equal(pthread_mutex_lock(&mutex), 0);
    assert_ok(rm_thread_start(&thread, &work));
    while (rm_thread_count(&changes) != 1) { /* those of other tests go */
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit((int)rm_thread_count(&changes));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(pthread_mutex_unlock(&mutex), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
