/* SPDX-License-Identifier: MIT */
/*
 * resmon/watch.h - resource use of this process between two moments, with or without a monitor:
 * wall and CPU time, I/O, resident memory and its exact peak.
 *
 *     uint64_t watch;
 *     resmon_watched watched = {.struct_size = sizeof watched};
 *     if (resmon_watch_begin(RESMON_METER_RSS | RESMON_METER_CPU, &watch) == RESMON_OK) {
 *         fit();
 *         resmon_watch_end(watch, &watched);
 *     }
 *
 * A scope (<resmon/scope.h>) is the better tool where a monitor runs: it has a place in the tree of
 * scopes.  A watch is for figures that are wanted at once: a cell of a notebook, a line of code, a
 * benchmark.  Watches may overlap in any way, also across threads.
 */
#ifndef RESMON_WATCH_H
#define RESMON_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** What was used since the watch began, or since its last lap.  NaN: not asked for, or not known.
 * Since 0.1. */
typedef struct resmon_watched {
    size_t struct_size;
    double wall_ns;
    double cpu_ns;         /**< CPU time of all threads of the process */
    double rss_bytes;      /**< resident at the end */
    double rss_peak_bytes; /**< highest meanwhile, of the whole process */
    double io_read_bytes;  /**< of the process, less what this library itself read and wrote, as in
                                resmon_run_scope */
    double io_write_bytes;
    double io_read_chars;
    double io_write_chars;
    int32_t rss_provenance; /**< of the peak.  RESMON_PROVENANCE_MEASURED: the kernel's own
                                 high-water mark; SAMPLED: the mark cannot be reset here, and it is
                                 the highest that was looked at; NONE: not known */
    int32_t reserved;
    double tree_cpu_ns; /**< with RESMON_METER_PCPU: CPU time of the process and its descendants, as
                             pcpu_ns of resmon_run_scope */
} resmon_watched;

/**
 * Begins a watch of `meters`, RESMON_METER_*; wall time always.  A meter that cannot be taken here
 * gives NaN later.  RESMON_METER_RSS sets the kernel's high-water mark back, as RESMON_PEAK_RSS of
 * <resmon/scope.h> says, at the beginning and at each lap.  RESMON_EINVAL: NULL, or unknown meters;
 * RESMON_ENOSPC: 64 are open already. End it with resmon_watch_end().  Thread class: any thread.
 * Since 0.1.
 */
RESMON_API resmon_status resmon_watch_begin(uint64_t meters, uint64_t *ret_watch);

/**
 * What was used so far; begins again from here.  With RESMON_METER_RSS it costs three small system
 * calls, less than end and begin.
 * RESMON_EINVAL: NULL, no such watch, or one that has ended; RESMON_ESTATE: begun before a fork.
 * Thread class: any thread; one at a time per watch.  Since 0.1.
 */
RESMON_API resmon_status resmon_watch_lap(uint64_t watch, resmon_watched *ret_watched);

/**
 * What was used so far; then the watch has ended, whatever is returned but RESMON_EINVAL for one
 * that is none.
 * `ret_watched` NULL: nobody wants to know.
 * Thread class: any thread; one at a time per watch.  Since 0.1.
 */
RESMON_API resmon_status resmon_watch_end(uint64_t watch, resmon_watched *ret_watched);

/**
 * resmon_timed_begin() of <resmon/scope.h> for a caller of resmon_timed_take(): with
 * RESMON_METER_RSS the peak is watched whether or not anybody listens to the log. Thread class: any
 * thread.  Since 0.1.
 */
RESMON_API void resmon_timed_watch(resmon_site *site, uint64_t meter, resmon_timed *ret_timed);

/**
 * Ends what resmon_timed_watch() or resmon_timed_begin() began, and gives its figures (wall time;
 * with RESMON_METER_RSS the peak) instead of logging them: the wrappers of other languages.
 * RESMON_EINVAL: `ret_watched` is NULL or its struct_size short; it has ended all the same.
 * Thread class: the thread that began.  Since 0.1.
 */
RESMON_API resmon_status resmon_timed_take(resmon_timed *timed, resmon_watched *ret_watched);

RESMON_END_DECLS

#endif
