/* SPDX-License-Identifier: MIT */
/*
 * resmon/end.h - how a program ended: with success, by a failure, interrupted, or killed.
 *
 *     resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_FAILED};
 *     end.text = "no such file: input.csv";
 *     resmon_monitor_set_end(monitor, &end);
 *     resmon_monitor_stop(monitor);
 *
 * The run (resmon_run_get_end()), its document under "end", the first lines of its summary and the
 * status of its MLflow run have the end.  The monitor of RESMON knows the exit status,
 * and with `signals` the signal.  A program with its own monitor sets the end by
 * resmon_monitor_set_end() before the stop.  An end that nobody set (SIGKILL, a crash, _exit()) is
 * RESMON_END_UNKNOWN.
 *
 *     how a program under RESMON ends     reason         also set               MLflow
 *     return 0, exit(0)                   FINISHED                              FINISHED
 *     return 3, exit(3)                   FAILED         exit_status 3          FAILED
 *     SIGINT, with `signals`              INTERRUPTED    signal_number SIGINT   KILLED
 *     another signal, with `signals`      KILLED         signal_number          KILLED
 *     any other way                       UNKNOWN                               KILLED, when pushed
 *
 * A monitor of another process knows how that process ended if the kernel reports it: from Linux
 * 6.15, or while the process is a zombie.  If the monitor stops before the process or cgroup ends,
 * the reason is UNKNOWN.  `resmon run` is the parent and knows every end, also SIGKILL.  If the
 * kernel killed processes in the program's cgroup (cg.mem.events.oom_kill), the text of a SIGKILL
 * is "out of memory".
 */
#ifndef RESMON_END_H
#define RESMON_END_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/**
 * Returns the name of a reason (RESMON_END_*): "finished", "killed", ...; "" for other numbers.
 * Static string.
 * Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_end_name(int32_t reason);

/**
 * Gets how the program of a run ended.
 * `text` is valid as long as the run.  RESMON_EINVAL: an argument is NULL, or struct_size is short.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_end(const resmon_run *run, resmon_run_end *ret_end);

/**
 * Gets the resource usage that the kernel reported for the process and its children at its end.
 * RESMON_ENOENT: the usage was not set (resmon_monitor_set_usage()); RESMON_EINVAL: an argument is
 * NULL, or struct_size is short.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_usage(const resmon_run *run, resmon_run_usage *ret_usage);

/**
 * Sets, before the start, the begin of the run of the process `pid`, and its usage at that time.
 * A parent then need not delay the process until the monitor has started.  `monotonic_ns`: a time
 * of CLOCK_MONOTONIC, such as that of the exec, at most some seconds ago.  `usage`: its CPU times,
 * page faults and switches are used.
 * The run begins at that time.  The first values of its counters are these, and 0 for I/O.  Energy
 * between that time and the start is an estimate; all other metrics begin at the start.
 * RESMON_EINVAL: an argument is NULL, a CPU time is missing, or the time is not positive or is in
 * the future; RESMON_ENOTSUP: the monitor does not observe another process; RESMON_ESTATE: the
 * monitor was started.
 * Thread class: the thread that will start the monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_begin(resmon_monitor *monitor, int64_t monotonic_ns,
                                                  const resmon_run_usage *usage);

/**
 * Sets the usage of the process `pid` at its end, and takes the last sample.
 * The parent knows the usage by wait4(2), or by waitid(2) with WNOWAIT, which keeps the process
 * readable for this sample.  The run ends with the process, even if the monitor stops later.  The
 * CPU time of the tree is exact in this sample: this usage and that of living descendants.  Add the
 * usage of orphans that you reaped (PR_SET_CHILD_SUBREAPER).  NaN: not known.
 * RESMON_EINVAL: an argument is NULL, or the CPU times are missing or both 0; RESMON_EBUSY: the
 * usage was set before; RESMON_ESTATE: the monitor does not run.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_usage(resmon_monitor *monitor,
                                                  const resmon_run_usage *usage);

/**
 * Sets how the program ends, before the stop; otherwise a stopped run is FINISHED.
 * The last call counts.  While the monitor runs, the run is still RUNNING.  A recording contains
 * the end, also if the program is killed before the stop.  `text` is copied, and may be NULL.
 * RESMON_EINVAL: an argument is NULL, the reason is unknown or RUNNING, or a number is negative;
 * RESMON_ESTATE: the monitor does not run.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end);

/**
 * Stops the monitor at the exit of this process, so its run has the exit status.
 * It is for languages whose exit handlers run before the status is known.  If the end was not set,
 * a status other than 0 is RESMON_END_FAILED.  The library then owns the monitor: do not stop or
 * free it.  Callbacks of its sinks must not need anything that is released earlier in the exit.
 * Failures of sinks are printed on stderr.  The exit of a forked child does not stop the monitor.
 * RESMON_EINVAL: `monitor` is NULL; RESMON_ESTATE: it does not run, or belongs to another process;
 * RESMON_ENOMEM; RESMON_ENOTSUP: the C library has no on_exit(3).
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_stop_at_exit(resmon_monitor *monitor);

/**
 * Sets how the program ends, for the monitor that the variable RESMON started.
 * The exit status needs no call.  RESMON_EINVAL: as resmon_monitor_set_end(); RESMON_ESTATE: no
 * monitor of RESMON runs, or it belongs to another process.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_set_end(const resmon_run_end *end);

/**
 * Finishes the run of RESMON now, as exit(exit_status) does.
 * It is for programs that call _exit(), which runs no exit handlers.  Open scopes of this thread
 * end.  What the program does afterwards is not observed.  Waits for sinks as resmon_monitor_stop()
 * does.  RESMON_ESTATE: as resmon_program_set_end(), or a sink of that monitor calls.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_finish(int32_t exit_status);

/**
 * Finishes the run of RESMON when SIGHUP, SIGINT, SIGTERM or SIGXCPU ends the program.
 * It is the key `signals` of RESMON as a function, for language bindings.  Only signals with their
 * default action are handled; this action then ends the program.  If RESMON has the key, also as
 * signals=none, the call does nothing.
 * RESMON_ESTATE: as resmon_program_set_end(); RESMON_ENOMEM, RESMON_EBUSY: no thread can be
 * created.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_end_on_signals(void);

RESMON_END_DECLS

#endif
