/* SPDX-License-Identifier: MIT */
/*
 * Owns the text form of pressure stall information, the same for the machine and for groups:
 *   some avg10=0.00 avg60=0.00 avg300=0.00 total=2337693
 *   full ...
 */
#ifndef RM_COLLECT_PRESSURE_H
#define RM_COLLECT_PRESSURE_H

#include "base/parse.h"

/** Stall times in seconds; NaN for a line that is missing.  False when both are. */
bool rm_pressure_parse(struct rm_text text, double *ret_some_s, double *ret_full_s);

#endif
