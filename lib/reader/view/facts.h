/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of what does not change during a run: facts, tags, sources; of what observing
 * cost; and of what a run lacks, and why.
 */
#ifndef RM_VIEW_FACTS_H
#define RM_VIEW_FACTS_H

#include "view/subject.h"

#define RM_FACT_TABLES 4

/** The marks of the program; NULL without any. */
struct rm_page_table *rm_tags_table(struct rm_page *page, const struct resmon_run *run,
                                    size_t most);

/** What the metrics were read from. */
struct rm_page_table *rm_sources_table(struct rm_page *page, const struct resmon_run *run);

/** All facts as they are. */
struct rm_page_table *rm_facts_all(struct rm_page *page, const struct resmon_run *run);

/** What observing cost, and what was lost. */
struct rm_page_table *rm_cost_table(const struct rm_subject *subject);

/** Of the run, the job, the machine and the settings, as people read them; how many there are. */
size_t rm_facts_tables(const struct rm_subject *subject,
                       struct rm_page_table *tables[RM_FACT_TABLES]);

/** All that has no figures on a machine that could have them, and remarks on what has; NULL without
 * any. */
struct rm_page_table *rm_missing_table(const struct rm_subject *subject);

/** Of that, what was asked for: a sentence each. */
void rm_missing_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *list);

#endif
