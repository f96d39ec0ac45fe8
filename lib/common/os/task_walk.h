/* SPDX-License-Identifier: MIT */
/*
 * Owns listing of the threads of a process and of all its descendants, as they are just now.
 */
#ifndef RM_OS_TASK_WALK_H
#define RM_OS_TASK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"

/** Called for each thread, those of a process one after the other; false ends the walk. */
typedef bool (*rm_task_visit_fn)(void *context, uint32_t pid, uint32_t thread);

/** RESMON_ESRCH: there is no such process. */
resmon_status rm_task_walk(const struct rm_root *root, uint32_t pid, rm_task_visit_fn visit,
                           void *context);

/** A thread that has the memory, the files and the program of a process whose main thread has
 * ended: what "proc/PID" shows of these is gone with that one.  `proc_dir`: "proc/7".  0: there is
 * none. */
uint64_t rm_task_living(const struct rm_root *root, const char *proc_dir);

#endif
