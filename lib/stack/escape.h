/* SPDX-License-Identifier: MIT */
/*
 * Owns the way out of a library that calls a handler which must not return, as libdw does where it
 * has no memory: a jump back to where the library was called from.
 * Called by dwarf.c.
 */
#ifndef RM_STACK_ESCAPE_H
#define RM_STACK_ESCAPE_H

#include <stdbool.h>

#include <resmon/status.h>

typedef resmon_status (*rm_escape_work_fn)(void *owner, void *context);

/** Runs what calls the library; true: it returned, `ret_status`.  False: it was left in the middle.
 * All memory that it takes must hang on `owner`. */
bool rm_escape_run(rm_escape_work_fn work, void *owner, void *context, resmon_status *ret_status);

/** The handler: leaves what this thread runs. */
void rm_escape_leave(void) __attribute__((noreturn));

#endif
