/* SPDX-License-Identifier: MIT */
#include "isolated.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "os/kept.h"

static struct {
    sem_t given, done;
    bench_fn work;
    void *context;
    size_t count;
    double result;
} call;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static void *run(void *unused)
{
    rm_kept_isolate_thread();
    for (;;) {
        wait_for(&call.given);
        call.result = call.work(call.context, call.count);
        (void)sem_post(&call.done);
    }
    return unused;
}

static void start(void)
{
    pthread_t thread;
    if (sem_init(&call.given, 0, 0) != 0 || sem_init(&call.done, 0, 0) != 0 ||
        pthread_create(&thread, NULL, run, NULL) != 0) {
        abort();
    }
}

double isolated_call(bench_fn work, void *context, size_t count)
{
    static pthread_once_t is_started = PTHREAD_ONCE_INIT;
    (void)pthread_once(&is_started, start);
    call.work = work;
    call.context = context;
    call.count = count;
    (void)sem_post(&call.given);
    wait_for(&call.done);
    return call.result;
}
