/* SPDX-License-Identifier: MIT */
/*
 * Owns how many columns of a terminal a text takes: characters, not bytes; those of East Asia and
 * emoji are wide, and marks that stand on another character take none (Unicode 15, UAX #11).
 * Pure.
 */
#ifndef RM_BASE_COLUMNS_H
#define RM_BASE_COLUMNS_H

#include <stddef.h>

#include "base/compiler.h"

RM_SHARED size_t rm_columns(const char *text);

/** How many bytes of a text's beginning fit; `ret_taken` (may be NULL): the columns of these. */
RM_SHARED size_t rm_columns_fit(const char *text, size_t columns, size_t *ret_taken);

/** Copies a text that is wider than `columns` without its middle: "a_long_na..end". */
RM_SHARED void rm_columns_shorten(char *target, size_t capacity, const char *text, size_t columns);

#endif
