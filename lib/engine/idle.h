/* SPDX-License-Identifier: MIT */
/*
 * Owns recording a machine that is left alone, for runs of work to be compared with.
 */
#ifndef RM_ENGINE_IDLE_H
#define RM_ENGINE_IDLE_H

#include <resmon/monitor.h>

/** A run over sleeping for `seconds`, 0 ... a week; `options` in full length. */
resmon_status rm_idle_measure(double seconds, const resmon_monitor_options *options,
                              resmon_run **ret_run);

#endif
