/* SPDX-License-Identifier: MIT */
/*
 * Owns the program resmon-names, which symbolizes addresses for the library: its entry point
 * (serve.c), the frames that it found, symbolizing by libdwfl (dwfl.c, or dwfl_none.c in builds
 * without it) or else by symbol tables (symtab.c), and demangling (demangle.c).
 * Called by program.c and the command resmon; symbols/symbolizer.c refers to rm_names_main().
 */
#ifndef RM_NAMES_NAMES_H
#define RM_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/map.h"
#include "names/protocol.h"

/* ---- the program ----------------------------------------------------------------------------- */

/** Reads a request (protocol.h) from standard input, and writes the reply to standard output.
 * Returns the exit status. */
int rm_names_main(void);

#define RM_NAMES_WRONG_REQUEST 2
#define RM_NAMES_NO_MEMORY     3
#define RM_NAMES_NO_OUTPUT     4
#define RM_NAMES_NO_THREAD     5

/** Ends the program at once, with that status; the library keeps addresses without names then. */
void rm_names_end(int status) __attribute__((noreturn));

/** Returns `memory`; if it is NULL, ends the program. */
void *rm_names_must(void *memory);

/* ---- frames ---------------------------------------------------------------------------------- */

struct rm_names_frame {
    uint32_t function, file; /* numbers of texts */
    uint32_t line;
};

/* frames[first ... first + count - 1], innermost first. */
struct rm_names_span {
    size_t first;
    uint32_t count;
};

/* The frames that were found.  Each text is written to the reply once, where it first occurs.
 * Zeroed: empty. */
struct rm_names_results {
    struct rm_names_frame *frames;
    size_t frame_count, frame_room;
    struct rm_intern texts;
    uint32_t *names; /* numbers in the reply, by text; 0: not written yet */
    size_t name_room;
    uint32_t name_count;
};

/** The number of a text; 0 for NULL and "". */
uint32_t rm_names_text(struct rm_names_results *results, const char *text);

/** The number of a function's demangled name; 0 for NULL. */
uint32_t rm_names_function(struct rm_names_results *results, const char *name);

void rm_names_add_frame(struct rm_names_results *results, uint32_t function, uint32_t file,
                        uint32_t line);

/* ---- symbol tables --------------------------------------------------------------------------- */

struct rm_symbol {
    uint64_t low, high;
    const char *name; /* the caller's */
    uint32_t text;    /* number of the demangled name; 0: not demangled yet */
    uint32_t rank;    /* of several names for one address, the lowest rank is used */
};

/* The functions of a file.  Zeroed: none. */
struct rm_symbols {
    struct rm_symbol *all; /* the user frees it */
    size_t count, room;
    bool has_local; /* so the table is a full one */
};

/* An entry of a symbol table, as <elf.h> has it. */
struct rm_symbol_facts {
    const char *name; /* NULL: it cannot be read */
    uint64_t address, bytes;
    uint64_t section_end; /* end of its section; 0: not known */
    uint32_t section;
    unsigned char info;
};

/** Adds an entry if it is a function. */
void rm_symbols_add(struct rm_symbols *symbols, const struct rm_symbol_facts *facts);

/** After the last one was added, before the first one is sought. */
void rm_symbols_sort(struct rm_symbols *symbols);

/** Of the functions that contain the address, the one with the highest start; NULL: none. */
struct rm_symbol *rm_symbols_find(const struct rm_symbols *symbols, uint64_t address);

/** The number of its demangled name. */
uint32_t rm_symbol_text(struct rm_names_results *results, struct rm_symbol *symbol);

/* ---- libdwfl --------------------------------------------------------------------------------- */

struct rm_names_module {
    const char *path, *build_id; /* of the mapped file; "": it has none */
    const char *debug_root;      /* "": the usual directories */
    uint64_t pid;                /* a process that may run the program; 0: none */
    int64_t mapped_ns; /* real time: without a build-id, a file that was modified later is a
                          different one; 0: not known */
    bool is_light;
    const uint64_t *addresses; /* in the file, ascending */
    size_t count;
    struct rm_names_span *spans; /* output: their frames */
    uint32_t flags;              /* output: RM_NAMES_NO_NAMES and so on */
    char reason[RM_NAMES_MOST_REASON];
};

/** Whether a file without a build-id is another one than was mapped: it was changed since. */
bool rm_names_was_changed(const struct rm_names_module *module, const struct stat *info);

#define RM_NAMES_CHANGED "%s was changed since the run began, and has no build-id"

/** Loads libdwfl, libdw and libelf of elfutils; must be called first.  RESMON_ENOTSUP: the text of
 * the error has the reason. */
resmon_status rm_dwfl_load(void);

/**
 * Adds the frames of a module's addresses to the results: lines, functions, and the chain of
 * callers of inlined functions.  All addresses are looked up in one walk through the debug
 * information, which enters only units and functions with addresses: libdw would walk through a
 * unit for each address.
 */
void rm_dwfl_symbolize(struct rm_names_module *module, struct rm_names_results *results);

/** Adds the functions of a module's addresses by its symbol table alone; `why`: the reason why
 * there are no lines. */
void rm_symtab_symbolize(struct rm_names_module *module, struct rm_names_results *results,
                         const char *why);

/* ---- demangling ------------------------------------------------------------------------------ */

/** Demangles a Rust symbol that begins with "_R" (RFC 2603), without hashes and disambiguators.
 * false: it is no such symbol, or its name is longer than `room`. */
bool rm_rust_name(const char *symbol, char *text, size_t room);

/** Corrects, in place, the name of a Rust symbol in the older scheme, which was demangled as C++.
 */
void rm_rust_name_mend(char *text);

/** The demangled name, cut to `room`: C++ by the demangler of the C++ library that is found, Rust
 * by rm_rust_name().  `name` itself if it is not mangled, or there is no demangler.  One thread at
 * a time. */
void rm_demangle(const char *name, char *text, size_t room);

#endif
