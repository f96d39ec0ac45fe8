/* SPDX-License-Identifier: MIT */
/*
 * Collector tree_smaps: PSS, USS and swap of a process tree, on request and slowly (see smaps.h).
 */
#include <stdio.h>

#include "collect/collect.h"
#include "collect/process_tree.h"
#include "collect/smaps.h"

enum { PSS, USS, SWAP };

static const uint16_t metrics[] = {
    [PSS] = RM_TREE_MEM_PSS,
    [USS] = RM_TREE_MEM_USS,
    [SWAP] = RM_TREE_MEM_SWAP,
};

static resmon_status read_smaps(struct rm_collect *collect, void *tree_, double *values)
{
    struct rm_process_tree *tree = tree_;
    struct rm_smaps sum = {0};
    resmon_status status = rm_tree_update(tree, collect);
    for (size_t i = 0; status == RESMON_OK && i < tree->count; i++) {
        char dir[32];
        struct rm_smaps smaps;
        if (tree->members[i].shares) {
            continue; /* it is its parent's */
        }
        (void)snprintf(dir, sizeof dir, "proc/%llu", (unsigned long long)tree->members[i].pid);
        /* A child of another user, or one that ended meanwhile, is left out. */
        if (rm_smaps_read(collect, dir, &smaps) == RESMON_OK) {
            sum.pss += smaps.pss;
            sum.uss += smaps.uss;
            sum.swap += smaps.swap;
        }
    }
    if (status == RESMON_OK) {
        values[PSS] = sum.pss;
        values[USS] = sum.uss;
        values[SWAP] = sum.swap;
    }
    return status;
}

static resmon_status open_smaps(struct rm_collect *collect, void *tree)
{
    struct rm_smaps own;
    resmon_status status = rm_tree_open(tree, collect, false);
    return status == RESMON_OK && !collect->is_group
               ? rm_smaps_read(collect, collect->proc_dir, &own)
               : status;
}

static int64_t hear_of_tree(void *tree)
{
    return rm_tree_hear(tree);
}

static void close_smaps(void *tree)
{
    rm_tree_close(tree);
}

const struct rm_collector rm_collect_tree_smaps = {
    .name = "tree_smaps",
    .domain = RESMON_DOMAIN_TREE,
    .needs_flag = RESMON_FLAG_SMAPS,
    .min_interval_ns = RM_SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is of before exec, or of little memory */
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_process_tree),
    .open = open_smaps,
    .read = read_smaps,
    .hear = hear_of_tree,
    .close = close_smaps,
};
