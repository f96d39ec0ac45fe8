/* SPDX-License-Identifier: MIT */
/*
 * Owns the hardware of the machine and how much of it the process may use: CPUs and memory of the
 * host, of the control group and of the affinity (the three denominators of percentages); the
 * processors' model; memory modules.
 */
#ifndef RM_COLLECT_CAPACITY_H
#define RM_COLLECT_CAPACITY_H

#include <stdbool.h>

#include "base/compiler.h"
#include "carbon/power.h"
#include "os/cgroup.h"
#include "os/file.h"

/* NaN: unknown, or no limit. */
struct rm_capacity {
    double host_cpus;
    double cgroup_cpus;    /* tightest quota of the cgroup and its ancestors */
    double affinity_cpus;  /* Cpus_allowed */
    double host_bytes;     /* MemTotal */
    double swap_bytes;     /* SwapTotal; 0: no swap */
    double cgroup_bytes;   /* tightest limit of the cgroup and its ancestors */
    double affinity_bytes; /* memory of the NUMA nodes in Mems_allowed */
};

/** Reads the capacity of the host and of the affinity. */
void rm_capacity_read(struct rm_capacity *capacity, const struct rm_root *root,
                      struct rm_scratch *scratch, const char *proc_dir);

/** Reads the capacity of the cgroup; cheap enough to be repeated. */
void rm_capacity_read_cgroup(struct rm_capacity *capacity, const struct rm_root *root,
                             struct rm_scratch *scratch, const struct rm_cgroup *cgroup,
                             const struct rm_cgroup_limits *limits);

struct rm_cpu_model {
    char name[128]; /* "model name"; "": none, such as on ARM */
    struct rm_cpu_kind kind;
    char features[64];   /* of the vector units: "avx2 avx512f" */
    bool is_virtual;     /* cpuinfo has the flag "hypervisor" */
    char hypervisor[16]; /* "KVM", "VMware", ...; "": none, or unknown */
    bool is_arm;
    const char *provider; /* of the cloud: "aws", "azure", "gcp"; or NULL */
};

/** Reads the model of the processors; what cannot be read stays empty. */
RM_SHARED void rm_cpu_model_read(struct rm_cpu_model *model, const struct rm_root *root,
                                 struct rm_scratch *scratch);

/** Whether the dies of a socket show one counter of the socket (AMD and Hygon). */
RM_SHARED bool rm_cpu_mirrors_dies(const struct rm_cpu_model *model);

/** Memory modules with memory in them, by EDAC, the kernel's memory error detection; 0: not known.
 */
RM_SHARED unsigned rm_memory_modules(const struct rm_root *root, struct rm_scratch *scratch);

#endif
