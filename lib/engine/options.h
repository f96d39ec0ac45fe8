/* SPDX-License-Identifier: MIT */
/*
 * Owns the options of a monitor: checked, with defaults filled in, strings copied.
 */
#ifndef RM_ENGINE_OPTIONS_H
#define RM_ENGINE_OPTIONS_H

#include <stdbool.h>

#include <resmon/monitor.h>

#include "counter/group.h"
#include "engine/place.h"

struct rm_options {
    int64_t interval_ns;
    uint64_t interval_ms;
    uint64_t rows, tags, paths, threads, depth, events;
    uint64_t stop_timeout_ms;
    uint64_t domains, flags, meters;
    uint64_t stacks, stack_hz, fault_period;
    int64_t pid;
    bool wants_scopes; /* takes them if they are free */
    bool needs_scopes; /* fails if they are not */
    double max_overhead;
    double max_meter_share;
    char *name, *fs_root, *record; /* never NULL but fs_root, record */
    char *energy_root; /* where the energy counters are looked for; NULL: with all else */
    struct rm_terms_of_place place;                     /* only with RESMON_DOMAIN_ENERGY */
    char place_remark[256];                             /* what cannot be read of it */
    struct rm_counters_wanted counters, scope_counters; /* of the process tree, and of scopes */
};

/** Checks and completes; RESMON_EINVAL or RESMON_ERANGE names the option. */
resmon_status rm_options_read(const resmon_monitor_options *given, struct rm_options *ret_options);

void rm_options_free(struct rm_options *options);

#endif
