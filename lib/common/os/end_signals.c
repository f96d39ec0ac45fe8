/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, SYS_clock_nanosleep */
#include "os/end_signals.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/thread.h"

#define HOLD_NS     (RM_NS_PER_S / 5)
#define SAME_NS     (RM_NS_PER_S / 2)
#define MOST_NUMBER 63

#define LOOK_EVERY_NS (10L * 1000 * 1000)

static struct rm_end_signals terms; /* set before the first handler */
static bool has_thread;
static pthread_t finisher;
static sem_t has_come;
static int number_of_end; /* atomic; the first that came, 0: none */
static int64_t came_ns;   /* atomic; 0: not noted yet */
static bool is_over;      /* atomic; it did not end the program */

/* As it would have been without us. */
static void end_program(int number)
{
    sigset_t one;
    struct sigaction by_default = {.sa_flags = 0};
    by_default.sa_handler = SIG_DFL;
    (void)sigaction(number, &by_default, NULL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}

/* By the bare system call, which is no point at which a thread is cancelled. */
static void hold(void)
{
    int64_t until_ns = rm_clock_monotonic_ns() + HOLD_NS;
    const struct timespec until = {until_ns / RM_NS_PER_S, until_ns % RM_NS_PER_S};
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0 &&
           errno == EINTR) {
    }
}

static bool is_the_same_again(void)
{
    int64_t then_ns = __atomic_load_n(&came_ns, __ATOMIC_ACQUIRE);
    return then_ns == 0 || rm_clock_monotonic_ns() - then_ns < SAME_NS;
}

static void on_signal(int number)
{
    int error = errno;
    int none = 0;
    bool is_ours = terms.is_ours();
    if (is_ours && __atomic_compare_exchange_n(&number_of_end, &none, number, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&came_ns, rm_clock_monotonic_ns(), __ATOMIC_RELEASE);
        (void)sem_post(&has_come);
        hold();
    } else if (!is_ours || !is_the_same_again()) {
        end_program(number);
    }
    errno = error;
}

static void *wait_and_finish(void *unused)
{
    while (sem_wait(&has_come) != 0 && errno == EINTR) {
    }
    int number = __atomic_load_n(&number_of_end, __ATOMIC_ACQUIRE);
    terms.finish(number);
    end_program(number);
    terms.go_on();
    RM_STORE(&is_over, true);
    return unused;
}

static resmon_status start_thread(void)
{
    const struct rm_thread_work work = {"rm-signal", RM_STACK_LIBRARIES, wait_and_finish, NULL};
    (void)sem_init(&has_come, 0, 0);
    resmon_status status = rm_thread_start(&finisher, &work);
    if (status == RESMON_OK) {
        (void)pthread_detach(finisher);
        has_thread = true;
    }
    return status;
}

/* Set by sigaction() with SA_NODEFER: the second may come to the thread that holds the first. */
resmon_status rm_end_signals_take(const struct rm_end_signals *signals)
{
    const uint64_t before = terms.wanted;
    terms = *signals;
    terms.wanted |= before;
    resmon_status status = has_thread ? RESMON_OK : start_thread();
    struct sigaction ours = {.sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK};
    ours.sa_handler = on_signal;
    (void)sigemptyset(&ours.sa_mask);
    for (int number = 1; number <= MOST_NUMBER && status == RESMON_OK; number++) {
        struct sigaction now;
        if ((signals->wanted >> number & 1) != 0 && sigaction(number, NULL, &now) == 0 &&
            (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
            (void)sigaction(number, &ours, NULL);
        }
    }
    return status;
}

void rm_end_signals_wait(void)
{
    const struct timespec a_moment = {.tv_nsec = LOOK_EVERY_NS};
    if (has_thread && pthread_equal(pthread_self(), finisher)) {
        return; /* a callback of the program exits on it */
    }
    while (__atomic_load_n(&number_of_end, __ATOMIC_ACQUIRE) != 0 && !RM_LOAD(&is_over) &&
           terms.is_ours()) {
        (void)nanosleep(&a_moment, NULL);
    }
}

void rm_end_signals_release(void)
{
    struct sigaction by_default = {.sa_flags = 0};
    by_default.sa_handler = SIG_DFL;
    for (int number = 1; number <= MOST_NUMBER; number++) {
        struct sigaction now;
        if ((terms.wanted >> number & 1) != 0 && sigaction(number, NULL, &now) == 0 &&
            (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_signal) {
            (void)sigaction(number, &by_default, NULL);
        }
    }
}
