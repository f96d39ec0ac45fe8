/* SPDX-License-Identifier: MIT */
/*
 * Owns how much memory the calling process can still have before something of it is refused or
 * killed: by the limits of its control group and all groups around that, by its own limits, and by
 * what the machine has.
 * Called before work that takes much memory and can be done without.
 */
#ifndef RM_OS_MEMORY_ROOM_H
#define RM_OS_MEMORY_ROOM_H

#include <stdint.h>

#include "base/compiler.h"

#define RM_MEMORY_LIMIT_BYTES 256

struct rm_memory_room {
    uint64_t bytes; /* that are left of the tightest limit; UINT64_MAX: none is known */
    char limit[RM_MEMORY_LIMIT_BYTES]; /* whose that is: "the limit of control group /a" */
};

/** Looks below the directory `fs_root` (NULL: "/"); what cannot be read does not limit.  Pages of
 * files that nobody has used for long do not count as used: the kernel takes them back first. */
RM_SHARED void rm_memory_room_look(const char *fs_root, struct rm_memory_room *ret_room);

/** Looks at the limits of the process alone: RLIMIT_AS and RLIMIT_DATA. */
void rm_memory_room_of_process(const char *fs_root, struct rm_memory_room *ret_room);

#endif
