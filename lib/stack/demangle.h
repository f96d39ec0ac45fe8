/* SPDX-License-Identifier: MIT */
/*
 * Owns the names of C++ functions as people write them, by the demangler of whatever C++ library
 * is there.
 * Called by naming.c; answers.c keeps to its bound.
 */
#ifndef RM_STACK_DEMANGLE_H
#define RM_STACK_DEMANGLE_H

#include "base/arena.h"

#define RM_MOST_NAME_BYTES 4096U /* longer ones are cut */

/** The name as it is shown, in the arena; `name` itself where it is no mangled one, or where there
 * is no demangler.  NULL: no memory.  Any thread. */
const char *rm_demangle(struct rm_arena *arena, const char *name);

#endif
