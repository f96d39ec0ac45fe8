/* SPDX-License-Identifier: MIT */
/*
 * Owns what a merged run's job had and what it used.  Pure.
 */
#ifndef RM_MERGE_JOB_USE_H
#define RM_MERGE_JOB_USE_H

#include "run/run.h"

/* NaN: not known. */
struct rm_node_use {
    double cpus, bytes; /* what the job had of the node; 0 for a missing node */
    double cpu_s;       /* CPU time of its processes there */
    double used_bytes;  /* highest use of memory */
    double seconds;     /* time of the job on the node; 0: the node is missing */
};

struct rm_job_use {
    double seconds;
    double cpus, cpu_capacity_s; /* of all nodes; each CPU counts for the time of its node */
    double cpu_s;
    double bytes, used_bytes; /* sums over nodes */
    size_t fullest; /* of the nodes with a known capacity, the node that used most bytes */
    bool has_fullest;
};

/** Sets cpu_s and used_bytes of each node from its columns. */
void rm_run_find_node_use(struct resmon_run *run);

#define RM_DIFFERENCES_BYTES 128

/** The properties in which the machines of the nodes differ, "CPU model, kernel"; "": no known
 * difference. */
void rm_run_node_differences(const struct resmon_run *run, char text[RM_DIFFERENCES_BYTES]);

struct rm_node_use rm_node_use_of(const struct resmon_run *run, size_t node);
struct rm_job_use rm_job_use_of(const struct resmon_run *run);

#endif
