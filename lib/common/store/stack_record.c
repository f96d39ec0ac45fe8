/* SPDX-License-Identifier: MIT */
#include "store/stack_record.h"

/* ---- kinds of stacks and of losses ------------------------------------------------------ */

const char *const rm_stack_loss_names[RM_LOSS_COUNT] = {
    [RM_LOSS_RING] = "ring_full",     [RM_LOSS_ROOM] = "no_room",    [RM_LOSS_DEPTH] = "too_deep",
    [RM_LOSS_UNWIND] = "not_unwound", [RM_LOSS_BLOCKED] = "blocked", [RM_LOSS_THREADS] = "threads",
    [RM_LOSS_MODULES] = "modules",
};

const char *const rm_stack_loss_texts[RM_LOSS_COUNT] = {
    [RM_LOSS_RING] = "samples came faster than the library read them",
    [RM_LOSS_ROOM] = "samples of stacks for which the run has no room",
    [RM_LOSS_DEPTH] = "samples of stacks deeper than 128 frames, cut there",
    [RM_LOSS_UNWIND] = "samples whose stack could be unwound only in part",
    [RM_LOSS_BLOCKED] = "samples of threads that had the signal blocked",
    [RM_LOSS_THREADS] = "threads could not be sampled",
    [RM_LOSS_MODULES] = "libraries past the first 1024: their functions have addresses only",
};

const char *const rm_stack_kind_names[RM_STACK_KINDS] = {[RESMON_STACK_CPU] = "cpu",
                                                         [RESMON_STACK_MEMORY] = "memory",
                                                         [RESMON_STACK_FILE] = "file",
                                                         [RESMON_STACK_RESIDENT] = "resident"};
