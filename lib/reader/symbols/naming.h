/* SPDX-License-Identifier: MIT */
/*
 * Owns symbolizing the places of a profile: functions, lines, and a frame for each inlined
 * function. The program resmon-names looks them up (symbolizer.h); its reply is checked here, and
 * applied to the profile. Called by engine and api, when a run is captured, loaded or saved.
 */
#ifndef RM_SYMBOLS_NAMING_H
#define RM_SYMBOLS_NAMING_H

#include <resmon/status.h>

struct resmon_run;
struct rm_naming;

/** Opens no file.  `debug_root`: the directory of separate debug information; NULL:
 * "/usr/lib/debug".  RESMON_ENOMEM only. */
resmon_status rm_naming_new(const char *debug_root, struct rm_naming **ret_naming);

/**
 * Symbolizes the places of run->profile, and adds frames for inlined functions; in memory of
 * run->strings.  A profile with names stays unchanged.  Missing names and their cause are appended
 * to the reasons of the kinds.  `naming` caches the last reply, for the next capture of the same
 * run; NULL: no cache.  RESMON_ENOMEM, and RESMON_EINVAL for an inconsistent profile, which stays
 * unchanged.  One thread at a time for each `naming`.
 */
resmon_status rm_naming_fill(struct rm_naming *naming, struct resmon_run *run);

/** As rm_naming_fill(), but does not fail: a run without names is better than none, and the reasons
 * of the kinds contain the failure.  Frames that are not the program's are removed from the stacks
 * (rm_profile_trim()). */
void rm_naming_try(struct rm_naming *naming, struct resmon_run *run);

void rm_naming_free(struct rm_naming *naming);

#endif
