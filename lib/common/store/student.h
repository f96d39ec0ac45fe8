/* SPDX-License-Identifier: MIT */
/*
 * Owns Student's t distribution, for confidence intervals.  Pure.
 */
#ifndef RM_STORE_STUDENT_H
#define RM_STORE_STUDENT_H

#include "base/compiler.h"

/** The t that a variable of `df` degrees of freedom (1 or more, also fractions) stays below with
 * the probability `p`, 0.5 ... 0.9999; to 1e-9 of its value. */
RM_SHARED double rm_student_quantile(double p, double df);

#endif
