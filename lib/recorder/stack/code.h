/* SPDX-License-Identifier: MIT */
/*
 * Owns what is known about mapped code for unwinding.  Signal handlers read it, which may not
 * call the loader.
 *
 * The table of modules (the program, its libraries, the vDSO) is made by one thread with the
 * loader's help, and replaced when libraries are loaded or unloaded.  The unwind cache has, by
 * address, the bytes that libunwind computed from the unwind tables to step from there to the
 * caller.  Entries are only added, by any thread and in signal handlers, without a lock; the
 * cache is discarded when code changes.
 *
 * And the sorted table of functions for finding frames (.eh_frame_hdr): checking one, and making
 * one for frames without it, as in statically linked programs, and in programs whose frames are
 * in debug information, as Go's.  The content of a section is untrusted.  Called by images.c,
 * too.
 */
#ifndef RM_STACK_CODE_H
#define RM_STACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "store/stack_record.h"

struct rm_module {
    struct rm_module_entry entry; /* the part that the run keeps */
    uint64_t unwind_header;       /* address of .eh_frame_hdr; 0: none in a supported form */
    uint64_t unwind_table;        /* address of its sorted table */
    uint64_t unwind_count;        /* number of its rows */
};

/* All modules, sorted by start. */
struct rm_modules {
    uint64_t adds, removals; /* the loader's counters when the table was made */
    size_t count;
    struct rm_module rows[];
};

/** Whether the loader has changed the mapped modules since `modules` were listed; NULL: yes. */
bool rm_modules_are_old(const struct rm_modules *modules);

/** Lists the mapped modules.  RESMON_ENOMEM.  Free with rm_free(). */
resmon_status rm_modules_list(struct rm_modules **ret_modules);

/** The module of an address, or NULL.  Async-signal-safe. */
const struct rm_module *rm_modules_find(const struct rm_modules *modules, uint64_t address);

#define RM_UNWIND_STEP_BYTES 256U

struct rm_unwind_cache;

/** Allocates an unwind cache of some thousand entries; NULL: out of memory.  Free with rm_free().
 */
struct rm_unwind_cache *rm_unwind_cache_new(void);

/** The cache entry of an address, or NULL.  Async-signal-safe. */
void *rm_unwind_cache_find(struct rm_unwind_cache *cache, uint64_t address);

/** Adds the cache entry of an address, if there is capacity.  Async-signal-safe. */
void rm_unwind_cache_add(struct rm_unwind_cache *cache, uint64_t address, const void *step,
                         size_t bytes);

struct rm_code {
    uint64_t number; /* unique in a process */
    struct rm_modules *modules;
    struct rm_unwind_cache *cache; /* unwind cache; NULL: out of memory, no cache */
};

/** The current one, or NULL.  Async-signal-safe. */
const struct rm_code *rm_code_now(void);

/**
 * Lists the modules again if they changed; true: they did.  `is_quiet`: no handler uses what was
 * replaced the last time, which is freed then; until it is freed, nothing is listed.
 */
bool rm_code_refresh(bool is_quiet);

/** Frees all; no handler may use it. */
void rm_code_free(void);

/** Leaves all allocated: it belongs to another process, or is in use. */
void rm_code_forget(void);

/* A row of .eh_frame_hdr: both relative to the origin of the index. */
struct rm_frame_row {
    int32_t function, entry;
};

#define RM_FRAME_INDEX_HEADER 12U /* bytes of .eh_frame_hdr before its rows */

/** Number of rows of an .eh_frame_hdr of `bytes` bytes; 0: none, or not in the form that linkers
 * write. */
uint32_t rm_frame_index_rows_of(const void *header, uint64_t bytes);

/* Zeroed except for `origin`: empty. */
struct rm_frame_index {
    uint64_t origin; /* an address */
    struct rm_frame_row *rows;
    size_t count, room;
};

/** Adds the functions of .eh_frame, which is mapped at `address`.  False: out of memory. */
bool rm_frame_index_add(struct rm_frame_index *index, const char *data, uint64_t bytes,
                        uint64_t address);

/** Converts .debug_frame to .eh_frame, in place; functions are moved by `bias`. */
void rm_frame_index_convert(char *data, uint64_t bytes, uint64_t bias);

/** Sorts the index; after the last rm_frame_index_add(). */
void rm_frame_index_sort(struct rm_frame_index *index);

void rm_frame_index_free(struct rm_frame_index *index);

#endif
