/* SPDX-License-Identifier: MIT */
/*
 * Owns the life of a monitor: its options, sampler, run block, scope session, delivery and sampling
 * thread, made in that order.
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
 * What is wanted of the run ("folded", "lines") is made of these stacks, and of as many scope
 * instances: they are taken if the options say none.  RESMON_EINVAL: the options say other stacks.
 */
resmon_status rm_monitor_need(resmon_monitor *monitor, const char *what, uint64_t stacks,
                              uint64_t events);

/** What was asked for and has no effect, or takes much memory, a line each. */
void rm_monitor_remarks(const resmon_monitor *monitor, char *text, size_t room);

/** Before start: it gives the scopes up when another monitor asks for them. */
void rm_monitor_yield_scopes(resmon_monitor *monitor);

/** The program exits on this thread: its open scopes of this monitor end with it, and, unless
 * stacks are taken, the last sample is asked for.  rm_monitor_stop() follows. */
void rm_monitor_end_with_program(resmon_monitor *monitor);

resmon_status rm_monitor_start(resmon_monitor *monitor);
resmon_status rm_monitor_stop(resmon_monitor *monitor);

/** After a stop, the sampling thread closes its sources beside what comes next: waits for that. */
void rm_monitor_wait_closed(resmon_monitor *monitor);

void rm_monitor_free(resmon_monitor *monitor);
resmon_status rm_monitor_tag(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_set_label(resmon_monitor *monitor, const char *label);
resmon_status rm_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end);

/** Takes over a reference, on success, to a run whose scopes are to be this one's, too. */
resmon_status rm_monitor_join(resmon_monitor *monitor, struct resmon_run *part);

resmon_status rm_monitor_set_begin(resmon_monitor *monitor, int64_t at_ns,
                                   const resmon_run_usage *usage);
resmon_status rm_monitor_set_usage(resmon_monitor *monitor, const resmon_run_usage *usage);

/** RESMON_ESTATE unless it runs, in this process. */
resmon_status rm_monitor_check_running(const resmon_monitor *monitor);

/** The program exits, with this status: unless it is 0, or something else was said, it failed. */
void rm_monitor_note_exit(resmon_monitor *monitor, int exit_status);

/** Whether this is a thread on which its sinks are called. */
bool rm_monitor_is_this_thread(const resmon_monitor *monitor);

/** A signal ends the program; before the stop. */
void rm_monitor_note_signal(resmon_monitor *monitor, int number);

resmon_status rm_monitor_sample(resmon_monitor *monitor);

/** RESMON_EBUSY: the recording, or a sink, writes the file `path` already. */
resmon_status rm_monitor_check_file(const resmon_monitor *monitor, const char *path);

/** The sink that was added last is one of the library: see rm_delivery_own(). */
void rm_monitor_own_sink(resmon_monitor *monitor, const struct rm_own_sink *own);

/**
 * A run of the `parts` (RM_PART_*).  Where there is no memory for the stacks, or for their names,
 * it is without these, and says so in the reasons of the kinds.  Works on a stack of ours.
 */
resmon_status rm_monitor_capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run);

#endif
