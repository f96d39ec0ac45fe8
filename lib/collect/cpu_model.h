/* SPDX-License-Identifier: MIT */
/*
 * Owns what the machine says of its processors: the model's name and numbers, sockets, and whether
 * they are virtual.  /proc/cpuinfo and the topology in sysfs.
 */
#ifndef RM_COLLECT_CPU_MODEL_H
#define RM_COLLECT_CPU_MODEL_H

#include <stdbool.h>

#include "carbon/cpu_power.h"
#include "sys/file.h"

struct rm_cpu_model {
    char name[128]; /* "model name"; "": none, as on ARM */
    struct rm_cpu_kind kind;
    bool is_virtual; /* a hypervisor says so */
    bool is_arm;
    unsigned sockets; /* 1 at least */
    const char
        *provider; /* of the cloud, by the firmware's names: "aws", "azure", "gcp"; or NULL */
};

/** What cannot be read stays empty. */
void rm_cpu_model_read(struct rm_cpu_model *model, const struct rm_root *root,
                       struct rm_scratch *scratch);

#endif
