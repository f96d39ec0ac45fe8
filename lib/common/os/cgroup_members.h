/* SPDX-License-Identifier: MIT */
/*
 * Owns the list of processes in a control group and in those below it (cgroup.procs).
 */
#ifndef RM_OS_CGROUP_MEMBERS_H
#define RM_OS_CGROUP_MEMBERS_H

#include "os/cgroup.h"

struct rm_cgroup_members {
    uint64_t *pids;
    size_t count, room;
};

/** Lists them anew; what the scratch held is lost.  RESMON_ENOENT: the group is gone; others: some
 * are missing. */
resmon_status rm_cgroup_members_read(struct rm_cgroup_members *members,
                                     const struct rm_cgroup *cgroup, const struct rm_root *root,
                                     struct rm_scratch *scratch);

bool rm_cgroup_members_has(const struct rm_cgroup_members *members, uint64_t pid);

void rm_cgroup_members_free(struct rm_cgroup_members *members);

#endif
