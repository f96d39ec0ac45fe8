/* SPDX-License-Identifier: MIT */
/*
 * Runs for tests that look at what is in them: of a monitor from its start to its stop, of a text.
 */
#ifndef RESMON_TESTS_RUNS_H
#define RESMON_TESTS_RUNS_H

#include "test.h"

/* Where nothing else is said: of the process alone, with samples at its start and stop only; and
   samples as often as asked for, whatever they cost on this machine and under a sanitizer. */
static inline resmon_monitor *start_with(const resmon_monitor_options *wanted)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = *wanted;
    options.struct_size = sizeof options;
    options.domains = options.domains != 0 ? options.domains : RESMON_DOMAIN_PROCESS;
    options.interval_ms = options.interval_ms != 0 ? options.interval_ms : 3600000;
    options.max_overhead = options.max_overhead > 0.0 ? options.max_overhead : 1.0;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    return monitor;
}

static inline resmon_run *finish(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    resmon_monitor_free(monitor);
    return run;
}

static inline resmon_run_info info_of(const resmon_run *run)
{
    resmon_run_info info = {.struct_size = sizeof info};
    (void)resmon_run_get_info(run, &info); /* which fails without a run only */
    return info;
}

static inline resmon_run *parsed(const char *text)
{
    resmon_run *run = NULL;
    assert_ok(resmon_run_parse(text, strlen(text), &run));
    return run;
}

#endif
