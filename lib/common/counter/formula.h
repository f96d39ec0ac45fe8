/* SPDX-License-Identifier: MIT */
/*
 * Owns formulas over counts: + - * / and parentheses, decimal numbers, and names.  Pure.
 */
#ifndef RM_COUNTER_FORMULA_H
#define RM_COUNTER_FORMULA_H

#include <resmon/status.h>

#include "base/parse.h"

/** The value of a name; false: there is no such name. */
typedef bool (*rm_formula_value_fn)(void *context, struct rm_text name, double *ret_value);

/**
 * Evaluates; NaN where a value is NaN, and for a division by zero.  RESMON_EINVAL: the text is no
 * formula, is nested deeper than 32, or has a name that is not known.
 */
resmon_status rm_formula_evaluate(const char *text, rm_formula_value_fn value, void *context,
                                  double *ret_value);

#endif
