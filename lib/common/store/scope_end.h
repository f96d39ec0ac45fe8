/* SPDX-License-Identifier: MIT */
/*
 * Owns the question until when scopes of a recording last that are open in it: nobody wrote down
 * when the program was killed.
 */
#ifndef RM_STORE_SCOPE_END_H
#define RM_STORE_SCOPE_END_H

#include <stdint.h>

#include "store/block.h"

/**
 * The latest moment, in ticks, at which something is known to have happened: the last sample, the
 * begin or end of any scope that is kept by itself, and the ends of those inside of an open scope,
 * which cannot have ended before them.  So no scope is longer than the one around it.  Trusts
 * nothing in the block.
 */
uint64_t rm_scope_end_ticks(const struct rm_block *block);

#endif
