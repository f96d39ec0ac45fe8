/* SPDX-License-Identifier: MIT */
/*
 * Owns the names of functions as people write them: of C++ by the demangler of whatever C++ library
 * is there; of Rust, of symbols by its own scheme ("_R", RFC 2603), and by the one before, which is
 * that of C++ with signs and a hash in it.  Hashes and what tells items of one name apart are left
 * out.
 * Called by results.c.
 */
#ifndef RM_NAMES_DEMANGLE_H
#define RM_NAMES_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/** Writes the name of a symbol that begins with "_R".  false: it is none, or longer than `room`. */
bool rm_rust_name(const char *symbol, char *text, size_t room);

/** Mends a name that was demangled as one of C++, in its place, if it is one of Rust. */
void rm_rust_name_mend(char *text);

/** The name as it is shown, cut where it is longer; `name` itself where it is no mangled one, or
 * where there is no demangler.  One thread at a time. */
void rm_demangle(const char *name, char *text, size_t room);

#endif
