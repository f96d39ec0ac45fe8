/* SPDX-License-Identifier: MIT */
/*
 * Owns the threads that read Python stacks at the samples of other processes, one for each CPU and
 * bound to it: when the kernel wakes it at a sample, it takes the place of the sampled thread,
 * which does not go on before its stack was read.  Where that fails (the thread is not allowed on
 * the CPU, or the kernel runs the other one first), the stack is that of a moment later, and
 * whoever joins it with the sample sees the difference (python_join.h).
 *
 * They begin when the first interpreter is found.  All functions are called on the thread of
 * stack/outside.
 */
#ifndef RM_STACK_PYTHON_READERS_H
#define RM_STACK_PYTHON_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/perf_tree.h"
#include "stack/interpreter.h"

/* What was read of a thread. */
struct rm_python_reading {
    uint32_t pid, thread;
    int64_t t_ns;   /* of the kernel's sample; 0: none */
    uint64_t stack; /* stack pointer of the sample */
    bool is_prompt; /* read on the CPU of the sample, and soon */
    enum rm_python_result result;
    struct rm_python_walk walk;
};

struct rm_python_readers;

/** Starts the threads; tree and root must outlive them.  RESMON_ENOMEM, ...: Python stacks are not
 * read. */
resmon_status rm_python_readers_start(struct rm_perf_tree *tree, const struct rm_root *root,
                                      struct rm_python_readers **ret_readers);

/** Ends the threads. */
void rm_python_readers_free(struct rm_python_readers *readers);

/** Reads the threads of a process from now on; repeated calls are no-ops. */
void rm_python_readers_add(struct rm_python_readers *readers,
                           const struct rm_interpreter_target *target);

/* Which reading of a thread: that of a sample, or the nearest one before or after it. */
enum rm_python_which { RM_PYTHON_AT, RM_PYTHON_BEFORE, RM_PYTHON_AFTER };

/** Copies a reading; false: there is none. */
bool rm_python_readers_copy(struct rm_python_readers *readers, const struct rm_tree_record *record,
                            enum rm_python_which which, struct rm_python_reading *ret_reading);

/** CPU time of the threads so far. */
uint64_t rm_python_readers_cpu_ns(const struct rm_python_readers *readers);

#endif
