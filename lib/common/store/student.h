/* SPDX-License-Identifier: MIT */
/*
 * Owns Student's t distribution, for confidence intervals.  Pure.
 */
#ifndef RM_STORE_STUDENT_H
#define RM_STORE_STUDENT_H

#include "base/compiler.h"

/** The quantile `p` (0.5 ... 0.9999) of Student's t distribution with `df` degrees of freedom (1 or
 * more, also fractions). Relative error at most 1e-9. */
RM_SHARED double rm_student_quantile(double p, double df);

#endif
