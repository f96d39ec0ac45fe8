/* SPDX-License-Identifier: MIT */
/*
 * Owns the facts of a run in the block: short texts and numbers that do not change while it lasts
 * (machine, settings, run), as (group, key, value) in a bounded arena.
 */
#ifndef RM_STORE_FACTS_H
#define RM_STORE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
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

#define RM_FACT_CUT "cut" /* of "run": how much of the recording there is, if not all */
#define RM_FACT_OBSERVED                                                                          \
    "observed"                      /* of "run": another process that is observed, as that has it \
                                     */
#define RM_FACT_OBSERVER "observer" /* of "run": who writes it, as rm_identity_print() has it */

#define RM_FACT_NO_EACH "each_lack" /* of "settings": why there are no rows of processes */

/* Of "run": how far the clock of the machine may have been wrong, in ns, when the run began and
 * when it ended (adjtimex(2)); and by how much it was set meanwhile. */
#define RM_FACT_CLOCK_ERROR     "clock_error_ns"
#define RM_FACT_END_CLOCK_ERROR "end_clock_error_ns"
#define RM_FACT_CLOCK_STEP      "clock_step_ns"

/* Of "job": the nodes that it has, as Slurm writes them; of "settings": how wide the rows of a
 * merged run are. */
#define RM_FACT_JOB_HOSTS       "hosts"
#define RM_FACT_MERGED_INTERVAL "merged_interval_ms"

#define RM_FACT_NUMBER_LIMIT 9e15 /* beyond it doubles skip whole numbers */

/** The text of a number below the limit, as it stands in a fact. */
RM_SHARED void rm_facts_print_number(double value, char text[RM_FACT_NUMBER_BYTES]);

/** The number of an RM_FACT_NUMBER; NaN when it is none. */
RM_SHARED double rm_fact_number(const struct rm_fact *fact);

/** Takes the fact at `*position` (start with 0) and moves on; false at the end or at garbage. */
bool rm_facts_next(const struct rm_block *block, uint64_t *position, struct rm_fact *ret_fact);

#endif
