/* SPDX-License-Identifier: MIT */
/*
 * Owns the facts of a run in the block: short texts and numbers that do not change while it lasts
 * (machine, settings, run), as (group, key, value) in a bounded arena.
 */
#ifndef RM_STORE_FACTS_H
#define RM_STORE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"

#define RM_FACT_TEXT   's'
#define RM_FACT_NUMBER 'n' /* the text of a JSON number */

struct rm_fact {
    const char *group;
    const char *key;
    const char *value;
    char kind;
};

/* A fact that finds no room is dropped: the arena is sized for all that the library writes. */
void rm_facts_add_text(struct rm_block *block, const char *group, const char *key,
                       const char *value);
void rm_facts_add_number(struct rm_block *block, const char *group, const char *key, double value);

#define RM_FACT_NUMBER_BYTES 40
#define RM_FACT_VALUE_BYTES  512 /* longer ones are cut */

#define RM_FACT_OBSERVER "observer" /* of "run": who writes it, as rm_identity_print() has it */

#define RM_FACT_NO_EACH "each_lack" /* of "settings": why there are no rows of processes */

#define RM_FACT_NUMBER_LIMIT 9e15 /* beyond it doubles skip whole numbers */

/** The text of a number below the limit, as it stands in a fact. */
void rm_facts_print_number(double value, char text[RM_FACT_NUMBER_BYTES]);

/** The number of an RM_FACT_NUMBER; NaN when it is none. */
double rm_fact_number(const struct rm_fact *fact);

/** Takes the fact at `*position` (start with 0) and moves on; false at the end or at garbage. */
bool rm_facts_next(const struct rm_block *block, uint64_t *position, struct rm_fact *ret_fact);

#endif
