/* SPDX-License-Identifier: MIT */
/*
 * Owns the parser of pressure stall information.  Called by pressure.c and the fuzz tests.
 */
#ifndef RM_COLLECT_PRESSURE_H
#define RM_COLLECT_PRESSURE_H

#include "base/parse.h"

/** Stall times in seconds; NaN for a line that is missing.  False: both lines are missing. */
bool rm_pressure_parse(struct rm_text text, double *ret_some_s, double *ret_full_s);

#endif
