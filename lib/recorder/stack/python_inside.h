/* SPDX-License-Identifier: MIT */
/*
 * Owns Python's frames in the stacks of this process.  They are read in the signal handler of the
 * sampled thread, which does not go on meanwhile, and joined with the native frames on the
 * library's thread.  Called by handler, sampler and round.
 */
#ifndef RM_STACK_PYTHON_INSIDE_H
#define RM_STACK_PYTHON_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/code.h"
#include "stack/interpreter.h"
#include "stack/sample.h"
#include "store/stack_writer.h"

/* Working memory of one thread's handler. */
struct rm_python_inside {
    struct rm_python_thread thread;
    uint64_t stacks[RM_STACK_DEPTH]; /* of the native frames */
    struct rm_python_window window;
    struct rm_python_walk walk;
};

/** Finds the interpreter of this process, as far as `modules` have one: its frames are read from
 * now on. */
void rm_python_inside_find(const struct rm_modules *modules);

/** Whether frames of an interpreter are read. */
bool rm_python_inside_is_on(void);

/** Working memory for a thread; NULL: no interpreter is read, or out of memory.  Free with
 * rm_free(). */
struct rm_python_inside *rm_python_inside_new(uint32_t thread);

/** Handler: adds the frames of Python to a sample of the thread, which has its native frames;
 * `stack`: the stack pointer.  Async-signal-safe. */
void rm_python_inside_add(struct rm_python_inside *python, struct rm_slot_sample *sample,
                          uint64_t stack);

/** Replaces the interpreter's frames in a sample by those of Python.  `is_cut`: is changed if the
 * stack is whole, or cut, in spite of its native frames.  Returns the number of values, at most
 * RM_STACK_DEPTH; 0: the native stack is the stack. */
uint32_t rm_python_inside_join(struct rm_stack_writer *writer, const struct rm_slot_sample *sample,
                               uint64_t *ret_values, uint32_t *is_cut);

/** Frees the interpreter; no handler may use it. */
void rm_python_inside_free(void);

/** Leaves it allocated: it belongs to another process, or is in use. */
void rm_python_inside_forget(void);

#endif
