/* SPDX-License-Identifier: MIT */
/*
 * Owns the life of a monitor: its options, sampler, run block, scope session, delivery and sampling
 * thread, made in that order.
 */
#ifndef RM_ENGINE_MONITOR_H
#define RM_ENGINE_MONITOR_H

#include <stdbool.h>

#include <resmon/monitor.h>

#include "store/run.h"

resmon_status rm_monitor_new(const resmon_monitor_options *options, resmon_monitor **ret_monitor);
resmon_status rm_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                  void *context);

size_t rm_monitor_sink_count(const resmon_monitor *monitor);
resmon_status rm_monitor_get_sink(resmon_monitor *monitor, size_t index,
                                  resmon_sink_info *ret_info);

/** Before start: it gives the scopes up when another monitor asks for them. */
void rm_monitor_yield_scopes(resmon_monitor *monitor);

/** Whether this process made it, and not one that forked. */
bool rm_monitor_is_ours(const resmon_monitor *monitor);

resmon_status rm_monitor_start(resmon_monitor *monitor);
resmon_status rm_monitor_stop(resmon_monitor *monitor);
void rm_monitor_free(resmon_monitor *monitor);
resmon_status rm_monitor_tag(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_set_label(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_sample(resmon_monitor *monitor);

/** A run of the `parts` (RM_PART_*). */
resmon_status rm_monitor_capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run);

#endif
