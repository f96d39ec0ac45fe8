/* SPDX-License-Identifier: MIT */
/*
 * Owns what a profile lacks of its names, and why: files that cannot be had, and those that were
 * stripped, as one text for people.
 * Called by naming.c.
 */
#ifndef RM_STACK_SHORTAGE_H
#define RM_STACK_SHORTAGE_H

#include <stddef.h>

struct rm_arena;
struct rm_run_module;

#define RM_SHORTAGE_BYTES 768
#define RM_SHORTAGE_FILES 3 /* that are stripped, and named; the others are counted */

/* Zeroed: nothing is missing. */
struct rm_shortage {
    size_t count;                /* modules with a reason of their own */
    const char *missing;         /* of the first of them: "names" or "lines" */
    char why[RM_SHORTAGE_BYTES]; /* that reason */
    size_t stripped_count;
    const struct rm_run_module *stripped[RM_SHORTAGE_FILES];
};

/** A module of which something is missing; `why` is copied. */
void rm_shortage_add(struct rm_shortage *shortage, const char *missing, const char *why);

/** A module without names for what was seen in it, for it was stripped; it lives on. */
void rm_shortage_add_stripped(struct rm_shortage *shortage, const struct rm_run_module *module);

/** All of it in the arena; "": nothing is missing; NULL: no memory. */
const char *rm_shortage_text(const struct rm_shortage *shortage, struct rm_arena *arena);

/** The text behind a reason that may be there already, as one text: in the arena, or one of the
 * two. NULL: no memory. */
const char *rm_shortage_join(const char *reason, const char *text, struct rm_arena *arena);

#endif
