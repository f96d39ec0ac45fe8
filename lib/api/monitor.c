/* SPDX-License-Identifier: MIT */
/* <resmon/monitor.h>: checks arguments and calls down. */
#include <resmon/monitor.h>

#include "base/status.h"
#include "engine/monitor.h"
#include "sink/document.h"
#include "sys/outfile.h"

static resmon_status null_argument(const char *function)
{
    return rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                 resmon_monitor **ret_monitor)
{
    return ret_monitor != NULL ? rm_monitor_new(options, ret_monitor) : null_argument(__func__);
}

resmon_status resmon_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                      void *context)
{
    return monitor != NULL ? rm_monitor_add_sink(monitor, ops, context) : null_argument(__func__);
}

resmon_status resmon_monitor_start(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_start(monitor) : null_argument(__func__);
}

resmon_status resmon_monitor_stop(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_stop(monitor) : null_argument(__func__);
}

void resmon_monitor_free(resmon_monitor *monitor)
{
    rm_monitor_free(monitor);
}

resmon_status resmon_monitor_tag(resmon_monitor *monitor, const char *label)
{
    if (monitor == NULL || label == NULL) {
        return RESMON_EINVAL; /* no text: this may be a signal handler */
    }
    return rm_monitor_tag(monitor, label);
}

resmon_status resmon_monitor_set_label(resmon_monitor *monitor, const char *label)
{
    return monitor != NULL && label != NULL ? rm_monitor_set_label(monitor, label)
                                            : null_argument(__func__);
}

resmon_status resmon_monitor_sample_now(resmon_monitor *monitor)
{
    return monitor != NULL ? rm_monitor_sample(monitor) : null_argument(__func__);
}

static resmon_status capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run,
                             const char *function)
{
    return monitor != NULL && ret_run != NULL ? rm_monitor_capture(monitor, parts, ret_run)
                                              : null_argument(function);
}

resmon_status resmon_monitor_snapshot(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_ALL, ret_run, __func__);
}

resmon_status resmon_monitor_summary(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SUMMARY | RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_scopes(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SCOPES, ret_run, __func__);
}

resmon_status resmon_monitor_sources(resmon_monitor *monitor, resmon_run **ret_run)
{
    return capture(monitor, RM_PART_SOURCES, ret_run, __func__);
}

resmon_status resmon_monitor_save(resmon_monitor *monitor, const char *path)
{
    resmon_run *run = NULL;
    resmon_status status =
        path != NULL ? resmon_monitor_snapshot(monitor, &run) : null_argument(__func__);
    if (status == RESMON_OK) {
        status = resmon_run_save(run, path);
        resmon_run_free(run);
    }
    return status;
}
