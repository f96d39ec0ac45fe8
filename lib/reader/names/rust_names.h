/* SPDX-License-Identifier: MIT */
/*
 * Owns names of Rust, as people write them: of symbols by its own scheme ("_R", RFC 2603), and by
 * the one before, which is that of C++ with signs and a hash in it.  Hashes and what tells items of
 * one name apart are left out.
 * Called by demangle.c.
 */
#ifndef RM_NAMES_RUST_NAMES_H
#define RM_NAMES_RUST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/** Writes the name of a symbol that begins with "_R".  false: it is none, or longer than `room`. */
bool rm_rust_name(const char *symbol, char *text, size_t room);

/** Mends a name that was demangled as one of C++, in its place, if it is one of Rust. */
void rm_rust_name_mend(char *text);

#endif
