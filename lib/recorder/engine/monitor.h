/* SPDX-License-Identifier: MIT */
/*
 * Owns the life of a monitor: its options, sampler, run block, scope session, delivery and
 * sampling thread, which are created in this order.
 */
#ifndef RM_ENGINE_MONITOR_H
#define RM_ENGINE_MONITOR_H

#include <stdbool.h>

#include <resmon/monitor.h>

#include "engine/lane.h"
#include "run/run.h"

resmon_status rm_monitor_new(const resmon_monitor_options *options, resmon_monitor **ret_monitor);
resmon_status rm_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                  void *context);

size_t rm_monitor_sink_count(const resmon_monitor *monitor);
resmon_status rm_monitor_get_sink(resmon_monitor *monitor, size_t index,
                                  resmon_sink_info *ret_info);

/**
 * Sets what an output ("folded", "lines") needs: stacks, and a number of scope instances, unless
 * the options set them.  RESMON_EINVAL: the options set other stacks.
 */
resmon_status rm_monitor_need(resmon_monitor *monitor, const char *what, uint64_t stacks,
                              uint64_t events);

/** Writes remarks, one per line, on options that have no effect or take much memory. */
void rm_monitor_remarks(const resmon_monitor *monitor, char *text, size_t room);

/** Called before start: the monitor gives up the scopes when another monitor requests them. */
void rm_monitor_yield_scopes(resmon_monitor *monitor);

/** The program exits on this thread: ends its open scopes of this monitor, and, unless stacks are
 * taken, requests the last sample.  rm_monitor_stop() follows. */
void rm_monitor_end_with_program(resmon_monitor *monitor);

resmon_status rm_monitor_start(resmon_monitor *monitor);
resmon_status rm_monitor_stop(resmon_monitor *monitor);

/** Waits until the sampling thread, which closes its sources in parallel after a stop, has ended.
 */
void rm_monitor_wait_closed(resmon_monitor *monitor);

void rm_monitor_free(resmon_monitor *monitor);
resmon_status rm_monitor_tag(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_set_label(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end);

/** On success, takes over a reference to `part`: this monitor's runs then include its scopes. */
resmon_status rm_monitor_join(resmon_monitor *monitor, struct resmon_run *part);

resmon_status rm_monitor_set_begin(resmon_monitor *monitor, int64_t at_ns,
                                   const resmon_run_usage *usage);
resmon_status rm_monitor_set_usage(resmon_monitor *monitor, const resmon_run_usage *usage);

/** RESMON_ESTATE unless the monitor runs in this process. */
resmon_status rm_monitor_check_running(const resmon_monitor *monitor);

/** The program exits with this status: unless it is 0, or an end was set before, it failed. */
void rm_monitor_note_exit(resmon_monitor *monitor, int exit_status);

/** Whether this is a thread on which its sinks are called. */
bool rm_monitor_is_this_thread(const resmon_monitor *monitor);

/** Notes that a signal ends the program; called before the stop. */
void rm_monitor_note_signal(resmon_monitor *monitor, int number);

resmon_status rm_monitor_sample(resmon_monitor *monitor);

/** RESMON_EBUSY: the recording, or a sink, already writes the file `path`. */
resmon_status rm_monitor_check_file(const resmon_monitor *monitor, const char *path);

/** Marks the last added sink as one of the library: see rm_delivery_own(). */
void rm_monitor_own_sink(resmon_monitor *monitor, const struct rm_own_sink *own);

/**
 * Makes a run of the `parts` (RM_PART_*).  Without memory for the stacks or their symbols, the
 * run lacks them, and has the reason.  Works on a stack of the library.
 */
resmon_status rm_monitor_capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run);

#endif
