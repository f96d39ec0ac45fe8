/* SPDX-License-Identifier: MIT */
/*
 * Owns a job in the words of seff, the tool of Slurm's contribs that many sites have; and advice on
 * it: what it had and did not use, and what held it up, with the arithmetic.
 */
#ifndef RM_VIEW_ADVICE_H
#define RM_VIEW_ADVICE_H

#include "base/buffer.h"
#include "run/run.h"
#include "view/model.h"

/** Says what advice.def finds worth a word; nothing of a short job, and of a run without nodes. */
void rm_advice_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *advice);

/** Appends it; of what is not known, the line is left out. */
void rm_seff_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
