/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of what does not change during a run: facts, tags, sources; and of what observing
 * cost.
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

#endif
