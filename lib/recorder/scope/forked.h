/* SPDX-License-Identifier: MIT */
/*
 * Owns what becomes of scopes in the child of a fork, where no monitor of its parent measures: at
 * the first one a monitor of its own is started, if whoever runs the program asked for that
 * (RESMON_RUN), or else the child is counted among those whose scopes are in no run.
 */
#ifndef RM_SCOPE_FORKED_H
#define RM_SCOPE_FORKED_H

#include <stdbool.h>
#include <stdint.h>

/* As `resmon_scope_session` in such a child until its first scope: no session has this number. */
#define RM_SCOPE_FORKED (UINT32_MAX - 1)

/** Before scopes are measured: memory that this process shares with children that come.  Without
 * it, none of them is counted. */
void rm_forked_prepare(void);

/** How many children, and children of these, had scopes that are in no run. */
uint32_t rm_forked_lost(void);

/** Who starts a monitor in a child, from the thread that has its first scope: at most in 128 of
 * them.  False: there is none. */
void rm_forked_start_by(bool (*start)(void));

/** At a scope while `resmon_scope_session` is RM_SCOPE_FORKED: it is another number then. */
void rm_forked_come(void);

#endif
