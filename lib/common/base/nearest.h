/* SPDX-License-Identifier: MIT */
/*
 * Owns the question "did you mean": which of several names somebody had in mind who wrote another
 * word.  Pure.
 */
#ifndef RM_BASE_NEAREST_H
#define RM_BASE_NEAREST_H

#include <stddef.h>

#define RM_NEAREST_LONGEST 40 /* longer words are nobody's misspelling */

struct rm_nearest {
    const char *word; /* as it was written */
    size_t length;
    size_t distance;  /* of `name`: letters to add, drop or change; at most 2 */
    const char *name; /* NULL: none comes near */
};

struct rm_nearest rm_nearest_new(const char *word, size_t length);

/**
 * Looks at one more name, which must outlive the answer.  Near is a name that at most 2 letters and
 * half of the word turn the word into, or one that begins with the word ("prom", "prometheus").
 * Capitals do not count.  Of two that are as near, the first stays.
 */
void rm_nearest_try(struct rm_nearest *nearest, const char *name);

#endif
