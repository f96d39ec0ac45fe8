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
 * If a monitor runs, a scope (<resmon/scope.h>) is usually better: it has a place in the tree of
 * scopes.  A watch is for values that are needed at once: of a cell of a notebook, a line of code,
 * a benchmark.  Watches may overlap in any way, also across threads.
 */
#ifndef RESMON_WATCH_H
#define RESMON_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Resource use since the begin of the watch, or since its last lap.  NaN: not requested, or not
 * known.  Since 0.1. */
typedef struct resmon_watched {
    size_t struct_size;
    double wall_ns;
    double cpu_ns;         /**< CPU time of all threads of the process */
    double rss_bytes;      /**< resident set at the end */
    double rss_peak_bytes; /**< peak in this time, of the whole process */
    double io_read_bytes;  /**< I/O of the process without that of this library, as in
                                resmon_run_scope */
    double io_write_bytes;
    double io_read_chars;
    double io_write_chars;
    int32_t rss_provenance; /**< provenance of the peak.  RESMON_PROVENANCE_MEASURED: the
                                 kernel's high-water mark; SAMPLED: the highest RSS that was read,
                                 since the mark cannot be reset here or others reset it; NONE: not
                                 known */
    int32_t reserved;
    double tree_cpu_ns; /**< with RESMON_METER_PCPU: CPU time of the process and its descendants, as
                             pcpu_ns of resmon_run_scope */
} resmon_watched;

/**
 * Begins a watch.
 * `meters`: RESMON_METER_*; wall time is always measured.  A meter that is unavailable here gives
 * NaN.  RESMON_METER_RSS resets the kernel's high-water mark at the begin and at each lap (see
 * RESMON_PEAK_RSS() in <resmon/scope.h>).  End the watch with resmon_watch_end().
 * RESMON_EINVAL: `ret_watch` is NULL, or meters are unknown; RESMON_ENOSPC: 64 watches are open.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_watch_begin(uint64_t meters, uint64_t *ret_watch);

/**
 * Gets the use so far and begins the watch again.
 * With RESMON_METER_RSS it takes three small system calls, which is less than end and begin.
 * RESMON_EINVAL: `ret_watched` is NULL or its struct_size is short, or the watch does not exist or
 * has ended; RESMON_ESTATE: the watch began before a fork, in the parent.
 * Thread class: any thread; one at a time per watch.  Since 0.1.
 */
RESMON_API resmon_status resmon_watch_lap(uint64_t watch, resmon_watched *ret_watched);

/**
 * Gets the use so far and ends the watch, also if it returns an error.
 * `ret_watched` may be NULL.  RESMON_EINVAL: the watch does not exist or has ended, or struct_size
 * is short; RESMON_ESTATE: the watch began before a fork, in the parent.
 * Thread class: any thread; one at a time per watch.  Since 0.1.
 */
RESMON_API resmon_status resmon_watch_end(uint64_t watch, resmon_watched *ret_watched);

/**
 * Begins a timed scope for resmon_timed_take().
 * Unlike resmon_timed_begin() of <resmon/scope.h>, it measures the peak (RESMON_METER_RSS) also
 * without a monitor and without a log function.
 * Thread class: any thread, not from signal handlers.  Since 0.1.
 */
RESMON_API void resmon_timed_watch(resmon_site *site, uint64_t meter, resmon_timed *ret_timed);

/**
 * Ends a timed scope and gets its values instead of logging them, for wrappers of other languages.
 * Values are wall time, and with RESMON_METER_RSS the peak.  The scope began with
 * resmon_timed_watch() or resmon_timed_begin().
 * RESMON_EINVAL: `ret_watched` is NULL or its struct_size is short; the scope has ended, too.
 * Thread class: the thread that began it.  Since 0.1.
 */
RESMON_API resmon_status resmon_timed_take(resmon_timed *timed, resmon_watched *ret_watched);

RESMON_END_DECLS

#endif
