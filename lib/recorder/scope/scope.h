/* SPDX-License-Identifier: MIT */
/*
 * Owns the calling thread's open scopes: the fast path, above a session and its trees
 * (scope/session.h), and queries of other parts about them.
 */
#ifndef RM_SCOPE_SCOPE_H
#define RM_SCOPE_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "scope/session.h"

/** Measures the cost of a scope's end in ticks, with two clock reads and the writing of an event,
 * for the run's account of overhead. */
uint64_t rm_scope_measure_cost(bool keeps_events);

/* Position of a thread between two checkpoints of lines. */
struct rm_line_place {
    struct rm_scope_session *session;
    struct rm_line_mark *mark; /* of that scope, or of the thread outside of scopes */
    uint64_t token;            /* instance of the scope */
    uint64_t start;            /* begin of the instance, in ticks; 0: outside of scopes */
};

/** Position of this thread: the outermost open scope that was opened by the same function as the
 * innermost one, regardless of the scopes between them (direct or indirect recursion).  False:
 * nothing is measured. */
bool rm_scope_line_place(struct rm_line_place *ret_place);

/**
 * The sites of the scopes that a thread had open at `t_ns` (CLOCK_MONOTONIC) and has open still,
 * from the outermost on; `thread` is its kernel id.  Scopes that ended since are missing.
 * Returns their number.
 */
uint32_t rm_scope_sites_then(const struct rm_block *block, uint32_t thread, int64_t t_ns,
                             uint32_t *ret_sites, uint32_t room);

/** The sites of the scopes that this thread has open in the session of `block`, from the outermost
 * on.  Returns their number.  Async-signal-safe. */
uint32_t rm_scope_open_sites(const struct rm_block *block, uint32_t *ret_sites, uint32_t room);

/** This thread's part of the current session, attached if needed; NULL: none. */
struct rm_scope_thread *rm_scope_attached(void);

/** Called when the program exits on this thread: ends its open scopes in the session of `block`,
 * from the innermost on, with all meters. */
void rm_scope_end_with_program(const struct rm_block *block);

#endif
