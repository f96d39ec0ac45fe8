/* SPDX-License-Identifier: MIT */
/*
 * Owns the Python stacks of the kernel's samples: each is read when its sample is fresh, and waits
 * here until the sample itself is unwound; then both become one stack.  Called by stack/outside.
 */
#ifndef RM_STACK_PYTHON_SAMPLES_H
#define RM_STACK_PYTHON_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "os/perf_tree.h"
#include "stack/interpreter.h"
#include "store/stack_writer.h"

struct rm_python_sample {
    uint32_t thread;
    int64_t t_ns; /* of the kernel's sample */
    enum rm_python_result result;
    uint32_t depth;
    bool is_cut;
    uint64_t address, instruction;    /* of the innermost frame */
    uint64_t values[RM_PYTHON_DEPTH]; /* names in the run, from the innermost frame outwards */
    uint64_t entries[RM_PYTHON_DEPTH];
};

struct rm_python_samples;

struct rm_python_samples *rm_python_samples_new(void); /* NULL: out of memory */
void rm_python_samples_free(struct rm_python_samples *samples);

/** Reads the Python stack of a sample's thread, unless the sample is too old by now. */
void rm_python_samples_read(struct rm_python_samples *samples, const struct rm_tree_record *record,
                            struct rm_interpreter *interpreter, struct rm_stack_writer *writer);

/** The Python stack of a sample; NULL: none was read in time. */
const struct rm_python_sample *rm_python_samples_find(const struct rm_python_samples *samples,
                                                      const struct rm_tree_record *record);

/* A native stack, from the innermost frame outwards. */
struct rm_native_stack {
    const struct rm_perf_record *sample;
    uint32_t depth;
    const uint64_t *addresses;
    const uint64_t *stacks; /* stack pointer of each frame, with which it runs or called */
    bool (*is_interpreter)(void *context, uint64_t address);
    uint64_t (*value)(void *context, uint64_t address); /* by which the run knows it */
    void *context;
};

/**
 * Joins both: frames of the interpreter become the Python frames that they run, other native frames
 * stay.  The Python frames are those of a moment later.  So native frames stay between evaluations
 * that are the same in both stacks; and the innermost ones if the innermost Python frame is still
 * in the same call of C code.  Returns the depth, at most `room`.
 */
uint32_t rm_python_samples_join(const struct rm_native_stack *native,
                                const struct rm_python_sample *python, uint64_t *ret_values,
                                uint32_t room);

/** The native stack alone: each row of the interpreter's frames becomes `instead`. */
uint32_t rm_python_samples_leave_out(const struct rm_native_stack *native, uint64_t instead,
                                     uint64_t *ret_values, uint32_t room);

#endif
