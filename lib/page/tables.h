/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of a page that are about a run as a whole: its energy, marks, node, what was not
 * measured, what observing cost, and what does not change.
 */
#ifndef RM_PAGE_TABLES_H
#define RM_PAGE_TABLES_H

#include "page/subject.h"

#define RM_FACT_TABLES 4
#define RM_NODE_TABLES 2

/** Joules by component; NULL where nothing is known of energy. */
struct rm_page_table *rm_table_of_energy(const struct rm_subject *subject);

/** The marks of the program; NULL without any. */
struct rm_page_table *rm_table_of_tags(const struct rm_subject *subject);

/** What was not measured, and remarks on what was; NULL without any. */
struct rm_page_table *rm_table_of_missing(const struct rm_subject *subject);

/** What observing cost, and what was lost. */
struct rm_page_table *rm_table_of_cost(const struct rm_subject *subject);

/** Of the run, the job, the machine and the settings; how many there are. */
size_t rm_tables_of_facts(const struct rm_subject *subject,
                          struct rm_page_table *tables[RM_FACT_TABLES]);

/** The 18 figures of each node: a column for each of few nodes, else a row, by groups of figures;
 * how many tables. */
size_t rm_tables_of_nodes(const struct rm_subject *subjects, size_t count,
                          struct rm_page_table *tables[RM_NODE_TABLES]);

#endif
