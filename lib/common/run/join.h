/* SPDX-License-Identifier: MIT */
/*
 * Owns the joining of several runs into one: the scopes of processes that recorded themselves are
 * added to the run of the process that observed them together. Pure.
 */
#ifndef RM_RUN_JOIN_H
#define RM_RUN_JOIN_H

#include "run/run.h"

/**
 * Adds the scopes of `parts` to `run`, which has no scopes. Paths of the same names become one
 * path. Adds a row for each part to the processes of `run`. Values of processes that `run` already
 * has stay unchanged. RESMON_ENOMEM.
 */
resmon_status rm_run_join(struct resmon_run *run, struct resmon_run *const *parts, size_t count);

#endif
