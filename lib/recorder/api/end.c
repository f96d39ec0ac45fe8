/* SPDX-License-Identifier: MIT */
/* <resmon/end.h>, except the functions in api/autorun.c: checks arguments and calls the engine. */
#include <resmon/end.h>

#include "api/end.h"

#include <math.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "engine/monitor.h"
#include "run/record.h"
#include "run/run.h"

resmon_status rm_end_take(const resmon_run_end *given, resmon_run_end *ret_end)
{
    resmon_run_end known;
    resmon_status status = rm_struct_take(given, RM_STRUCT_SIZE(resmon_run_end), &known);
    if (status == RESMON_OK &&
        (rm_word_of(RM_TYPE_END, known.reason) == NULL || known.reason == RESMON_END_RUNNING)) {
        status = rm_error(RESMON_EINVAL, "the end of a program: %d is not a valid reason",
                          (int)known.reason);
    }
    if (status == RESMON_OK &&
        (known.exit_status < 0 || known.signal_number < 0 || known.reserved != 0)) {
        status = rm_error(RESMON_EINVAL,
                          "the end of a program: exit status %d or signal %d is not valid",
                          (int)known.exit_status, (int)known.signal_number);
    }
    if (status == RESMON_OK) {
        *ret_end = known;
    }
    return status;
}

const char *resmon_end_name(int32_t reason)
{
    const char *word = rm_word_of(RM_TYPE_END, reason);
    return word != NULL ? word : "";
}

resmon_status resmon_run_get_usage(const resmon_run *run, resmon_run_usage *ret_usage)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    if (!rm_run_has_usage(run)) {
        return rm_error(RESMON_ENOENT, "the usage of the process at its end is not known");
    }
    return rm_struct_give(&run->usage, RM_STRUCT_SIZE(resmon_run_usage), ret_usage);
}

/* A process that has ended has used CPU time. */
static resmon_status take_usage(const resmon_run_usage *given, bool has_ended,
                                resmon_run_usage *ret_usage)
{
    resmon_status status = rm_struct_take(given, RM_STRUCT_SIZE(resmon_run_usage), ret_usage);
    double user_s = ret_usage->user_s, system_s = ret_usage->system_s;
    bool is_time = user_s >= 0.0 && system_s >= 0.0 && user_s + system_s < (double)INFINITY;
    if (status == RESMON_OK && !(is_time && (!has_ended || user_s + system_s > 0.0))) {
        status = rm_error(RESMON_EINVAL,
                          "the usage of a process: CPU times of %g s and %g s are not valid",
                          user_s, system_s);
    }
    return status;
}

resmon_status resmon_monitor_set_usage(resmon_monitor *monitor, const resmon_run_usage *usage)
{
    RM_KEEP_ERRNO;
    resmon_run_usage known = {0};
    if (monitor == NULL || usage == NULL) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    resmon_status status = take_usage(usage, true, &known);
    return status == RESMON_OK ? rm_monitor_set_usage(monitor, &known) : status;
}

resmon_status resmon_monitor_set_begin(resmon_monitor *monitor, int64_t monotonic_ns,
                                       const resmon_run_usage *usage)
{
    RM_KEEP_ERRNO;
    resmon_run_usage known = {0};
    if (monitor == NULL || usage == NULL) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    resmon_status status = take_usage(usage, false, &known);
    if (status == RESMON_OK && (monotonic_ns <= 0 || monotonic_ns > rm_clock_monotonic_ns())) {
        status =
            rm_error(RESMON_EINVAL,
                     "the beginning of a process: %lld ns of CLOCK_MONOTONIC is not in the past",
                     (long long)monotonic_ns);
    }
    return status == RESMON_OK ? rm_monitor_set_begin(monitor, monotonic_ns, &known) : status;
}

resmon_status resmon_run_get_end(const resmon_run *run, resmon_run_end *ret_end)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    const resmon_run_end end = rm_run_end(run);
    return rm_struct_give(&end, RM_STRUCT_SIZE(resmon_run_end), ret_end);
}

resmon_status resmon_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end)
{
    RM_KEEP_ERRNO;
    resmon_run_end known;
    if (monitor == NULL || end == NULL) {
        return rm_error(RESMON_EINVAL, "%s: an argument is NULL", __func__);
    }
    resmon_status status = rm_end_take(end, &known);
    return status == RESMON_OK ? rm_monitor_set_end(monitor, &known) : status;
}
