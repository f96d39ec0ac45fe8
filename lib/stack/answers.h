/* SPDX-License-Identifier: MIT */
/*
 * Owns what was found for addresses of one module: a run that is looked at again, as for a document
 * that is written now and then, has most of its addresses still, and their files stay closed.
 * Called by symbols.c.
 */
#ifndef RM_STACK_ANSWERS_H
#define RM_STACK_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/intern.h"
#include "base/map.h"
#include "stack/dwarf.h"

#define RM_MOST_ANSWERS 32768U

struct rm_answer;

/* Zeroed: empty. */
struct rm_answers {
    struct rm_answer *answers;
    size_t room;       /* of `answers` */
    struct rm_map map; /* of `answers`, by address */
    struct rm_symbol *frames;
    size_t frame_count, frame_room;
    struct rm_intern texts;
};

/** What was found when the address was asked for before; false: it was not.  The texts live until
 * _free(). */
bool rm_answers_find(const struct rm_answers *answers, uint64_t address,
                     struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count);

/** Keeps a new one, unless there are RM_MOST_ANSWERS; the texts of `frames` are then its own.
 * RESMON_ENOMEM: it is of no more use; free it. */
resmon_status rm_answers_add(struct rm_answers *answers, uint64_t address, struct rm_symbol *frames,
                             size_t count);

void rm_answers_free(struct rm_answers *answers);

#endif
