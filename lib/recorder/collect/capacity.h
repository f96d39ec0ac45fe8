/* SPDX-License-Identifier: MIT */
/*
 * Owns the hardware of the machine and how much of it the process may use: CPUs and memory of the
 * host, of the control group and of the affinity (the three denominators of percentages); the
 * processors' model and sockets; memory modules.
 */
#ifndef RM_COLLECT_CAPACITY_H
#define RM_COLLECT_CAPACITY_H

#include <stdbool.h>

#include "base/compiler.h"
#include "carbon/cpu_power.h"
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

struct rm_cpu_model {
    char name[128]; /* "model name"; "": none, as on ARM */
    struct rm_cpu_kind kind;
    bool is_virtual; /* a hypervisor says so */
    bool is_arm;
    const char *provider; /* of the cloud, by the firmware: "aws", "azure", "gcp"; or NULL */
};

/** Reads the model of the processors; what cannot be read stays empty. */
RM_SHARED void rm_cpu_model_read(struct rm_cpu_model *model, const struct rm_root *root,
                                 struct rm_scratch *scratch);

/** Whether the dies of a socket show one counter of the socket (AMD and Hygon). */
RM_SHARED bool rm_cpu_mirrors_dies(const struct rm_cpu_model *model);

/** Sockets with a processor, 1 at least.  Reads a file for each CPU. */
unsigned rm_cpu_count_sockets(const struct rm_root *root, struct rm_scratch *scratch);

/** Modules with memory in them; 0: it is not known. */
RM_SHARED unsigned rm_memory_modules(const struct rm_root *root, struct rm_scratch *scratch);

#endif
