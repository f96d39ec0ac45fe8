/* SPDX-License-Identifier: MIT */
/*
 * Owns the parsing of a text with options and sinks: setup/plan.h with the sinks of this library.
 */
#ifndef RM_API_PLAN_H
#define RM_API_PLAN_H

#include "setup/plan.h"

resmon_status rm_plan_read(const char *text, bool is_environment, struct rm_plan *ret_plan);

#endif
