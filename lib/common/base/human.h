/* SPDX-License-Identifier: MIT */
/*
 * Owns numbers as people read and write them: "687.5 MiB", "1.234 ms", "12.3 %".  For text only;
 * data keeps SI units without prefix.  Independent of the locale's decimal point.  Python uses the
 * same texts (resmon_format_value()); bindings/python/resmon/report.js has the same rules for the
 * units of charts, and a test that compares both.
 */
#ifndef RM_BASE_HUMAN_H
#define RM_BASE_HUMAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define RM_HUMAN_BYTES 32

/** Each writes at most RM_HUMAN_BYTES; what is not finite becomes "-". */
void rm_human_bytes(char text[RM_HUMAN_BYTES], double bytes);
RM_SHARED void rm_human_seconds(char text[RM_HUMAN_BYTES], double seconds);

/** With that many decimals, and no unit. */
RM_SHARED void rm_human_fixed(char text[RM_HUMAN_BYTES], double value, int decimals);

/** "kJ" for 12345.0 in "J": for values next to each other in one unit.  Not for seconds, which are
 * written in two units from 120 on. */
struct rm_human_unit {
    double factor; /* to it */
    const char *name;
};
RM_SHARED struct rm_human_unit rm_human_unit_of(double value, const char *unit);

/**
 * A value in the unit of a metric: "B", "s", "J", "1", ...  Other units follow a count: "12.50 kX".
 * With `is_rate`, or where the unit ends in "/s", the value is per second: "/s" is added, but
 * seconds become percent, and joules watts.
 */
RM_SHARED void rm_human_value(char text[RM_HUMAN_BYTES], double value, const char *unit,
                              bool is_rate);

/* ---- amounts that people write ----------------------------------------------------------- */

/* "10ms", "1.5MiB", "3kJ". */

/** Parses a number that is not negative, independent of the locale, and moves on; false: no number.
 */
RM_SHARED bool rm_amount_take_number(const char **at, double *ret_number);

/** The factor of a unit to the unit of a metric ("s", "B", "J", "1"); NaN: it is not such a unit.
 */
RM_SHARED double rm_amount_factor(const char *name, size_t length, const char *unit);

/** Lists the units of the unit of a metric: "ns, us, ms, min, s, h". */
void rm_amount_list(const char *unit, char *text, size_t room);

#endif
