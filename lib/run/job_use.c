/* SPDX-License-Identifier: MIT */
#include "run/job_use.h"

#include <math.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "run/headline.h"

/* Of the control group without pages of files that can be had back, else of processes. */
static double memory_of(const struct resmon_run *run, size_t node)
{
    const resmon_column *group = rm_run_node_statistics(run, RM_CG_MEM_WORKING_SET, node);
    const resmon_column *tree = rm_run_node_statistics(run, RM_TREE_MEM_RSS, node);
    return group != NULL ? group->max : tree != NULL ? tree->max : RM_NAN;
}

static double cpu_of(const struct resmon_run *run, size_t node)
{
    const resmon_column *tree = rm_run_node_statistics(run, RM_TREE_CPU_TIME, node);
    const resmon_column *process = rm_run_node_statistics(run, RM_PROC_CPU_TIME, node);
    return tree != NULL ? tree->last : process != NULL ? process->last : RM_NAN;
}

struct rm_node_use rm_node_use_of(const struct resmon_run *run, size_t index)
{
    const resmon_run_node *node = &run->nodes[index];
    if (node->duration_ns < 0) {
        return (struct rm_node_use){.cpu_s = RM_NAN, .used_bytes = RM_NAN};
    }
    return (struct rm_node_use){.cpus = node->allotted_cpus,
                                .bytes = node->allotted_bytes,
                                .cpu_s = cpu_of(run, index),
                                .used_bytes = memory_of(run, index),
                                .seconds = (double)node->duration_ns * 1e-9};
}

struct rm_job_use rm_job_use_of(const struct resmon_run *run)
{
    const resmon_headline headline = rm_run_headline(run);
    struct rm_job_use use = {.seconds = (double)run->info.duration_ns * 1e-9,
                             .cpu_s = headline.cpu_s};
    double most = RM_NAN;
    for (size_t i = 0; i < run->node_count; i++) {
        const struct rm_node_use node = rm_node_use_of(run, i);
        use.cpus += node.cpus; /* NaN stays NaN */
        use.cpu_capacity_s += node.cpus * node.seconds;
        use.bytes += node.bytes;
        use.used_bytes += isnan(node.used_bytes) ? 0.0 : node.used_bytes;
        if (node.bytes > 0.0 && !isnan(node.used_bytes) && !(node.used_bytes <= most)) {
            most = node.used_bytes;
            use.fullest = i;
            use.has_fullest = true;
        }
    }
    return use;
}
