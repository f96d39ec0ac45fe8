/* SPDX-License-Identifier: MIT */
/*
 * Owns how the library starts a thread: named, all signals blocked, a small stack; and what the
 * kernel calls the calling thread.
 */
#ifndef RM_BASE_THREAD_H
#define RM_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include <resmon/status.h>

/**
 * Starts `run(context)` as a thread called `name` (at most 15 bytes) that no signal of the host
 * program can reach.
 */
resmon_status rm_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *),
                              void *context);

/** The last thing that such a thread does. */
void rm_thread_leave(void);

/** How many such threads there are. */
uint64_t rm_thread_count(void);

/** The calling thread's id and name.  Async-signal-safe. */
uint32_t rm_thread_id(void);
void rm_thread_name(char name[16]);

#endif
