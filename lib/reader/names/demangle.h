/* SPDX-License-Identifier: MIT */
/*
 * Owns the names of functions as people write them: of C++ by the demangler of whatever C++ library
 * is there, of Rust by rust_names.c.
 * Called by results.c.
 */
#ifndef RM_NAMES_DEMANGLE_H
#define RM_NAMES_DEMANGLE_H

#include <stddef.h>

/** The name as it is shown, cut where it is longer; `name` itself where it is no mangled one, or
 * where there is no demangler.  One thread at a time. */
void rm_demangle(const char *name, char *text, size_t room);

#endif
