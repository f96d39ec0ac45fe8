/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of a page about the nodes and ranks of a merged run, and how evenly ranks took
 * their time.
 */
#ifndef RM_PAGE_JOB_H
#define RM_PAGE_JOB_H

#include "page/subject.h"

/** A row for each node; NULL of a run that has none. */
struct rm_page_table *rm_job_nodes(const struct rm_subject *subject);

/** A row for each rank, those that did not end well first; NULL of a run that has none. */
struct rm_page_table *rm_job_ranks(const struct rm_subject *subject);

/** A row for each scope that several ranks were in; NULL without any. */
struct rm_page_table *rm_job_scopes(const struct rm_subject *subject);

#endif
