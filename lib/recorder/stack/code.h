/* SPDX-License-Identifier: MIT */
/*
 * Owns what is known about the code that is mapped, for following stacks, and read in signal
 * handlers, which may not ask the loader: the table of modules (the program, its libraries, the
 * vDSO), made by one thread with the loader's help and replaced when libraries come or go; and the
 * cache of unwind steps: by address, the bytes that libunwind made of the unwind tables to step
 * from there to the caller.  That is only ever added to, by any thread and in signal handlers,
 * without a lock, and thrown away when code comes or goes.
 */
#ifndef RM_STACK_CODE_H
#define RM_STACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "store/stack_record.h"

struct rm_module {
    struct rm_module_entry entry; /* what the run keeps of it */
    uint64_t unwind_header;       /* address of .eh_frame_hdr; 0: none that is understood */
    uint64_t unwind_table;        /* of its sorted table */
    uint64_t unwind_count;        /* rows of that */
};

/* All modules, sorted by start. */
struct rm_modules {
    uint64_t adds, removals; /* of the loader, when it was made */
    size_t count;
    struct rm_module rows[];
};

/** Whether the loader has changed what is mapped since `modules` were listed; NULL: yes. */
bool rm_modules_are_old(const struct rm_modules *modules);

/** Lists what is mapped now.  RESMON_ENOMEM.  Free with rm_free(). */
resmon_status rm_modules_list(struct rm_modules **ret_modules);

/** The module that an address is in, or NULL.  Async-signal-safe. */
const struct rm_module *rm_modules_find(const struct rm_modules *modules, uint64_t address);

#define RM_RECIPE_BYTES 256U

struct rm_recipes;

/** Room for some thousand recipes; NULL: no memory.  Free with rm_free(). */
struct rm_recipes *rm_recipes_new(void);

/** The recipe of an address, or NULL.  Async-signal-safe. */
void *rm_recipes_find(struct rm_recipes *recipes, uint64_t address);

/** Keeps the recipe of an address, if there is room.  Async-signal-safe. */
void rm_recipes_add(struct rm_recipes *recipes, uint64_t address, const void *recipe, size_t bytes);

struct rm_code {
    uint64_t number; /* no two of a process have the same */
    struct rm_modules *modules;
    struct rm_recipes *recipes; /* NULL: no memory; everything is looked up every time */
};

/** The latest, or NULL.  Async-signal-safe. */
const struct rm_code *rm_code_now(void);

/**
 * Lists anew if something changed; true: it did.  `is_quiet`: no handler looks at what was replaced
 * the time before, which is freed then; as long as it is not, nothing is listed.
 */
bool rm_code_refresh(bool is_quiet);

/** Frees all; no handler looks at it. */
void rm_code_free(void);

/** Leaves all as it is: it is another process's, or looked at. */
void rm_code_forget(void);

/* As a row of .eh_frame_hdr: both from the origin of the index on. */
struct rm_frame_row {
    int32_t function, entry;
};

#define RM_FRAME_INDEX_HEADER 12U /* bytes of .eh_frame_hdr before its rows */

/** How many rows an .eh_frame_hdr of `bytes` bytes has; 0: none, or not as every linker writes it.
 */
uint32_t rm_frame_index_rows_of(const void *header, uint64_t bytes);

/* Zeroed but for `origin`: empty. */
struct rm_frame_index {
    uint64_t origin; /* an address */
    struct rm_frame_row *rows;
    size_t count, room;
};

/** Adds the functions of .eh_frame, which is mapped at `address`.  false: no memory. */
bool rm_frame_index_add(struct rm_frame_index *index, const char *data, uint64_t bytes,
                        uint64_t address);

/** Makes .eh_frame of .debug_frame, in its place; functions are moved by `bias`. */
void rm_frame_index_convert(char *data, uint64_t bytes, uint64_t bias);

/** When all are there. */
void rm_frame_index_sort(struct rm_frame_index *index);

void rm_frame_index_free(struct rm_frame_index *index);

#endif
