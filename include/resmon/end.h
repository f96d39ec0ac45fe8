/* SPDX-License-Identifier: MIT */
/*
 * resmon/end.h - how a program ended: with success, by a failure, interrupted, or killed.
 *
 * A run says it (resmon_run_get_end()), as do its document under "end", the first lines of the
 * summary and the status of its MLflow run.  Whoever ends a run tells it: the monitor of RESMON
 * knows the exit status, and with `signals` the signal; a program that has a monitor of its own
 * says what it knows by resmon_monitor_set_end() before it stops.  What nobody could tell (SIGKILL,
 * a crash, _exit()) is RESMON_END_UNKNOWN.
 *
 *     how a program under RESMON ends     reason         besides                MLflow
 *     return 0, exit(0)                   FINISHED                              FINISHED
 *     return 3, exit(3)                   FAILED         exit_status 3          FAILED
 *     SIGINT, with `signals`              INTERRUPTED    signal_number SIGINT   KILLED
 *     another signal, with `signals`      KILLED         signal_number          KILLED
 *     any other way                       UNKNOWN                               KILLED, when pushed
 *
 * Whoever observes another process learns how it ended where the kernel says it (Linux 6.15, or as
 * long as it is a zombie); that observing was stopped, of a process or a control group, is UNKNOWN.
 * `resmon run`, as the parent, knows all of these, SIGKILL too.  Where the kernel has killed
 * processes in the program's control group meanwhile (cg.mem.events.oom_kill), the text of a
 * SIGKILL is "out of memory".
 */
#ifndef RESMON_END_H
#define RESMON_END_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** "finished", "killed", ... of RESMON_END_*; "" of another number.  Static string.  Thread class:
 * any thread, async-signal-safe.  Since 0.1. */
RESMON_API const char *resmon_end_name(int32_t reason);

/** How the program of a run ended; `text` lives as long as the run.  RESMON_EINVAL on NULL or a
 * short struct_size.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_end(const resmon_run *run, resmon_run_end *ret_end);

/** What the kernel had accounted to the process and its children when it ended.  RESMON_ENOENT:
 * nobody said it; RESMON_EINVAL.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_usage(const resmon_run *run, resmon_run_usage *ret_usage);

/**
 * Says, before the start, when the process of the option `pid` became what is observed (at its
 * exec, say; CLOCK_MONOTONIC) and what it had used by then: whoever forked it need not let it wait
 * until the monitor has started.  The run begins at that moment, with these figures as the first of
 * its counters, and no I/O; all else begins with the start.  Of the usage the CPU times, page
 * faults and switches count.  Say it at most some seconds after that moment.
 * RESMON_EINVAL: no CPU times, or a moment that is to come, or none of this boot; RESMON_ENOTSUP:
 * the monitor observes no other process; RESMON_ESTATE: it has been started.
 * Thread class: the thread that will start it.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_begin(resmon_monitor *monitor, int64_t monotonic_ns,
                                                  const resmon_run_usage *usage);

/**
 * Says what the process of the option `pid` had used when it ended, which its parent knows by
 * wait4(2), or by waitid(2) with WNOWAIT, so that it can be sampled once more.  That sample is
 * taken now, and is the last: the run ends with the process, however long it is until the monitor
 * is stopped.  The CPU time of the tree is exact in it: this, and what is known of descendants that
 * live.  Add the usage of orphans that were handed to you (PR_SET_CHILD_SUBREAPER); NaN: not known.
 * RESMON_EINVAL: no CPU times; RESMON_EBUSY: it was said before; RESMON_ESTATE unless the monitor
 * runs.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_usage(resmon_monitor *monitor,
                                                  const resmon_run_usage *usage);

/**
 * Says how the program ends, before the monitor is stopped; without, a run that is stopped is
 * FINISHED.  It may be said again: the last word counts, and while the monitor runs the run is
 * RUNNING all the same.  In the recording of a program that is killed before the stop it stands as
 * well.  `text` is copied and may be NULL.
 * RESMON_EINVAL: no such reason, or RUNNING; RESMON_ESTATE unless the monitor runs.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end);

/**
 * Leaves the stop of a monitor to the exit of this process, whose status its run then knows: unless
 * it was said before how the program ends, a status other than 0 is RESMON_END_FAILED.  For
 * languages whose own exit handlers run before the status is known.  What a sink could not write is
 * said on stderr then.  From now on the monitor is the library's: it is not to be stopped or freed,
 * nor may callbacks of its sinks need anything that ends before.  A child of a fork leaves it
 * alone. RESMON_ESTATE unless it runs, in the process that made it; RESMON_ENOMEM; RESMON_ENOTSUP:
 * a C library without on_exit(3).  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_stop_at_exit(resmon_monitor *monitor);

/**
 * Says how the program ends, to the monitor that the variable RESMON started; its run knows the
 * exit status without.  RESMON_ESTATE: there is none, or it is over, or another process's. Thread
 * class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_set_end(const resmon_run_end *end);

/**
 * Finishes the run of RESMON now, as exit(exit_status) would: for programs that are about to leave
 * by _exit(), which runs no exit handlers.  Scopes of this thread end with it.  What the program
 * does after that is not observed.  RESMON_ESTATE as resmon_program_set_end().
 * Thread class: any thread; waits for sinks as resmon_monitor_stop() does.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_finish(int32_t exit_status);

/**
 * What the key `signals` of RESMON does, by code: SIGHUP, SIGINT, SIGTERM and SIGXCPU finish the
 * run of RESMON, where they have their default action, and then end the program by that action.
 * Does nothing where RESMON has the key, be it signals=none.  For languages whose users expect it.
 * RESMON_ESTATE as resmon_program_set_end(); RESMON_ENOMEM, RESMON_EBUSY: no thread for it.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_program_end_on_signals(void);

RESMON_END_DECLS

#endif
