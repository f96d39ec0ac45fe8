/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of energy: joules by component, their sum, and what it costs.
 */
#ifndef RM_VIEW_ENERGY_H
#define RM_VIEW_ENERGY_H

#include "view/subject.h"

/** NULL where nothing is known of energy. */
struct rm_page_table *rm_energy_table(const struct rm_subject *subject);

/** The components alone. */
struct rm_page_table *rm_energy_all(struct rm_page *page, const struct resmon_run *run);

#endif
