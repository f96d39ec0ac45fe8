/* SPDX-License-Identifier: MIT */
/*
 * Owns what the writers of stacks share: what frames are called, scopes as outermost frames, and
 * weights as whole numbers.
 */
#ifndef RM_EXPORT_STACKS_H
#define RM_EXPORT_STACKS_H

#include "base/buffer.h"
#include "base/intern.h"
#include "run/run.h"

/* Scopes that are shown around a stack: the outermost ones of a path that is longer are left out.
 */
#define RM_STACK_SCOPES ((size_t)RM_MAX_DEPTH + 1)

/** RESMON_OK when stacks of `kind` (-1: of any) were taken; else RESMON_ENOENT, and why. */
resmon_status rm_stacks_check(const struct resmon_run *run, int32_t kind);

/** The scopes that were open, outermost first; how many. */
size_t rm_stacks_scopes(const struct resmon_run *run, int64_t scope,
                        uint32_t path[RM_STACK_SCOPES]);

/** A weight as a whole number: rounded; what is no amount is 0. */
uint64_t rm_stacks_whole(double weight);

/* ---- frames as a writer has them ------------------------------------------------------------- */

/* The text of each frame, in the form of the file; equal ones have the same number. */
struct rm_stack_frames {
    struct rm_intern texts;
    uint32_t *of_place, *of_scope; /* numbers */
    uint32_t cut;                  /* stands outermost where frames are missing */
};

/** Adds a frame's text.  `name` is clean; `place` is NULL for a scope, and what is no place. */
typedef void (*rm_stack_frame_print)(struct rm_buffer *text, const char *name,
                                     const struct rm_run_place *place);

/** RESMON_ENOMEM; free it all the same. */
resmon_status rm_stack_frames_make(const struct resmon_run *run, rm_stack_frame_print print,
                                   struct rm_stack_frames *ret_frames);
void rm_stack_frames_free(struct rm_stack_frames *frames);

/** How many numbers rm_stack_frames_list() may write for any stack of the run. */
size_t rm_stack_frames_most(const struct resmon_run *run);

/** The frames of a stack, outermost first: scopes, then functions. */
size_t rm_stack_frames_list(const struct rm_stack_frames *frames, const struct resmon_run *run,
                            const struct rm_run_stack *stack, uint32_t *list);

#endif
