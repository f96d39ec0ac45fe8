/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of scopes of a page: the tree, by name, and those of several runs side by side.
 */
#ifndef RM_PAGE_SCOPES_H
#define RM_PAGE_SCOPES_H

#include "page/subject.h"

/** The tree of scopes with a bar for the share of the time; NULL without scopes. */
struct rm_page_table *rm_scopes_table(const struct rm_subject *subject);

/** The scopes by name, where some name stands at several places of the tree; else NULL. */
struct rm_page_table *rm_scopes_table_by_name(const struct rm_subject *subject);

/** Scope by scope, what the runs took; NULL where not two of them have scopes. */
struct rm_page_table *rm_scopes_table_of_all(const struct rm_subject *subjects, size_t count);

/** A scope's name, indented by its depth, with its marks. */
const char *rm_scopes_name(struct rm_page *page, const resmon_run_scope *scope, bool has_marks);

#endif
