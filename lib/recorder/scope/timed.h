/* SPDX-License-Identifier: MIT */
/*
 * Owns RESMON_TIMED and RESMON_PEAK_RSS: a scope with one meter that is always taken, and a log
 * line of what it found; with or without a monitor.
 */
#ifndef RM_SCOPE_TIMED_H
#define RM_SCOPE_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/scope.h>

/* Token of an instance that is only counted, not measured: past a bound. */
#define RM_SCOPE_VOID (UINT64_MAX - 1)

/** resmon_scope_begin() with meters that are taken in any case; in scope.c. */
uint64_t rm_scope_begin_forced(resmon_site *site, uint32_t meters);

/** Ends it; true when `ret_rss_peak` is the peak of this instance. */
bool rm_scope_end_forced(uint64_t scope, uint64_t *ret_rss_peak);

#endif
