/* SPDX-License-Identifier: MIT */
/*
 * Owns amounts as people say them: "10ms", "1.5MiB", "3kJ".
 */
#ifndef RM_BASE_AMOUNT_H
#define RM_BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/** Takes a number that is not below 0, whatever the locale, and moves on; false: there is none. */
RM_SHARED bool rm_amount_take_number(const char **at, double *ret_number);

/** What a unit is of one that figures have ("s", "B", "J", "1"); NaN: it is none of that. */
RM_SHARED double rm_amount_factor(const char *name, size_t length, const char *unit);

/** The units of one that figures have: "ns, us, ms, min, s, h". */
void rm_amount_list(const char *unit, char *text, size_t room);

#endif
