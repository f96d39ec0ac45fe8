/* SPDX-License-Identifier: MIT */
/*
 * Owns an interpreter and the frames of one of its threads, as they are read: by python.c from the
 * chain of a thread, by python_tasks.c from coroutines.
 */
#ifndef RM_STACK_PYTHON_WALK_H
#define RM_STACK_PYTHON_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/python_layout.h"
#include "store/stack_record.h"

#define RM_PYTHON_DEPTH RM_STACK_DEPTH

/* An interpreter; does not change but for `tasks`. */
struct rm_python {
    struct rm_python_memory memory;
    struct rm_python_layout layout;
    struct rm_python_tasks tasks; /* set when asyncio is loaded */
    uint64_t runtime;
};

struct rm_python_frame {
    uint64_t code;
    uint64_t instruction; /* up to 3.10: its index */
    /* The frame was called by C code: address of what its evaluation has on the C stack; 1: not
     * known.  0: it was called by the next frame, in the same evaluation. */
    uint64_t entry;
    uint32_t copy; /* number of the thread's copy of the bytecode; 0: that of the code */
};

/* Frames as addresses, from the innermost outwards. */
struct rm_python_walk {
    uint32_t depth;
    bool is_cut;      /* there were more */
    uint64_t address; /* of the innermost frame */
    struct rm_python_frame frames[RM_PYTHON_DEPTH];
};

/** Adds a frame that was read; without room for it, the walk is cut. */
void rm_python_walk_add(const struct rm_python *python, struct rm_python_walk *walk,
                        uint64_t address, const unsigned char *frame);

/** Notes that C code called the last frame; `address`: of what its evaluation has on the C stack,
 * 0: as far as the frame's own content tells it. */
void rm_python_walk_mark_entry(const struct rm_python *python, struct rm_python_walk *walk,
                               uint64_t address, const unsigned char *frame);

#endif
