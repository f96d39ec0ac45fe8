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
    uint32_t skips; /* page faults for which the thread is not looked for, as it was none */
    uint64_t stacks[RM_STACK_DEPTH]; /* of the native frames */
    struct rm_python_window window;
    struct rm_python_walk walk;
};

/** Finds the interpreter of this process, as far as `modules` have one: its frames are read from
 * now on.  Returns why they are not; NULL: they are, or there is no interpreter. */
const char *rm_python_inside_find(const struct rm_modules *modules);

/** Whether frames of an interpreter are read. */
bool rm_python_inside_is_on(void);

/** Working memory for a thread; NULL: no interpreter is read, or out of memory.  Free with
 * rm_free(). */
struct rm_python_inside *rm_python_inside_new(uint32_t thread);

/** For another thread, when the handler of the last one has ended. */
void rm_python_inside_begin(struct rm_python_inside *python, uint32_t thread);

/** Handler: adds the frames of Python to a sample of the thread, which has its native frames.
 * Async-signal-safe. */
void rm_python_inside_add(struct rm_python_inside *python, struct rm_slot_sample *sample);

/** Handler: adds the frames of Python to a sample without native frames; false: the thread is none
 * of Python's.  Async-signal-safe. */
bool rm_python_inside_read(struct rm_python_inside *python, struct rm_slot_sample *sample);

/** Whether the Python stack of one sample is that of another one, of a page fault. */
bool rm_python_inside_is_of(const struct rm_slot_sample *python,
                            const struct rm_slot_sample *fault);

/** Replaces the interpreter's frames in a sample by those of Python, which another one has (NULL:
 * none has).  `is_cut`: is changed if the stack is whole, or cut, in spite of its native frames.
 * Returns the number of values, at most RM_STACK_DEPTH; 0: the native stack is the stack. */
uint32_t rm_python_inside_join(struct rm_stack_writer *writer, const struct rm_slot_sample *native,
                               const struct rm_slot_sample *python, uint64_t *ret_values,
                               uint32_t *is_cut);

/** Frees the interpreter; no handler may use it. */
void rm_python_inside_free(void);

/** Leaves it allocated: it belongs to another process, or is in use. */
void rm_python_inside_forget(void);

#endif
