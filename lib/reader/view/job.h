/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of the nodes and ranks of a merged run: which are there and how they ended,
 * what they used, and how evenly ranks took their time.
 */
#ifndef RM_VIEW_JOB_H
#define RM_VIEW_JOB_H

#include "view/columns.h"
#include "view/subject.h"

/** The answers about a job; none for another run. */
void rm_job_answers(const struct rm_subject *subject, struct rm_page_rows *rows);

/** A row for each node, of which at most `most` (0: as many as people read); NULL of a run that has
 * none. */
struct rm_page_table *rm_job_nodes(const struct rm_subject *subject, enum rm_column_detail detail,
                                   size_t most);

/** A row for each rank, of which at most `most` (0: as many as people read): those that did not end
 * well come first where not all fit.  NULL of a run that has none. */
struct rm_page_table *rm_job_ranks(const struct rm_subject *subject, size_t most);

/** A row for each scope that several ranks were in, those that lost most first; NULL without any.
 */
struct rm_page_table *rm_job_scopes(const struct rm_subject *subject, enum rm_column_detail detail);

#endif
