/* SPDX-License-Identifier: MIT */
/*
 * Owns the names in one program or library that was mapped: of its own file, if it is still the
 * same, and of the files with its debug information, wherever a distribution puts them.  Files are
 * read when the first address is asked for.
 * Called by naming.c and named_modules.c.
 */
#ifndef RM_STACK_SYMBOLS_H
#define RM_STACK_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/budget.h"
#include "stack/dwarf.h"

#define RM_SYMBOLS_REASON_BYTES 320

/* Which file, and where separate debug information is. */
struct rm_symbols_origin {
    const char *path;       /* or RM_VDSO_NAME, which is then that of this process */
    const char *build_id;   /* of what was mapped, in hexadecimal; "": it has none */
    int64_t pid;            /* whose program it may be, should it be another file by now; 0: none */
    int64_t mapped_ns;      /* real time: without a build-id, a file that was changed since is
                               another one; 0: not known */
    const char *debug_root; /* NULL: "/usr/lib/debug" */
    struct rm_budget *budget; /* lives on; NULL: there is memory, and reason, for all */
};

struct rm_symbols;

/** Symbols of one file, which is opened when they are asked for.  Copies the texts.  RESMON_ENOMEM
 * only. */
resmon_status rm_symbols_new(const struct rm_symbols_origin *origin,
                             struct rm_symbols **ret_symbols);

/**
 * What is at an address of the file: see rm_dwarf_find().  0: nothing is known.  Texts live until
 * rm_symbols_rest() or _free().  One thread at a time. RESMON_ENOMEM only.
 */
resmon_status rm_symbols_find(struct rm_symbols *symbols, uint64_t address,
                              struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count);

/** RESMON_OK if the file is the one of the build id, and could be read; else `ret_reason` says why
 * not.  After a find. */
resmon_status rm_symbols_status(const struct rm_symbols *symbols, const char **ret_reason);

/** What could not be read, and why (no libdw, no memory); "": nothing. */
const char *rm_symbols_remark(const struct rm_symbols *symbols);

/** Whether the symbol table was read; where not, the remark says why. */
int rm_symbols_has_table(const struct rm_symbols *symbols);

/** Whether neither the file nor a separate one has a full symbol table: then functions that are not
 * exported have no names.  After a find. */
int rm_symbols_is_stripped(const struct rm_symbols *symbols);

/** Gives its debug information back: the library's memory is the program's.  It is read again when
 * an address is asked for that was not asked for before. */
void rm_symbols_rest(struct rm_symbols *symbols);

/** Whether the symbols are those of the file `path` with that build id. */
int rm_symbols_is_of(const struct rm_symbols *symbols, const char *path, const char *build_id);

void rm_symbols_free(struct rm_symbols *symbols);

#endif
