/* SPDX-License-Identifier: MIT */
/*
 * Owns texts of one module as people see them, each made once: by where the module has it, for a
 * name that many frames share is one text there.
 * Called by naming.c.
 */
#ifndef RM_STACK_SHOWN_TEXTS_H
#define RM_STACK_SHOWN_TEXTS_H

#include <stddef.h>

#include "base/map.h"

struct rm_arena;
struct rm_shown_text;

/* How a text is made to be seen, in the arena; NULL: no memory. */
typedef const char *(*rm_show_fn)(struct rm_arena *arena, const char *text);

/* Set `show`; the rest zeroed: empty. */
struct rm_shown_texts {
    rm_show_fn show;
    struct rm_shown_text *texts;
    size_t room;       /* of `texts` */
    struct rm_map map; /* of `texts`, by where they stand */
};

/** The text, "" for NULL; in the arena.  NULL: no memory. */
const char *rm_shown_text(struct rm_shown_texts *texts, struct rm_arena *arena, const char *text);

/** Before texts of another module, which may lie where those of the last one did. */
void rm_shown_texts_forget(struct rm_shown_texts *texts);

void rm_shown_texts_free(struct rm_shown_texts *texts);

#endif
