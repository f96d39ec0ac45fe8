/* SPDX-License-Identifier: MIT */
/*
 * Collector proc_mem: memory of one process.  /proc/PID/statm and /proc/PID/status.
 */
#include <stdio.h>

#include "collect/collect.h"
#include "os/proc_pid.h"

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

/* When the main thread has ended, what there is of memory stands with any other. */
static resmon_status take_living(struct rm_collect *collect, struct state *state)
{
    char path[64];
    uint64_t thread = rm_task_living(&collect->root, collect->proc_dir);
    if (thread == 0) {
        return RESMON_OK; /* it is a zombie, or ends just now */
    }
    close_files(state);
    (void)snprintf(path, sizeof path, "task/%llu/statm", (unsigned long long)thread);
    resmon_status status = rm_collect_open_proc(collect, &state->statm, path);
    (void)snprintf(path, sizeof path, "task/%llu/status", (unsigned long long)thread);
    return status == RESMON_OK ? rm_collect_open_proc(collect, &state->status, path) : status;
}

/* Of a thread that has ended, there is no file, or all in it is 0. */
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
        /* Metered scopes reset the kernel's mark; what it said before is folded away there. */
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
