/* SPDX-License-Identifier: MIT */
/*
 * Owns what is known about the code that is mapped, for following stacks: the modules, and what was
 * learned about stepping through them.  Replaced by one thread when libraries come or go; read in
 * signal handlers.
 */
#ifndef RM_STACK_CODE_H
#define RM_STACK_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/modules.h"
#include "stack/recipes.h"

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

#endif
