/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbering of keys: equal bytes get the same number, from 0 on, in the order in which
 * they come.  Tables of strings, functions and places are made with it.
 */
#ifndef RM_BASE_INTERN_H
#define RM_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct rm_intern_key {
    const void *bytes; /* aligned for anything, and followed by a zero byte */
    size_t length;
};

/* Zeroed: empty. */
struct rm_intern {
    struct rm_arena arena;
    struct rm_intern_key *keys; /* by number */
    uint32_t count;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t room;   /* slots: a power of two, twice as many as keys at least */
    bool is_broken;  /* no memory: numbers are wrong from here on */
};

/** The number of a key; 0 when there is no memory. */
uint32_t rm_intern(struct rm_intern *table, const void *bytes, size_t length);

/** Of a string. */
uint32_t rm_intern_text(struct rm_intern *table, const char *text);

void rm_intern_free(struct rm_intern *table);

#endif
