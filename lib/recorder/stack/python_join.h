/* SPDX-License-Identifier: MIT */
/*
 * Owns joining the native stack of a sample with the Python stack of its thread into one.
 */
#ifndef RM_STACK_PYTHON_JOIN_H
#define RM_STACK_PYTHON_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "os/perf_ring.h"
#include "stack/python.h"
#include "stack/unwind.h"

/* The Python stack of a thread, from the innermost frame outwards. */
struct rm_joined_python {
    uint32_t depth;
    uint64_t address, instruction;     /* of the innermost frame */
    uint64_t values[RM_PYTHON_DEPTH];  /* by which the run knows the frames */
    uint64_t entries[RM_PYTHON_DEPTH]; /* see struct rm_python_frame */
};

/* A native stack, from the innermost frame outwards. */
struct rm_native_stack {
    const struct rm_perf_record *sample;
    uint32_t depth;
    bool is_broken; /* frames further out could not be unwound */
    const uint64_t *addresses;
    const uint64_t *stacks; /* stack pointers; NULL: no interpreter is there */
    const struct rm_unwind_saved *saved;
    bool (*is_interpreter)(void *context, uint64_t address);
    bool (*is_start)(void *context, uint64_t address);  /* what starts programs and threads */
    uint64_t (*value)(void *context, uint64_t address); /* by which the run knows it */
    void *context;
};

/* Where the compiled evaluation loop of an interpreter keeps the address of its frame: in a
 * register, or in a word of its part of the stack.  Zeroed: not known yet. */
#define RM_PYTHON_PLACES (RM_UNWIND_SAVED + 64U)
struct rm_python_places {
    uint64_t latest;  /* instruction of the last sample that counted: equal ones tell nothing new */
    uint32_t samples; /* that counted */
    uint32_t frames[RM_PYTHON_PLACES]; /* samples that had the address there */
};

/** Whether the native stack is of the same call of C code, or the same instruction, as the
 * innermost Python frame.  `learns`: the Python stack was read at the sample, and tells more about
 * the places. */
bool rm_python_is_same(const struct rm_native_stack *native, const struct rm_joined_python *python,
                       struct rm_python_places *places, bool learns);

/** As far as can be told without unwound frames, for C code that cannot be unwound. */
bool rm_python_may_be_same(const struct rm_native_stack *native,
                           const struct rm_joined_python *python);

/**
 * Joins both: frames of the interpreter become the Python frames that they run, other native frames
 * stay.  The Python frames may be those of a moment later.  So native frames stay between
 * evaluations that are the same in both stacks, and the innermost ones if `is_same`.  Returns the
 * depth, at most `room`.
 */
uint32_t rm_python_join(const struct rm_native_stack *native, const struct rm_joined_python *python,
                        bool is_same, uint64_t *ret_values, uint32_t room);

/** The native stack alone: each row of the interpreter's frames becomes `instead`. */
uint32_t rm_python_leave_out(const struct rm_native_stack *native, uint64_t instead,
                             uint64_t *ret_values, uint32_t room);

#endif
