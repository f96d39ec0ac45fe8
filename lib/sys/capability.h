/* SPDX-License-Identifier: MIT */
/*
 * Owns which capabilities a process has over the machine (capabilities(7)).
 */
#ifndef RM_SYS_CAPABILITY_H
#define RM_SYS_CAPABILITY_H

#include <stdbool.h>

#include "sys/file.h"

enum rm_capability {
    RM_CAP_SYS_ADMIN = 21,
    RM_CAP_PERFMON = 38 /* since Linux 5.8 */
};

/**
 * Whether the process behind `proc_dir` has it in effect.  What it has in a user namespace of its
 * own does not count: that is a right over the namespace, not over the machine.
 */
bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch, const char *proc_dir,
                       enum rm_capability capability);

#endif
