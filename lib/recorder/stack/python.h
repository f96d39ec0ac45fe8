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
#include "stack/python_layout.h"
#include "store/stack_record.h"

#define RM_PYTHON_DEPTH       RM_STACK_DEPTH
#define RM_PYTHON_CHUNK_BYTES 16384U

struct rm_python_frame {
    struct rm_python_code *code; /* until the next stack is read */
    uint32_t line;               /* 0: the code has no line there */
    /* The frame was called by C code: address of what its evaluation has on the C stack; 1: not
     * known.  0: it was called by the next frame, in the same evaluation. */
    uint64_t entry;
};

/* From the innermost frame outwards. */
struct rm_python_stack {
    uint32_t depth;
    bool is_cut; /* there were more */
    /* Of the innermost frame: its address, and that of its instruction, 0: not known. */
    uint64_t address, instruction;
    struct rm_python_frame frames[RM_PYTHON_DEPTH];
};

/* A thread, as it was found; zeroed: not yet. */
struct rm_python_thread {
    uint32_t number; /* kernel id, in the namespace of the process */
    uint64_t address;
    uint64_t chunk;   /* the newest chunk of its frames at the last reading */
    uint64_t pthread; /* up to 3.10, which has no number */
};

/* An interpreter. */
struct rm_python {
    struct rm_python_memory memory;
    struct rm_python_layout layout;
    uint64_t runtime;
    struct rm_python_codes codes;
    /* for the stack that is being read: */
    uint64_t window; /* address of `bytes`; 0: none */
    uint64_t addresses[RM_PYTHON_DEPTH];
    struct rm_python_code *found[RM_PYTHON_DEPTH];
    uint64_t instructions[RM_PYTHON_DEPTH];
    uint32_t copies[RM_PYTHON_DEPTH];
    unsigned char bytes[RM_PYTHON_CHUNK_BYTES];
};

/** Finds the layout; the memory must stay valid.  See rm_python_layout_find(). */
resmon_status rm_python_open(struct rm_python *python, const struct rm_python_memory *memory,
                             uint64_t runtime, uint32_t minor);
void rm_python_close(struct rm_python *python);

enum rm_python_result {
    RM_PYTHON_READ,
    RM_PYTHON_IDLE,       /* the thread runs no Python code: C code, or it is none of Python's */
    RM_PYTHON_TORN,       /* it changed meanwhile, each time */
    RM_PYTHON_UNREADABLE, /* the memory cannot be read */
};

/** Reads the stack of a thread, of which the number (or the pthread) is set; up to 3.10, `stack`:
 * the stack pointer of another thread than the first, 0 for the first. */
enum rm_python_result rm_python_take(struct rm_python *python, struct rm_python_thread *thread,
                                     uint64_t stack, int64_t now_ns,
                                     struct rm_python_stack *ret_stack);

#endif
