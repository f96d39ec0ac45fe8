/* SPDX-License-Identifier: MIT */
/*
 * Owns the three denominators of "how much of what there is": the host, the control group and the
 * affinity of the process, for CPU and memory.
 */
#ifndef RM_COLLECT_CAPACITY_H
#define RM_COLLECT_CAPACITY_H

#include "os/cgroup.h"
#include "os/file.h"

/* NaN: unknown, or no limit. */
struct rm_capacity {
    double host_cpus;
    double cgroup_cpus;    /* tightest quota of the group and its ancestors */
    double affinity_cpus;  /* Cpus_allowed */
    double host_bytes;     /* MemTotal */
    double cgroup_bytes;   /* tightest limit of the group and its ancestors */
    double affinity_bytes; /* memory of the NUMA nodes in Mems_allowed */
};

/** Host and affinity. */
void rm_capacity_read(struct rm_capacity *capacity, const struct rm_root *root,
                      struct rm_scratch *scratch, const char *proc_dir);

/** Of the control group: cheap enough to look at again now and then. */
void rm_capacity_read_cgroup(struct rm_capacity *capacity, const struct rm_root *root,
                             struct rm_scratch *scratch, const struct rm_cgroup *cgroup,
                             const struct rm_cgroup_limits *limits);

#endif
