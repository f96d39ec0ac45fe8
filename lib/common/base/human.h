/* SPDX-License-Identifier: MIT */
/*
 * Owns numbers as people read them: "687.5 MiB", "1.234 ms", "12.3 %".  For text only; data keeps
 * SI units without prefix.  Independent of the locale's decimal point.  Python's texts are these
 * (resmon_format_value()); bindings/python/resmon/report.js has the same rules for the units of
 * charts, and a test that compares both.
 */
#ifndef RM_BASE_HUMAN_H
#define RM_BASE_HUMAN_H

#include <stdbool.h>

#include "base/compiler.h"

#define RM_HUMAN_BYTES 32

/** Each writes at most RM_HUMAN_BYTES; what is not finite becomes "-". */
void rm_human_bytes(char text[RM_HUMAN_BYTES], double bytes);
RM_SHARED void rm_human_seconds(char text[RM_HUMAN_BYTES], double seconds);

/** With that many decimals, and no unit. */
RM_SHARED void rm_human_fixed(char text[RM_HUMAN_BYTES], double value, int decimals);

/** "kJ" of 12345.0 in "J": for figures next to each other, which are to have one unit.  Not of
 * seconds, which are written in two units from 120 on. */
struct rm_human_unit {
    double factor; /* to it */
    const char *name;
};
RM_SHARED struct rm_human_unit rm_human_unit_of(double value, const char *unit);

/**
 * A value in `unit`: "B", "s", "J" (from 1 kWh on in kWh), "1" or "" (a count), ...  Other units
 * are behind a count: "12.50 kX".  With `is_rate`, or where the unit ends in "/s", so much each
 * second: "/s" is added, but seconds become percent, and joules watts.
 */
RM_SHARED void rm_human_value(char text[RM_HUMAN_BYTES], double value, const char *unit,
                              bool is_rate);

#endif
