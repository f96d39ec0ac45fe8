/* SPDX-License-Identifier: MIT */
/*
 * Owns what the machine says of its processors: the model's name and numbers, whether they are
 * virtual, and how many sockets they are in.  /proc/cpuinfo and the topology in sysfs.
 */
#ifndef RM_COLLECT_CPU_MODEL_H
#define RM_COLLECT_CPU_MODEL_H

#include <stdbool.h>

#include "base/compiler.h"
#include "carbon/cpu_power.h"
#include "os/file.h"

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

#endif
