/* SPDX-License-Identifier: MIT */
/*
 * Owns reading the Python stack of a thread from the memory of its interpreter, which goes on
 * running: what is read may have changed meanwhile, so a stack counts only if it is whole, from the
 * innermost frame to the end of the chain, and all of its frames run code objects.  Nothing in the
 * process is called, stopped or written.
 */
#ifndef RM_STACK_PYTHON_H
#define RM_STACK_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/python_code.h"
#include "stack/python_walk.h"

#define RM_PYTHON_CHUNK_BYTES 16384U

/** Finds the layout; the memory must stay valid.  See rm_python_layout_find(). */
resmon_status rm_python_open(struct rm_python *python, const struct rm_python_memory *memory,
                             uint64_t runtime, uint32_t minor);

/* ---- walking ---------------------------------------------------------------------------- */

/* A thread, as it was found; zeroed: not yet. */
struct rm_python_thread {
    uint32_t number; /* kernel id, in the namespace of the process */
    uint64_t address;
    uint64_t chunk;   /* the newest chunk of its frames at the last reading */
    uint64_t pthread; /* up to 3.10, which has no number */
};

/* Working memory. */
struct rm_python_window {
    uint64_t address; /* of `bytes`; 0: none */
    unsigned char bytes[RM_PYTHON_CHUNK_BYTES];
};

enum rm_python_result {
    RM_PYTHON_READ,
    RM_PYTHON_IDLE,       /* the thread runs no Python code: C code, or it is none of Python's */
    RM_PYTHON_TORN,       /* it changed meanwhile, each time */
    RM_PYTHON_UNREADABLE, /* the memory cannot be read */
};

/** Reads the frames of a thread, of which the number (or the pthread) is set; up to 3.10, `stack`:
 * the stack pointer of another thread than the first, 0 for the first.  Allocates nothing. */
enum rm_python_result rm_python_walk(const struct rm_python *python,
                                     struct rm_python_thread *thread, uint64_t stack,
                                     struct rm_python_window *window,
                                     struct rm_python_walk *ret_walk);

/* ---- symbolizing ------------------------------------------------------------------------ */

/* The frames of a walk, with their code and lines. */
struct rm_python_stack {
    uint32_t depth;
    uint64_t instruction; /* address of the innermost one; 0: not known */
    struct {
        struct rm_python_code *code; /* until the next stack is symbolized */
        uint32_t line;               /* 0: the code has no line there */
    } frames[RM_PYTHON_DEPTH];
};

/** Finds code and lines.  False: a frame has no code object, or an instruction outside of it: it
 * was changing when it was read, or its code was freed since. */
bool rm_python_symbolize(const struct rm_python *python, struct rm_python_codes *codes,
                         const struct rm_python_walk *walk, int64_t now_ns,
                         struct rm_python_stack *ret_stack);

#endif
