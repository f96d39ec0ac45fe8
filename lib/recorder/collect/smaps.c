/* SPDX-License-Identifier: MIT */
/*
 * Collectors proc_smaps and tree_smaps: PSS and USS of one process, and with swap of a process
 * tree, on request and slowly, by /proc/PID/smaps_rollup.
 */
#include <stdio.h>

#include "base/compiler.h"
#include "collect/collect.h"
#include "collect/process_tree.h"
#include "os/proc_pid.h"

/* The kernel walks all page tables and holds the process's memory lock meanwhile: 4 ms per resident
 * GiB, in which page faults of the process wait.  So never often. */
#define RM_SMAPS_INTERVAL_NS (30 * RM_NS_PER_S)

struct rm_smaps {
    double pss;
    double uss;
    double swap;
};

enum { PSS, PRIVATE_CLEAN, PRIVATE_DIRTY, PRIVATE_HUGETLB, SWAP, COUNT };

static const struct rm_key keys[COUNT] = {
    RM_KEY("Pss:", PSS),
    RM_KEY("Private_Clean:", PRIVATE_CLEAN),
    RM_KEY("Private_Dirty:", PRIVATE_DIRTY),
    RM_KEY("Private_Hugetlb:", PRIVATE_HUGETLB),
    RM_KEY("Swap:", SWAP),
};

/* By another thread, when the main one has ended. */
static resmon_status read_rollup(struct rm_collect *collect, const char *proc_dir,
                                 char path[RM_FILE_PATH_BYTES], struct rm_text *ret_text)
{
    (void)snprintf(path, RM_FILE_PATH_BYTES, "%s/smaps_rollup", proc_dir);
    resmon_status status = rm_file_read_once(&collect->root, path, &collect->scratch, ret_text);
    uint64_t thread = status == RESMON_ESRCH || status == RESMON_EFORMAT
                          ? rm_task_living(&collect->root, proc_dir)
                          : 0;
    if (thread == 0) {
        return status;
    }
    (void)snprintf(path, RM_FILE_PATH_BYTES, "%s/task/%llu/smaps_rollup", proc_dir,
                   (unsigned long long)thread);
    return rm_file_read_once(&collect->root, path, &collect->scratch, ret_text);
}

/* Reads "`proc_dir`/smaps_rollup". */
static resmon_status rm_smaps_read(struct rm_collect *collect, const char *proc_dir,
                                   struct rm_smaps *ret_smaps)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t kib[COUNT] = {0};
    resmon_status status = read_rollup(collect, proc_dir, path, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, keys, COUNT, kib);
    if ((found & 1U << PSS) == 0) {
        return rm_error(RESMON_EFORMAT, "/%s has no line Pss", path);
    }
    double private_kib = rm_found(found, kib, PRIVATE_CLEAN) + rm_found(found, kib, PRIVATE_DIRTY);
    *ret_smaps = (struct rm_smaps){
        .pss = (double)kib[PSS] * 1024.0,
        .uss = (private_kib + (double)kib[PRIVATE_HUGETLB]) * 1024.0, /* hugetlb: Linux 4.4 */
        .swap = rm_found(found, kib, SWAP) * 1024.0,
    };
    return RESMON_OK;
}

/* ---- collector proc_smaps ------------------------------------------------------------------- */

static const uint16_t process_metrics[] = {RM_PROC_MEM_PSS, RM_PROC_MEM_USS};

static resmon_status read_process(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    struct rm_smaps smaps;
    resmon_status status = rm_smaps_read(collect, collect->proc_dir, &smaps);
    if (status == RESMON_OK) {
        values[0] = smaps.pss;
        values[1] = smaps.uss;
    }
    return status != RESMON_ESRCH ? status : RESMON_OK; /* a zombie, of which others know more */
}

static resmon_status open_process(struct rm_collect *collect, void *state)
{
    double values[RM_ARRAY_LEN(process_metrics)];
    return read_process(collect, state, values);
}

const struct rm_collector rm_collect_proc_smaps = {
    .name = "proc_smaps",
    .domain = RESMON_DOMAIN_PROCESS,
    .needs_flag = RESMON_FLAG_SMAPS,
    .min_interval_ns = RM_SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is of before exec, or of little memory */
    RM_METRICS(process_metrics),
    .open = open_process,
    .read = read_process,
};

/* ---- collector tree_smaps ------------------------------------------------------------------- */

enum { TREE_PSS, TREE_USS, TREE_SWAP };

static const uint16_t tree_metrics[] = {
    [TREE_PSS] = RM_TREE_MEM_PSS,
    [TREE_USS] = RM_TREE_MEM_USS,
    [TREE_SWAP] = RM_TREE_MEM_SWAP,
};

static resmon_status read_tree(struct rm_collect *collect, void *tree_, double *values)
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
        values[TREE_PSS] = sum.pss;
        values[TREE_USS] = sum.uss;
        values[TREE_SWAP] = sum.swap;
    }
    return status;
}

static resmon_status open_tree(struct rm_collect *collect, void *tree)
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

static void close_tree(void *tree)
{
    rm_tree_close(tree);
}

const struct rm_collector rm_collect_tree_smaps = {
    .name = "tree_smaps",
    .domain = RESMON_DOMAIN_TREE,
    .needs_flag = RESMON_FLAG_SMAPS,
    .min_interval_ns = RM_SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is of before exec, or of little memory */
    RM_METRICS(tree_metrics),
    .state_bytes = sizeof(struct rm_process_tree),
    .open = open_tree,
    .read = read_tree,
    .hear = hear_of_tree,
    .close = close_tree,
};
