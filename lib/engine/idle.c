/* SPDX-License-Identifier: MIT */
#include "engine/idle.h"

#include "base/clock.h"
#include "base/condition.h"
#include "engine/monitor.h"

/* To a deadline, so that signals do not add up. */
static void sleep_for(double seconds)
{
    int64_t until_ns = rm_clock_monotonic_ns() + (int64_t)(seconds * (double)RM_NS_PER_S);
    while (rm_clock_monotonic_ns() < until_ns) {
        rm_condition_nap(until_ns - rm_clock_monotonic_ns());
    }
}

/* What the sources of energy need, in addition to what was asked for; the scopes are the work's. */
static resmon_monitor_options options_of(const resmon_monitor_options *given)
{
    resmon_monitor_options options = *given;
    if (options.domains != 0) {
        options.domains |= RESMON_DOMAIN_ENERGY | RESMON_DOMAIN_CPU;
    }
    if (options.scopes == 0) {
        options.flags |= RESMON_FLAG_NO_SCOPES;
    }
    return options;
}

resmon_status rm_idle_measure(double seconds, const resmon_monitor_options *options,
                              resmon_run **ret_run)
{
    const resmon_monitor_options known = options_of(options);
    resmon_monitor *monitor = NULL;
    resmon_status status = rm_monitor_new(&known, &monitor);
    if (status == RESMON_OK) {
        status = rm_monitor_start(monitor);
    }
    if (status == RESMON_OK) {
        sleep_for(seconds);
        status = rm_monitor_stop(monitor);
    }
    if (status == RESMON_OK) {
        status = rm_monitor_capture(monitor, RM_PART_ALL, ret_run);
    }
    rm_monitor_free(monitor);
    return status;
}
