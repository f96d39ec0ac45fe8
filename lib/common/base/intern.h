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
#include "base/compiler.h"
#include "base/map.h"

struct rm_intern_key {
    const void *bytes; /* aligned for anything, and followed by a zero byte */
    size_t length;
};

/* Zeroed: empty. */
struct rm_intern {
    struct rm_arena arena;
    struct rm_intern_key *keys; /* by number */
    uint32_t count;
    size_t room;       /* of `keys` */
    struct rm_map map; /* numbers by key */
    bool is_broken;    /* no memory: numbers are wrong from here on */
};

/** The number of a key; 0 when there is no memory. */
RM_SHARED uint32_t rm_intern(struct rm_intern *table, const void *bytes, size_t length);

/** The number of a terminated string; 0 when there is no memory. */
RM_SHARED uint32_t rm_intern_text(struct rm_intern *table, const char *text);

RM_SHARED void rm_intern_free(struct rm_intern *table);

#endif
