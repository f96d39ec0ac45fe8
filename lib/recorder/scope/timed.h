/* SPDX-License-Identifier: MIT */
/*
 * Owns RESMON_TIMED and RESMON_PEAK_RSS: a scope with one meter that always measures, and a log
 * line with its result; with or without a monitor.
 */
#ifndef RM_SCOPE_TIMED_H
#define RM_SCOPE_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/scope.h>

/* Token of an instance past a bound, which is only counted. */
#define RM_SCOPE_VOID (UINT64_MAX - 1)

/** resmon_scope_begin() with meters that always measure; in scope.c. */
uint64_t rm_scope_begin_forced(resmon_site *site, uint32_t meters);

/** Ends the scope; true: `ret_rss_peak` is the peak of this instance. */
bool rm_scope_end_forced(uint64_t scope, uint64_t *ret_rss_peak);

#endif
