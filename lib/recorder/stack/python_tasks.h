/* SPDX-License-Identifier: MIT */
/*
 * Owns what asyncio's tasks add to the stack of a thread, from Python 3.14 on: the coroutines that
 * wait for the one that runs, in other tasks.  They are read at the places where they wait, and
 * stand between the running task's coroutines and the event loop.  Called by python.c.
 */
#ifndef RM_STACK_PYTHON_TASKS_H
#define RM_STACK_PYTHON_TASKS_H

#include <stdint.h>

#include "stack/python_walk.h"

/** Has the tasks of an interpreter read from now on, also by a handler that is running. */
void rm_python_tasks_set(struct rm_python *python, const struct rm_python_tasks *tasks);

struct rm_python_task {
    uint64_t frame;   /* address of the frame of its coroutine; 0: no task runs */
    uint64_t waiting; /* address of the only task that waits for it; 0: none */
};

/** Reads the task that runs in a thread. */
struct rm_python_task rm_python_tasks_running(const struct rm_python *python, uint64_t thread);

/** Adds the coroutines of those that wait for a task, whose coroutine is the frame `at` of a walk,
 * after that frame. */
void rm_python_tasks_add(const struct rm_python *python, const struct rm_python_task *task,
                         struct rm_python_walk *walk, uint32_t at);

#endif
