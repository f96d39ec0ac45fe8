/* SPDX-License-Identifier: MIT */
/*
 * Owns how the library starts a thread: named, all signals blocked, with a stack of known size; how
 * it works on such a stack instead of the caller's; and what the kernel calls the calling thread.
 */
#ifndef RM_BASE_THREAD_H
#define RM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <resmon/status.h>

#include "base/compiler.h"

enum rm_thread_stack {
    RM_STACK_SMALL,     /* 256 KiB: for our own code */
    RM_STACK_LIBRARIES, /* 1 MiB: for libraries, as of JSON and HTTP */
    RM_STACK_OF_PROGRAM /* as the program's own threads have, or that: for its callbacks */
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

/**
 * Runs `work` on a thread of ours, whose stack is RM_STACK_LIBRARIES, and waits: the caller's may
 * be as small as a program's thread can be.  Its status, with the text of its error.  Where no
 * thread can be had, on the caller's stack if there are 64 KiB of it; else RESMON_EBUSY, and
 * nothing was done.  A thread that is ours already works on.  errno stays.
 */
RM_SHARED resmon_status rm_thread_call(resmon_status (*work)(void *context), void *context);

/** As rm_thread_call(), but also a thread that is ours already hands the work to another one, and
 * waits. */
RM_SHARED resmon_status rm_thread_call_apart(resmon_status (*work)(void *context), void *context);

/** Bytes of the calling thread's stack that are left; 0: not known, as on an alternate stack of
 * signals.  Reads /proc on the main thread. */
size_t rm_thread_stack_left(void);

/** How many such threads the kernel counts among those of the process: also one that is joined,
 * until it is truly gone.  And how often what is known of them has changed: if it has not around a
 * look at something else, the number was right all the while. */
uint64_t rm_thread_count(uint64_t *ret_changes);

/** Whether thread `id` is one of these, or may be: one is just being started.  Any thread. */
bool rm_thread_may_be_ours(uint32_t id);

/** The calling thread's id and name.  Async-signal-safe. */
uint32_t rm_thread_id(void);

/** The clock of this thread's CPU time, for other threads of the process to read. */
clockid_t rm_thread_cpu_clock(void);

/** The clock of the CPU time of thread `id` of this process. */
clockid_t rm_thread_cpu_clock_of(uint32_t id);
void rm_thread_name(char name[16]);

#endif
