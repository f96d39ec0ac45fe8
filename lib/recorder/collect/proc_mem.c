/* SPDX-License-Identifier: MIT */
/*
 * Collectors proc_mem, proc_smaps and tree_smaps: memory of one process by /proc/PID/statm and
 * /proc/PID/status; on request PSS and USS of it and of its tree by /proc/PID/smaps_rollup.
 */
#include <stdio.h>

#include "base/compiler.h"
#include "collect/collect.h"
#include "collect/process_tree.h"
#include "os/proc_pid.h"

/* ---- collector proc_mem --------------------------------------------------------------------- */

enum {
    RSS,
    VMS,
    SHARED,
    ANON,
    FILE_,
    SHMEM,
    SWAP,
    HUGETLB,
    PEAK,
    HOST_PERCENT,
    CGROUP_PERCENT,
    AFFINITY_PERCENT
};

static const uint16_t metrics[] = {
    [RSS] = RM_PROC_MEM_RSS,
    [VMS] = RM_PROC_MEM_VMS,
    [SHARED] = RM_PROC_MEM_SHARED,
    [ANON] = RM_PROC_MEM_ANON,
    [FILE_] = RM_PROC_MEM_FILE,
    [SHMEM] = RM_PROC_MEM_SHMEM,
    [SWAP] = RM_PROC_MEM_SWAP,
    [HUGETLB] = RM_PROC_MEM_HUGETLB,
    [PEAK] = RM_PROC_MEM_PEAK_RSS,
    [HOST_PERCENT] = RM_PROC_MEM_HOST_PERCENT,
    [CGROUP_PERCENT] = RM_PROC_MEM_CGROUP_PERCENT,
    [AFFINITY_PERCENT] = RM_PROC_MEM_AFFINITY_PERCENT,
};

/* In the order of the file. */
static const struct rm_key keys[] = {
    RM_KEY("VmHWM:", PEAK),     RM_KEY("RssAnon:", ANON), RM_KEY("RssFile:", FILE_),
    RM_KEY("RssShmem:", SHMEM), RM_KEY("VmSwap:", SWAP),  RM_KEY("HugetlbPages:", HUGETLB),
};

struct state {
    struct rm_file statm;
    struct rm_file status;
};

static resmon_status open_files(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_collect_open_proc(collect, &state->statm, "statm");
    if (status == RESMON_OK) {
        status = rm_collect_open_proc(collect, &state->status, "status");
    }
    return status;
}

static void close_files(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->statm);
    rm_file_close(&state->status);
}

/* If the main thread has ended, the memory is shown at any other thread. */
static resmon_status take_living(struct rm_collect *collect, struct state *state)
{
    char path[64];
    uint64_t thread = rm_task_living(&collect->root, collect->proc_dir);
    if (thread == 0) {
        return RESMON_OK; /* a zombie, or ending */
    }
    close_files(state);
    (void)snprintf(path, sizeof path, "task/%llu/statm", (unsigned long long)thread);
    resmon_status status = rm_collect_open_proc(collect, &state->statm, path);
    (void)snprintf(path, sizeof path, "task/%llu/status", (unsigned long long)thread);
    return status == RESMON_OK ? rm_collect_open_proc(collect, &state->status, path) : status;
}

/* An ended thread has no file, or all values are 0. */
static bool is_gone(resmon_status status, const struct rm_pid_statm *statm)
{
    return status == RESMON_ESRCH || (status == RESMON_OK && statm->size == 0);
}

static resmon_status parse_statm(struct rm_collect *collect, struct state *state,
                                 struct rm_pid_statm *ret_statm)
{
    struct rm_text text;
    resmon_status status = rm_collect_read(collect, &state->statm, &text);
    if (status != RESMON_OK) {
        return status;
    }
    rm_collect_leave(collect, RM_OWN_STATM, &text);
    return rm_pid_statm_parse(text, ret_statm) ? RESMON_OK : rm_collect_garbled(&state->statm);
}

static resmon_status read_statm(struct rm_collect *collect, struct state *state, double *values)
{
    struct rm_pid_statm statm = {0};
    resmon_status status = parse_statm(collect, state, &statm);
    if (is_gone(status, &statm) && take_living(collect, state) == RESMON_OK) {
        status = parse_statm(collect, state, &statm);
    }
    if (status != RESMON_OK || statm.size == 0) {
        return status;
    }
    double rss = (double)statm.resident * collect->page_bytes;
    values[RSS] = rss;
    values[VMS] = (double)statm.size * collect->page_bytes;
    values[SHARED] = (double)statm.shared * collect->page_bytes;
    values[HOST_PERCENT] = 100.0 * rss / collect->capacity.host_bytes;
    values[CGROUP_PERCENT] = 100.0 * rss / collect->capacity.cgroup_bytes;
    values[AFFINITY_PERCENT] = 100.0 * rss / collect->capacity.affinity_bytes;
    return RESMON_OK;
}

