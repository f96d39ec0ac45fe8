/* SPDX-License-Identifier: MIT */
/*
 * Owns the Python frames in the samples of other processes: finds their interpreters, has the
 * stacks of their threads read, and joins them with the native ones.  Called by stack/outside.  And
 * their names, which those of this process have in the same way (python_inside.c).
 */
#ifndef RM_STACK_PYTHON_FRAMES_H
#define RM_STACK_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "os/perf_tree.h"
#include "stack/python_join.h"
#include "stack/python_readers.h"
#include "stack/spaces.h"
#include "store/stack_writer.h"

/* Shown where the interpreter runs a function that could not be read. */
#define RM_PYTHON_NOT_READ "[Python not read]"

/* A stack with its names; working memory. */
struct rm_python_names {
    struct rm_python_stack stack;
    struct rm_joined_python joined;
};

/** Names the frames that were read.  False: they were changing, or there is no room for names. */
bool rm_python_name(struct rm_stack_writer *writer, struct rm_interpreter *interpreter,
                    enum rm_python_result result, const struct rm_python_walk *walk,
                    struct rm_python_names *ret_names);

/** Whether a file starts programs and threads: the C library, and a program "python3" that has its
 * interpreter in a library. */
bool rm_python_is_start(const char *path);

struct rm_python_frames {
    struct rm_perf_tree *tree; /* tree, root and writer must outlive it */
    const struct rm_root *root;
    struct rm_stack_writer *writer;
    struct rm_python_readers *readers; /* NULL: no interpreter was found yet */
    char why_not[240];                 /* why an interpreter is not read; "": all are */
    /* of the sample that is joined: */
    struct rm_python_reading reading;
    struct rm_python_names names;
};

/** Ends reading; before the tree is freed. */
void rm_python_frames_close(struct rm_python_frames *frames);

/** Samples of page faults between wake-ups for `pid`: those of Python are read at each wake-up. */
uint32_t rm_python_frames_wakeup(uint32_t pid, const struct rm_root *root,
                                 struct rm_scratch *scratch);

/** Whether a process has an interpreter that is read; looks for one after its code has changed. */
bool rm_python_frames_are_in(struct rm_python_frames *frames, struct rm_space *space);

/** Replaces the interpreter's frames in a sample of a process by those of Python, where it has an
 * interpreter.  `is_cut`: is changed if the stack is whole, or cut, in spite of its native frames.
 * Returns the number of values, at most `room`; 0: the native stack is the stack. */
uint32_t rm_python_frames_join(struct rm_python_frames *frames, struct rm_space *space,
                               const struct rm_tree_record *record,
                               const struct rm_native_stack *native, uint64_t *ret_values,
                               uint32_t *is_cut);

#endif
