/* SPDX-License-Identifier: MIT */
/*
 * Owns libdw, which is loaded when the first debug information is opened: lines, functions and
 * inlined functions of addresses, by indexes of our own (libdw looks through everything for each
 * address).  dwarf_none.c stands in where it was not there to build with.
 * Called by symbols.c.
 */
#ifndef RM_STACK_DWARF_H
#define RM_STACK_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/debug_image.h"

/* A function that is called here, whether there is a call of it in the program or it was inlined.
 */
struct rm_symbol {
    const char *function; /* "_ZN..."; NULL: not known */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known */
    uint32_t is_linked;   /* the name is the linker's, and not only the source's */
};

#define RM_MOST_INLINED 128U /* into one another at one address */

struct rm_dwarf;

/** RESMON_OK: libdw is there.  RESMON_ENOTSUP: why not is the text of the error. */
resmon_status rm_dwarf_load(void);

/**
 * Takes `image` and `alternate` (what several files share; empty: none) over if RESMON_OK.
 * RESMON_ENOTSUP: no libdw; RESMON_EFORMAT: libdw refuses it; RESMON_ENOMEM.
 */
resmon_status rm_dwarf_open(struct rm_debug_image *image, struct rm_debug_image *alternate,
                            struct rm_dwarf **ret_dwarf);

/**
 * What is at an address of the file: the innermost function first, then those that it was inlined
 * into.  0: nothing is known; the outermost may lack its name.  Texts live until the close.  One
 * thread at a time.  RESMON_ENOMEM: `dwarf` may be of no more use; close it.
 */
resmon_status rm_dwarf_find(struct rm_dwarf *dwarf, uint64_t address,
                            struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count);

void rm_dwarf_close(struct rm_dwarf *dwarf);

#endif
