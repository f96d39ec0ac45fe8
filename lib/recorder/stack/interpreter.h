/* SPDX-License-Identifier: MIT */
/*
 * Owns the Python interpreter of an observed process, or of this one: where it is, its threads, and
 * reading their stacks from its memory.  spaces.c keeps one for each process; python_frames.c finds
 * and symbolizes, python_readers.c reads.  python_inside.c does so for this process.
 */
#ifndef RM_STACK_INTERPRETER_H
#define RM_STACK_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "stack/code.h"
#include "stack/images.h"
#include "stack/python.h"
#include "stack/python_join.h"

struct rm_interpreter;

/* A process, and where its code is. */
struct rm_interpreter_process {
    uint32_t pid;
    const struct rm_space_map *maps;
    size_t map_count;
};

/** Finds the interpreter of a process, and makes `*interpreter` when there is one.  True: it can be
 * read; false: there is none, it is not ready yet, or it cannot be read
 * (rm_interpreter_refusal()). */
bool rm_interpreter_find(struct rm_interpreter **interpreter,
                         const struct rm_interpreter_process *process);

/** Finds the interpreter of this process, and makes `*interpreter` when there is one; `modules`:
 * the mapped code of the process.  True: it can be read. */
bool rm_interpreter_find_own(struct rm_interpreter **interpreter, const struct rm_modules *modules);

/** Whether this process has an interpreter, as far as it is known without a list of modules. */
bool rm_interpreter_is_here(void);

/** Whether it is that of this process. */
bool rm_interpreter_is_own(const struct rm_interpreter *interpreter);

void rm_interpreter_free(struct rm_interpreter *interpreter);

/** Why an interpreter (or NULL) cannot be read; NULL: it can, or may be ready later. */
const char *rm_interpreter_refusal(const struct rm_interpreter *interpreter);

/** Where its evaluation loop keeps its frame, as learned so far. */
struct rm_python_places *rm_interpreter_places(struct rm_interpreter *interpreter);

/** Whether a mapping is the interpreter's own code. */
bool rm_interpreter_is_at(const struct rm_interpreter *interpreter, const struct rm_space_map *map);

/* What reading needs; may be copied, and used after the interpreter was freed. */
struct rm_interpreter_target {
    uint32_t pid;
    struct rm_python python;
    uint64_t start, end; /* of its code, in this process */
};
const struct rm_interpreter_target *rm_interpreter_target(const struct rm_interpreter *interpreter);

/* Threads of interpreters, as one reader knows them, by their numbers. */
#define RM_INTERPRETER_THREADS 64U
struct rm_interpreter_threads {
    struct {
        uint32_t pid, number; /* in our namespace */
        struct rm_python_thread thread;
    } rows[RM_INTERPRETER_THREADS];
};

/* Working memory of one reader. */
struct rm_interpreter_reader {
    const struct rm_root *root;
    struct rm_scratch scratch;
    struct rm_interpreter_threads threads;
    struct rm_python_window window;
};

/** Reads the frames of a thread; `stack`: its stack pointer.  Several threads may do so at once,
 * each with a reader of its own. */
enum rm_python_result rm_interpreter_walk(const struct rm_interpreter_target *target,
                                          struct rm_interpreter_reader *reader, uint32_t number,
                                          uint64_t stack, struct rm_python_walk *ret_walk);

/** Finds code and lines of what was read; false: it was changing (rm_python_symbolize()). */
bool rm_interpreter_symbolize(struct rm_interpreter *interpreter, enum rm_python_result result,
                              const struct rm_python_walk *walk, struct rm_python_stack *ret_stack);

#endif