static resmon_status read_files(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    resmon_status status = read_statm(collect, state, values);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_text text;
    status = rm_collect_read(collect, &state->status, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t kib[HUGETLB + 2] = {0};
    uint64_t found = rm_parse_keys(text, keys, RM_ARRAY_LEN(keys), kib);
    for (unsigned slot = ANON; slot <= PEAK; slot++) {
        values[slot] = rm_found(found, kib, slot) * 1024.0;
    }
    if (collect->is_self && collect->folded_peak != NULL) {
        /* Metered scopes reset the kernel's mark; the earlier peak is kept in folded_peak. */
        double folded = (double)RM_LOAD(collect->folded_peak);
        values[PEAK] = folded > 0.0 ? fmax(values[PEAK], folded) : values[PEAK];
    }
    return RESMON_OK;
}

const struct rm_collector rm_collect_proc_mem = {
    .name = "proc_mem",
    .domain = RESMON_DOMAIN_PROCESS,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_files,
    .read = read_files,
    .close = close_files,
};

/* ---- the file smaps_rollup ------------------------------------------------------------------ */

/* The kernel walks all page tables and holds the process's mmap lock meanwhile: 4 ms per resident
 * GiB, in which page faults of the process wait.  So the file is read seldom. */
#define SMAPS_INTERVAL_NS (30 * RM_NS_PER_S)

struct smaps {
    double pss;
    double uss;
    double swap;
};

enum {
    SMAPS_PSS,
    SMAPS_PRIVATE_CLEAN,
    SMAPS_PRIVATE_DIRTY,
    SMAPS_PRIVATE_HUGETLB,
    SMAPS_SWAP,
    SMAPS_COUNT
};

static const struct rm_key smaps_keys[SMAPS_COUNT] = {
    RM_KEY("Pss:", SMAPS_PSS),
    RM_KEY("Private_Clean:", SMAPS_PRIVATE_CLEAN),
    RM_KEY("Private_Dirty:", SMAPS_PRIVATE_DIRTY),
    RM_KEY("Private_Hugetlb:", SMAPS_PRIVATE_HUGETLB),
    RM_KEY("Swap:", SMAPS_SWAP),
};

/* Reads the file of another thread if the main thread has ended. */
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

static resmon_status read_smaps(struct rm_collect *collect, const char *proc_dir,
                                struct smaps *ret_smaps)
{
    char path[RM_FILE_PATH_BYTES];
    struct rm_text text;
    uint64_t kib[SMAPS_COUNT] = {0};
    resmon_status status = read_rollup(collect, proc_dir, path, &text);
    if (status != RESMON_OK) {
        return status;
    }
    uint64_t found = rm_parse_keys(text, smaps_keys, SMAPS_COUNT, kib);
    if ((found & 1U << SMAPS_PSS) == 0) {
        return rm_error(RESMON_EFORMAT, "/%s has no line Pss", path);
    }
    double private_kib =
        rm_found(found, kib, SMAPS_PRIVATE_CLEAN) + rm_found(found, kib, SMAPS_PRIVATE_DIRTY);
    *ret_smaps = (struct smaps){
        .pss = (double)kib[SMAPS_PSS] * 1024.0,
        .uss = (private_kib + (double)kib[SMAPS_PRIVATE_HUGETLB]) * 1024.0, /* hugetlb: Linux 4.4 */
        .swap = rm_found(found, kib, SMAPS_SWAP) * 1024.0,
    };
    return RESMON_OK;
}

/* ---- collector proc_smaps ------------------------------------------------------------------- */

static const uint16_t process_metrics[] = {RM_PROC_MEM_PSS, RM_PROC_MEM_USS};

static resmon_status read_process(struct rm_collect *collect, void *state, double *values)
{
    (void)state;
    struct smaps smaps = {0};
    resmon_status status = read_smaps(collect, collect->proc_dir, &smaps);
    if (status == RESMON_OK) {
        values[0] = smaps.pss;
        values[1] = smaps.uss;
    }
    return status != RESMON_ESRCH ? status : RESMON_OK; /* a zombie; other collectors report it */
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
    .min_interval_ns = SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is before exec, or sees little memory */
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
    struct smaps sum = {0};
    resmon_status status = rm_tree_update(tree, collect);
    for (size_t i = 0; status == RESMON_OK && i < tree->count; i++) {
        char dir[32];
        struct smaps smaps = {0};
        if (tree->members[i].shares) {
            continue; /* its parent's reading includes it */
        }
        (void)snprintf(dir, sizeof dir, "proc/%llu", (unsigned long long)tree->members[i].pid);
        /* Children of other users, and ended ones, are left out. */
        if (read_smaps(collect, dir, &smaps) == RESMON_OK) {
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
    struct smaps own;
    resmon_status status = rm_tree_open(tree, collect, false);
    return status == RESMON_OK && !collect->is_group ? read_smaps(collect, collect->proc_dir, &own)
                                                     : status;
}

static int64_t take_forks_of_tree(void *tree)
{
    return rm_tree_take_forks(tree);
}

static void close_tree(void *tree)
{
    rm_tree_close(tree);
}

const struct rm_collector rm_collect_tree_smaps = {
    .name = "tree_smaps",
    .domain = RESMON_DOMAIN_TREE,
    .needs_flag = RESMON_FLAG_SMAPS,
    .min_interval_ns = SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is before exec, or sees little memory */
    RM_METRICS(tree_metrics),
    .state_bytes = sizeof(struct rm_process_tree),
    .open = open_tree,
    .read = read_tree,
    .take_events = take_forks_of_tree,
    .close = close_tree,
};
