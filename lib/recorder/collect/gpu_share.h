/* SPDX-License-Identifier: MIT */
/*
 * Owns which part of a GPU is the process tree's: by the use of its multiprocessors where the
 * driver tells that by process, else, while nothing runs on it, by the memory that is held.
 */
#ifndef RM_COLLECT_GPU_SHARE_H
#define RM_COLLECT_GPU_SHARE_H

#include "collect/collect.h"

/* What the process tree has of a GPU; NaN: not known. */
struct rm_gpu_share {
    double share; /* 0 ... 1, of what the GPU draws */
    double sm;    /* %, of its multiprocessors' time */
    double bytes; /* of GPU memory */
};

/** The tree's share at one reading.  A GPU without processes is nobody's: its share is 0. */
struct rm_gpu_share rm_gpu_share_of(struct rm_collect *collect,
                                    const struct rm_gpu_reading *reading);

#endif
