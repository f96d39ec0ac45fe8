/* SPDX-License-Identifier: MIT */
/*
 * Owns what a job had and what it used of it, as its merged run has it.  Pure.
 */
#ifndef RM_MERGE_JOB_USE_H
#define RM_MERGE_JOB_USE_H

#include "run/run.h"

/* NaN: not known. */
struct rm_node_use {
    double cpus, bytes; /* that the job had of the node; of a node that is missing 0 */
    double cpu_s;       /* CPU time of its processes there */
    double used_bytes;  /* memory at its highest */
    double seconds;     /* that the job was there; 0: missing */
};

struct rm_job_use {
    double seconds;
    double cpus, cpu_capacity_s; /* of all nodes; each CPU for the time of its node */
    double cpu_s;
    double bytes, used_bytes; /* sums over nodes */
    size_t fullest; /* node that used most memory of those where it is known what it had */
    bool has_fullest;
};

/** Says of each node what the job used there (cpu_s, used_bytes), by its columns. */
void rm_run_find_node_use(struct resmon_run *run);

#define RM_DIFFERENCES_BYTES 128

/** In what the machines of the nodes differ, "CPU model, kernel"; "": in nothing that is known. */
void rm_run_node_differences(const struct resmon_run *run, char text[RM_DIFFERENCES_BYTES]);

struct rm_node_use rm_node_use_of(const struct resmon_run *run, size_t node);
struct rm_job_use rm_job_use_of(const struct resmon_run *run);

#endif
