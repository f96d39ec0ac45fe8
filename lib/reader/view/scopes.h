/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of scopes: as a tree, by name, and of several runs side by side.
 */
#ifndef RM_VIEW_SCOPES_H
#define RM_VIEW_SCOPES_H

#include "view/columns.h"
#include "view/subject.h"

/** Sets the name of a scope, with what is to be known of it: "||" beside the scope above it, "*"
 * open at the end, "!" with an error. */
void rm_scopes_set_name(struct rm_page *page, struct rm_page_cell *cell,
                        const resmon_run_scope *scope);

/** The tree of scopes; of more than `most` (0: as many as people read) those that took longest.
 * NULL without scopes. */
struct rm_page_table *rm_scopes_table(const struct rm_subject *subject,
                                      enum rm_column_detail detail, size_t most);

/** A row for each name, all scopes of it together; of more than `most` (0: as many as people read)
 * those that took longest.  NULL without scopes. */
struct rm_page_table *rm_scopes_table_by_name(const struct rm_subject *subject, size_t most);

/** The scopes of several runs side by side; NULL unless at least two have scopes. */
struct rm_page_table *rm_scopes_table_of_all(const struct rm_subject *subjects, size_t count);

#endif
