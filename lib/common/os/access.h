/* SPDX-License-Identifier: MIT */
/*
 * Owns what a process may do: whether this one may read a file, without reading it, and which
 * capabilities one has over the machine (capabilities(7)).
 */
#ifndef RM_OS_ACCESS_H
#define RM_OS_ACCESS_H

#include <stdbool.h>

#include "base/compiler.h"
#include "os/file.h"

/**
 * Whether `root`/`path` can be opened to be read; RESMON_ENOENT, RESMON_EACCES and so on.  A device
 * is not opened, which might wake it: whether it may be read and written decides.
 */
RM_SHARED resmon_status rm_access_read(const struct rm_root *root, const char *path);

/** Whether the mode of `root`/`path` lets its group, which is not root's, read it. */
RM_SHARED bool rm_access_is_of_group(const struct rm_root *root, const char *path);

enum rm_capability {
    RM_CAP_SYS_ADMIN = 21,
    RM_CAP_PERFMON = 38 /* since Linux 5.8 */
};

/**
 * Whether the process behind `proc_dir` has it in effect.  What it has in a user namespace of its
 * own does not count: that is a right over the namespace, not over the machine.
 */
RM_SHARED bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch,
                                 const char *proc_dir, enum rm_capability capability);

#endif
