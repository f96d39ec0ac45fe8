/* SPDX-License-Identifier: MIT */
#include "merge/job_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/metric.h"
#include "run/headline.h"

/* The memory of the cgroup without reclaimable pages of files; if it is not known, the RSS of the
 * processes. */
static double memory_of(const struct resmon_run *run, size_t node)
{
    const resmon_column *group = rm_run_node_statistics(run, RM_CG_MEM_WORKING_SET, node);
    const resmon_column *tree = rm_run_node_statistics(run, RM_TREE_MEM_RSS, node);
    return group != NULL ? group->max : tree != NULL ? tree->max : RM_NAN;
}

static double cpu_of(const struct resmon_run *run, size_t node)
{
    static const uint32_t metrics[] = {RM_TREE_CPU_TIME, RM_PROC_CPU_TIME, RM_CG_CPU_TIME};
    const resmon_column *column = NULL;
    for (size_t i = 0; i < RM_ARRAY_LEN(metrics) && column == NULL; i++) {
        column = rm_run_node_statistics(run, metrics[i], node);
    }
    return column != NULL ? column->last : RM_NAN;
}

void rm_run_find_node_use(struct resmon_run *run)
{
    for (size_t i = 0; i < run->node_count; i++) {
        run->nodes[i].cpu_s = cpu_of(run, i);
        run->nodes[i].used_bytes = memory_of(run, i);
    }
}

struct rm_node_use rm_node_use_of(const struct resmon_run *run, size_t index)
{
    const resmon_run_node *node = &run->nodes[index];
    if (node->duration_ns < 0) {
        return (struct rm_node_use){.cpu_s = RM_NAN, .used_bytes = RM_NAN};
    }
    return (struct rm_node_use){.cpus = node->allotted_cpus,
                                .bytes = node->allotted_bytes,
                                .cpu_s = node->cpu_s,
                                .used_bytes = node->used_bytes,
                                .seconds = (double)node->duration_ns * 1e-9};
}

struct rm_job_use rm_job_use_of(const struct resmon_run *run)
{
    struct rm_job_use use = {.seconds = (double)run->info.duration_ns * 1e-9,
                             .cpu_s = rm_run_headline(run).cpu_s};
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

/* ---- machines ------------------------------------------------------------------------------- */

static bool is_other_text(const char *a, const char *b)
{
    return a[0] != '\0' && b[0] != '\0' && strcmp(a, b) != 0;
}

/* Firmware reserves a part of the memory, which may differ a little between equal machines. */
static bool is_other_size(double a, double b)
{
    return fabs(a - b) > 0.05 * fmax(a, b); /* false if one is NaN */
}

static bool has_other_model(const resmon_run_node *a, const resmon_run_node *b)
{
    return is_other_text(a->cpu_model, b->cpu_model);
}

static bool has_other_cpus(const resmon_run_node *a, const resmon_run_node *b)
{
    return fabs(a->cpus - b->cpus) > 0.5;
}

static bool has_other_memory(const resmon_run_node *a, const resmon_run_node *b)
{
    return is_other_size(a->memory_bytes, b->memory_bytes);
}

static bool has_other_gpus(const resmon_run_node *a, const resmon_run_node *b)
{
    return is_other_text(a->gpu_model, b->gpu_model);
}

static bool has_other_kernel(const resmon_run_node *a, const resmon_run_node *b)
{
    return is_other_text(a->kernel, b->kernel);
}

static const struct {
    const char *name;
    bool (*differs)(const resmon_run_node *a, const resmon_run_node *b);
} differences[] = {
    {"CPU model", has_other_model}, {"number of CPUs", has_other_cpus},
    {"memory", has_other_memory},   {"GPUs", has_other_gpus},
    {"kernel", has_other_kernel},
};

void rm_run_node_differences(const struct resmon_run *run, char text[RM_DIFFERENCES_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t d = 0; d < RM_ARRAY_LEN(differences); d++) {
        bool differs = false;
        for (size_t i = 1; i < run->node_count; i++) {
            differs |= differences[d].differs(&run->nodes[0], &run->nodes[i]);
        }
        if (differs) {
            length += (size_t)snprintf(text + length, RM_DIFFERENCES_BYTES - length, "%s%s",
                                       length > 0 ? ", " : "", differences[d].name);
        }
    }
}
