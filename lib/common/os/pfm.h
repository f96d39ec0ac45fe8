/* SPDX-License-Identifier: MIT */
/*
 * Owns libpfm4: the names of hardware events.  Loaded when a name is first asked for.
 */
#ifndef RM_OS_PFM_H
#define RM_OS_PFM_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

/* An event as struct perf_event_attr has it. */
struct rm_pfm_code {
    uint32_t type;
    uint64_t config[3];            /* config, config1, config2 */
    bool skips_user, skips_kernel; /* the name says so */
};

/**
 * What an event of this machine, or of "pmu::event", is called in perf_event_open(2).
 * RESMON_ENOTSUP: there is no libpfm4.  RESMON_EINVAL: it does not know the name, and the text has
 * some that are like it.  Any thread.
 */
resmon_status rm_pfm_encode(const char *name, struct rm_pfm_code *ret_code);

/** Whether libpfm4 has a table of a PMU ("skx"), on this machine or not. */
bool rm_pfm_has_pmu(const char *pmu);

#endif
