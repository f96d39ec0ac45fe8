/* SPDX-License-Identifier: MIT */
#include "collect/gpu_share.h"

#include <stdio.h>

#include "os/proc_pid.h"

/* Deeper trees of processes are circles: /proc changes while it is read. */
#define MOST_ANCESTORS 64

static int64_t parent_of(struct rm_collect *collect, int64_t pid)
{
    char path[64];
    struct rm_text text;
    struct rm_pid_stat stat;
    (void)snprintf(path, sizeof path, "proc/%lld/stat", (long long)pid);
    return rm_file_read_once(&collect->root, path, &collect->scratch, &text) == RESMON_OK &&
                   rm_pid_stat_parse(text, &stat)
               ? (int64_t)stat.ppid
               : -1;
}

static bool is_in_tree(struct rm_collect *collect, int64_t pid)
{
    if (collect->is_group) {
        return pid > 0 && rm_cgroup_members_has(&collect->members, (uint64_t)pid);
    }
    for (int i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
        if (pid == collect->proc_pid) {
            return true;
        }
        pid = parent_of(collect, pid);
    }
    return false;
}

static double known(double value)
{
    return value > 0.0 ? value : 0.0;
}

/* Sums of what is the tree's, and of all. */
struct sums {
    double tree_sm, all_sm, tree_bytes, all_bytes;
    size_t tree_count;
    bool has_sm, has_bytes;
};

static struct sums sum_up(struct rm_collect *collect, const struct rm_gpu_reading *reading)
{
    struct sums sums = {.has_bytes = true};
    if (collect->is_group) {
        (void)rm_collect_list_group(collect); /* a failure leaves those that it found */
    }
    for (size_t i = 0; i < reading->process_count; i++) {
        const struct rm_gpu_process *process = &reading->processes[i];
        bool is_ours = is_in_tree(collect, process->pid);
        sums.tree_count += is_ours ? 1 : 0;
        sums.tree_sm += is_ours ? known(process->sm) : 0.0;
        sums.all_sm += known(process->sm);
        sums.tree_bytes += is_ours ? known(process->bytes) : 0.0;
        sums.all_bytes += known(process->bytes);
        sums.has_sm = sums.has_sm || !isnan(process->sm);
        sums.has_bytes = sums.has_bytes && (!isnan(process->bytes) || !isnan(process->sm));
    }
    return sums;
}

struct rm_gpu_share rm_gpu_share_of(struct rm_collect *collect,
                                    const struct rm_gpu_reading *reading)
{
    struct rm_gpu_share share = {RM_NAN, RM_NAN, RM_NAN};
    bool is_listed = reading->process_count > 0 || !isnan(reading->figures[RM_NVML_PROCESSES]);
    if (!collect->gpus.has_host_pids || !is_listed) {
        return share;
    }
    const struct sums sums = sum_up(collect, reading);
    share.sm = sums.has_sm || reading->process_count == 0 ? sums.tree_sm : RM_NAN;
    share.bytes = sums.has_bytes ? sums.tree_bytes : RM_NAN;
    if (sums.tree_count == 0 || sums.tree_count == reading->process_count) {
        share.share = sums.tree_count > 0 ? 1.0 : 0.0;
    } else if (sums.all_sm > 0.0) {
        share.share = sums.tree_sm / sums.all_sm;
    } else if (sums.all_bytes > 0.0) {
        share.share = sums.tree_bytes / sums.all_bytes;
    } else {
        share.share = (double)sums.tree_count / (double)reading->process_count;
    }
    return share;
}
