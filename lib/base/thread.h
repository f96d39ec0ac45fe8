/* SPDX-License-Identifier: MIT */
/*
 * Owns how the library starts a thread: named, all signals blocked; and what the kernel calls the
 * calling thread.
 */
#ifndef RM_BASE_THREAD_H
#define RM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <resmon/status.h>

enum rm_thread_stack {
    RM_STACK_SMALL,     /* for our own code */
    RM_STACK_OF_PROGRAM /* as the program's own threads have: for callbacks and libraries */
};

/* What a thread runs. */
struct rm_thread_work {
    const char *name; /* at most 15 bytes */
    enum rm_thread_stack stack;
    void *(*run)(void *);
    void *context;
};

/** Starts a thread that no signal of the host program can reach. */
resmon_status rm_thread_start(pthread_t *ret_thread, const struct rm_thread_work *work);

/** A condition whose deadlines are on CLOCK_MONOTONIC. */
void rm_thread_cond_init(pthread_cond_t *cond);

/** How many such threads run, and how often that has changed: if it has not around a look at
 * something else, the number was right all the while. */
uint64_t rm_thread_count(uint64_t *ret_changes);

/** Whether thread `id` is one of these, or may be: one is just being started.  Any thread. */
bool rm_thread_may_be_ours(uint32_t id);

/** The calling thread's id and name.  Async-signal-safe. */
uint32_t rm_thread_id(void);

/** The clock of this thread's CPU time, for other threads of the process to read. */
clockid_t rm_thread_cpu_clock(void);

/** The same of a thread of this process, by its number. */
clockid_t rm_thread_cpu_clock_of(uint32_t id);
void rm_thread_name(char name[16]);

#endif
