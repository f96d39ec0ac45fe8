/* SPDX-License-Identifier: MIT */
/*
 * Owns libdw, with libdwfl in it, and libelf, as they are loaded: their functions, by their own
 * declarations (libdw.def).
 * Called by dwfl.c, which loads them.
 */
#ifndef RM_NAMES_LIBDW_H
#define RM_NAMES_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

struct rm_libdw {
#define FUNCTION(name) __typeof__(name) *name;
#include "names/libdw.def"
#undef FUNCTION
};
extern struct rm_libdw rm_dw;

#endif
