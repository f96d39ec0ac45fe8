/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of what is mapped as code: the program, its libraries, the vDSO.  Made by one
 * thread with the loader's help; read in signal handlers, which may not ask the loader.
 */
#ifndef RM_STACK_MODULES_H
#define RM_STACK_MODULES_H

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

#endif
