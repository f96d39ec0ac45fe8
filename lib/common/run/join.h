/* SPDX-License-Identifier: MIT */
/*
 * Owns what makes one run of several: the scopes of processes that recorded for themselves, in the
 * run of whoever observed them together.  Pure.
 */
#ifndef RM_RUN_JOIN_H
#define RM_RUN_JOIN_H

#include "run/run.h"

/**
 * Gives `run`, which has no scopes, those of `parts`, paths of the same names as one; and a row for
 * each part among its processes.  Figures of processes stay those of `run`.  RESMON_ENOMEM.
 */
resmon_status rm_run_join(struct resmon_run *run, struct resmon_run *const *parts, size_t count);

#endif
