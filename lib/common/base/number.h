/* SPDX-License-Identifier: MIT */
/*
 * Owns the text of numbers, written and read: exact to the last bit, with a point in every locale,
 * and several times as fast as printf and strtod, since documents have millions of them.
 */
#ifndef RM_BASE_NUMBER_H
#define RM_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define RM_NUMBER_BYTES 32 /* room for every number and its '\0' */

/** Print into `text`, terminated; return the length. */
RM_SHARED size_t rm_number_u64(char text[RM_NUMBER_BYTES], uint64_t number);
RM_SHARED size_t rm_number_i64(char text[RM_NUMBER_BYTES], int64_t number);

/**
 * A finite number: 15 digits where these name it, else 17.  Whole numbers below 2^53 have neither
 * point nor exponent.  What is not finite is the caller's to write; here it gives "".
 */
RM_SHARED size_t rm_number_double(char text[RM_NUMBER_BYTES], double number);

/** `number` / 10^`places` as a decimal fraction, with all its places: 1500, 3 -> "1.500". */
size_t rm_number_fixed(char text[RM_NUMBER_BYTES], int64_t number, int places);

#define RM_NUMBER_LONGEST 63 /* bytes of a number that is read */

/** Reads the number that the text begins with, as JSON writes it, rounded to the nearest double.
 * Returns its length; 0: no number, or a longer one than RM_NUMBER_LONGEST. */
size_t rm_number_parse(const char *text, size_t length, double *ret_number);

#endif
