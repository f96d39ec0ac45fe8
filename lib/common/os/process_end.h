/* SPDX-License-Identifier: MIT */
/*
 * Owns learning whether and how a process ended that need not be a child of this one: a descriptor
 * of it tells how from Linux 6.15 on, when its parent has waited for it; before that, /proc does,
 * as long as it is a zombie.
 */
#ifndef RM_OS_PROCESS_END_H
#define RM_OS_PROCESS_END_H

#include <stdbool.h>
#include <stdint.h>

/** A descriptor of a process; -1: it is gone, or the kernel has none. */
int rm_process_end_watch(uint32_t pid);

/** The status as wait(2) has it; false: it is not known (yet). */
bool rm_process_end_learn(int fd, uint32_t pid, uint32_t *ret_status);

void rm_process_end_forget(int fd);

enum rm_process_life {
    RM_PROCESS_RUNS,
    RM_PROCESS_WITHOUT_MAIN, /* its main thread has ended or is about to; others have not */
    RM_PROCESS_IS_OVER,      /* or about to be, or its number is another's now */
};

/** What becomes of a process that began before a moment (CLOCK_MONOTONIC), by /proc. */
enum rm_process_life rm_process_life_of(uint32_t pid, int64_t before_ns);

#endif
