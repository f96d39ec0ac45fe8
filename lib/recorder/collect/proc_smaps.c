/* SPDX-License-Identifier: MIT */
/*
 * Collector proc_smaps: PSS and USS of one process, on request and slowly (see smaps.h).
 */
#include "collect/collect.h"
#include "collect/smaps.h"

static const uint16_t metrics[] = {RM_PROC_MEM_PSS, RM_PROC_MEM_USS};

static resmon_status read_smaps(struct rm_collect *collect, void *state, double *values)
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

static resmon_status open_smaps(struct rm_collect *collect, void *state)
{
    double values[RM_ARRAY_LEN(metrics)];
    return read_smaps(collect, state, values);
}

const struct rm_collector rm_collect_proc_smaps = {
    .name = "proc_smaps",
    .domain = RESMON_DOMAIN_PROCESS,
    .needs_flag = RESMON_FLAG_SMAPS,
    .min_interval_ns = RM_SMAPS_INTERVAL_NS,
    .comes_early = true, /* the first reading is of before exec, or of little memory */
    RM_METRICS(metrics),
    .open = open_smaps,
    .read = read_smaps,
};
