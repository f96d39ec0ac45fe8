/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* gettid */
#include "engine/last_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "os/identity.h"

#define LOOK_EVERY_NS (50L * 1000 * 1000)

static pthread_key_t key; /* its destructor runs in pthread_exit(), and not in exit() */
static bool has_key;

/* The kernel counts the main thread, although it has gone, and ours from before they begin until
 * after they have ended: never fewer than there are.  0: it does not say. */
static bool are_only_ours_left(void)
{
    uint64_t before, after;
    uint64_t ours = rm_thread_count(&before);
    uint64_t all = rm_identity_threads();
    (void)rm_thread_count(&after);
    return before == after && all > 0 && all <= ours + 1;
}

static void *wait_for_the_last(void *unused)
{
    (void)unused;
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    do {
        (void)nanosleep(&pause, NULL);
    } while (!are_only_ours_left());
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    exit(0);
}

/* On the main thread, which has the program's descriptors, for exit handlers. */
static void on_exit_of_main(void *unused)
{
    (void)unused;
    pthread_t thread;
    const struct rm_thread_work work = {"rm-last", RM_STACK_OF_PROGRAM, wait_for_the_last, NULL};
    if (rm_thread_start(&thread, &work) == RESMON_OK) {
        (void)pthread_detach(thread);
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, on_exit_of_main) == 0;
}

void rm_last_thread_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_key);
    if (has_key && gettid() == getpid()) {
        (void)pthread_setspecific(key, &key);
    }
}
