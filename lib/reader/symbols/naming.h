/* SPDX-License-Identifier: MIT */
/*
 * Owns how the places of a profile are symbolized: functions, lines, and a frame for each function
 * that was inlined.  The program resmon-names looks them up (symbolizer.h); here its reply is
 * checked, and the profile made of it.
 * Called by engine and api, when a run is looked at or saved.
 */
#ifndef RM_SYMBOLS_NAMING_H
#define RM_SYMBOLS_NAMING_H

#include <resmon/status.h>

struct resmon_run;
struct rm_naming;

/** Opens nothing yet.  `debug_root`: where distributions put debug information; NULL:
 * "/usr/lib/debug".  RESMON_ENOMEM only. */
resmon_status rm_naming_new(const char *debug_root, struct rm_naming **ret_naming);

/**
 * Symbolizes the places of run->profile, whose frames then stand for inlined functions too; in
 * memory of run->strings.  A profile that has names already stays as it is.  What has no names, and
 * why, is said in the reasons of the kinds, behind what they say already.  `naming` NULL: one for
 * this call; else it keeps the latest reply, for the next capture of the same run.  RESMON_ENOMEM,
 * and RESMON_EINVAL for a profile that contradicts itself: it stays as it is.  One thread at a time
 * for each `naming`.
 */
resmon_status rm_naming_fill(struct rm_naming *naming, struct resmon_run *run);

/** Fills names as rm_naming_fill() does, and does not fail: a run without names is better than
 * none, and the reasons of the kinds say so.  What is not the program's is taken off the stacks
 * (rm_profile_trim()). */
void rm_naming_try(struct rm_naming *naming, struct resmon_run *run);

void rm_naming_free(struct rm_naming *naming);

#endif
