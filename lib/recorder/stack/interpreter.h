/* SPDX-License-Identifier: MIT */
/*
 * Owns the Python interpreter of an observed process: where it is, its threads, and reading their
 * stacks while the process runs on.  Called by stack/outside.
 */
#ifndef RM_STACK_INTERPRETER_H
#define RM_STACK_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "stack/images.h"
#include "stack/python.h"

struct rm_interpreter;

/* A process, and where its code is. */
struct rm_interpreter_process {
    uint32_t pid;
    const struct rm_space_map *maps;
    size_t map_count;
    const struct rm_root *root; /* root and scratch must outlive the interpreter */
    struct rm_scratch *scratch;
};

/** Finds the interpreter of a process, and makes `*interpreter` when there is one.  True: it can be
 * read; false: there is none, it is not ready yet, or it cannot be read
 * (rm_interpreter_refusal()). */
bool rm_interpreter_find(struct rm_interpreter **interpreter,
                         const struct rm_interpreter_process *process);

void rm_interpreter_free(struct rm_interpreter *interpreter);

/** Why an interpreter (or NULL) cannot be read; NULL: it can, or may be ready later. */
const char *rm_interpreter_refusal(const struct rm_interpreter *interpreter);

/** Whether a mapping is the interpreter's own code. */
bool rm_interpreter_is_at(const struct rm_interpreter *interpreter, const struct rm_space_map *map);

/** Reads the stack of a thread, when rm_interpreter_find() says that it can be read; `stack`: its
 * stack pointer. */
enum rm_python_result rm_interpreter_take(struct rm_interpreter *interpreter, uint32_t thread,
                                          uint64_t stack, struct rm_python_stack *ret_stack);

#endif
