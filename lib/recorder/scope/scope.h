/* SPDX-License-Identifier: MIT */
/*
 * Owns what the calling thread has open: the fast path of scopes, above a session and its trees
 * (scope/session.h), and what others ask of it.
 */
#ifndef RM_SCOPE_SCOPE_H
#define RM_SCOPE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "scope/session.h"

/** Measures what the end of a scope costs here, in ticks, with two looks at the clock, and with the
 * writing of an event: for the run's account of its overhead. */
uint64_t rm_scope_measure_cost(bool keeps_events);

/* Where a thread is between two checkpoints of lines. */
struct rm_line_place {
    struct rm_scope_session *session;
    struct rm_line_mark *mark; /* of that scope, or of the thread outside of any */
    uint64_t token;            /* of the scope's instance */
    uint64_t start;            /* of it, in ticks; 0: outside of any */
};

/** Where this thread is: in the outermost of the open scopes that one function opened, the function
 * of the innermost one, whatever lies between (recursion, direct or through others).  False when
 * nothing is measured. */
bool rm_scope_line_place(struct rm_line_place *ret_place);

/**
 * The sites of the scopes that a thread had open at `t_ns` (CLOCK_MONOTONIC), and has so still,
 * from the outermost; `thread` is the kernel's number of it.  Scopes that ended since then are not
 * among them.  Returns how many.
 */
uint32_t rm_scope_sites_then(const struct rm_block *block, uint32_t thread, int64_t t_ns,
                             uint32_t *ret_sites, uint32_t room);

/** The sites of the scopes that this thread has open in the session of `block`, from the outermost;
 * how many.  Async-signal-safe. */
uint32_t rm_scope_open_sites(const struct rm_block *block, uint32_t *ret_sites, uint32_t room);

/** This thread's part in the session that has the scopes now, joined if needed; NULL: none. */
struct rm_scope_thread *rm_scope_attached(void);

/** The program exits on this thread: what it has open in the session of `block` ends now, from the
 * innermost on, with all its meters. */
void rm_scope_end_with_program(const struct rm_block *block);

#endif
