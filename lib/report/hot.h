/* SPDX-License-Identifier: MIT */
/*
 * Owns the few places that have most of the samples, for a line of text: functions, each with the
 * line that has most of it.
 */
#ifndef RM_REPORT_HOT_H
#define RM_REPORT_HOT_H

#include "report/profile_sums.h"

#define RM_HOT_MOST 6

struct rm_hot {
    const char *function;
    uint32_t line; /* 0: not known */
    double amount; /* in it, or in what has no source that it called: ns, B */
};

/** The places with the most of a kind, and how many.  Where most samples have no lines, functions
 * alone.  Texts live as long as the sums. */
size_t rm_hot_find(const struct rm_profile_sums *sums, int kind, struct rm_hot hot[RM_HOT_MOST]);

#endif
