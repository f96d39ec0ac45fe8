/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory that the calling process can still use before an allocation fails or the process
 * is killed.  The limits are those of its cgroup and the ancestors of that cgroup, of the process,
 * and of the machine.  Called before optional work that takes much memory.
 */
#ifndef RM_OS_MEMORY_ROOM_H
#define RM_OS_MEMORY_ROOM_H

#include <stdint.h>

#include "base/compiler.h"

#define RM_MEMORY_LIMIT_BYTES 256

struct rm_memory_room {
    uint64_t bytes; /* left of the tightest limit; UINT64_MAX: no limit is known */
    char limit[RM_MEMORY_LIMIT_BYTES]; /* name of the tightest limit: "the limit of control group
                                          /a" */
};

/** Reads below the directory `fs_root` (NULL: "/"); an unreadable limit is ignored.  File pages
 * that were not used for long do not count as used: the kernel reclaims them first. */
RM_SHARED void rm_memory_room_look(const char *fs_root, struct rm_memory_room *ret_room);

/** Looks at the limits of the process alone: RLIMIT_AS and RLIMIT_DATA. */
void rm_memory_room_of_process(const char *fs_root, struct rm_memory_room *ret_room);

#endif
