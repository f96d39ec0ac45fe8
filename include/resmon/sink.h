/* SPDX-License-Identifier: MIT */
/*
 * resmon/sink.h - sinks, which receive samples and results of a monitor.
 *
 *     resmon_sink_ops ops = {.struct_size = sizeof ops, .rows = on_sample, .stop = on_stop};
 *     resmon_monitor_add_sink(monitor, &ops, my_context);
 *
 * This calls on_sample() at each sample, and on_stop() at the end.
 *
 * The sampling thread puts each sample into bounded queues.  Two delivery threads read them and
 * call the sinks: one thread for sinks of this machine, the other for sinks that wait for servers
 * (RESMON_SINK_REMOTE).  So a slow sink delays neither samples nor the program.  If a queue is
 * full, samples are dropped for its sinks and counted, but never for the run itself.
 */
#ifndef RESMON_SINK_H
#define RESMON_SINK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Samples for a sink; valid until the callback returns.  Since 0.1. */
typedef struct resmon_rows {
    size_t struct_size;
    const resmon_run *run; /**< columns only, no series */
    size_t row_count;
    size_t column_count;
    const int64_t *t_ns;   /**< time of each sample, since the start */
    const double *values;  /**< sample after sample: gauges as read, counters as growth since
                              the start; NaN: not read */
    uint64_t dropped_rows; /**< samples and tags dropped by this queue so far */
} resmon_rows;

/* Flags of a sink. */
#define RESMON_SINK_REMOTE                                                                       \
    UINT64_C(1) /**< the sink waits for a server: a second thread calls it, so it does not delay \
                   the sinks of this machine */

/* Parts of a run that a sink needs; facts, sources, overhead and the end are always present.
 * Combine with |. */
#define RESMON_PART_SERIES  UINT64_C(1)  /**< the table, with its columns */
#define RESMON_PART_SUMMARY UINT64_C(2)  /**< columns and their statistics, energy */
#define RESMON_PART_SCOPES  UINT64_C(4)  /**< scopes and checkpoints of lines */
#define RESMON_PART_TAGS    UINT64_C(16) /**< tags */
#define RESMON_PART_EVENTS  UINT64_C(32) /**< scope instances */
#define RESMON_PART_STACKS  UINT64_C(64) /**< stacks; symbolized at stop */
#define RESMON_PART_ALL     UINT64_C(127)

/**
 * Operations of a sink; NULL members are skipped.  A delivery thread calls them, one at a time per
 * sink; resmon_monitor_free() may call close.
 *
 * A negative status of rows, tag or snapshot is stored (resmon_monitor_get_sink()), and logged
 * unless the failure before had the same status.  Later calls are still made: a full disk may have
 * space again.  A negative status of start switches the sink off.
 *
 * Operations may call any function of the library.  Stopping their own monitor returns
 * RESMON_ESTATE, and freeing it does nothing.  During start and the first rows, that monitor may
 * not run yet (RESMON_ESTATE).
 *
 * A sink that does not return within the monitor's `stop_timeout_ms` is left behind: the monitor
 * stops without it.  The thread of the sink continues, calls close after the sink returns, and
 * ends.  From then on the sink must not use the monitor, which may be freed.  Since 0.1.
 */
typedef struct resmon_sink_ops {
    size_t struct_size;
    const char *name;                                             /**< for messages; copied */
    resmon_status (*start)(void *context, const resmon_run *run); /**< columns, no series */
    resmon_status (*rows)(void *context, const resmon_rows *rows);
    resmon_status (*tag)(void *context, int64_t t_ns, const char *label);
    resmon_status (*stop)(void *context, const resmon_run *run); /**< the complete, finished run */
    resmon_status (*flush)(void *context);                       /**< after stop */
    void (*close)(void *context);
    resmon_status (*snapshot)(void *context,
                              const resmon_run *run); /**< the run so far, at intervals, its stacks
                                                         not symbolized; valid until the callback
                                                         returns */
    uint64_t snapshot_interval_ms; /**< interval of snapshots, the first after 1 s
                                      at most; 0: none */
    uint64_t flags;                /**< RESMON_SINK_* */
    uint64_t parts;                /**< RESMON_PART_* that snapshot and stop need; default
                                      0: all.  Other parts may be missing: parts that
                                      no sink needs are not captured */
} resmon_sink_ops;

/** State of a sink.  Since 0.1. */
typedef struct resmon_sink_info {
    size_t struct_size;
    char name[64];
    char reason[256];     /**< text of the last failure; "": none */
    resmon_status status; /**< status of that failure; RESMON_OK: none */
    int32_t is_off;       /**< 1: start failed, or it was left behind; it is not called any more */
    uint64_t calls;
    uint64_t failures;
    resmon_status end_status; /**< of start, stop and flush; RESMON_OK: the work was done at the
                                   end, even if earlier calls failed */
    int32_t reserved;
    uint64_t busy_ns;    /**< total time of its calls */
    uint64_t longest_ns; /**< time of its slowest call */
} resmon_sink_info;

/** Options of a sink that writes run documents while the program runs.  Since 0.1. */
typedef struct resmon_json_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when the sink is added */
    uint64_t interval_ms; /**< time between documents, 1 ... 86400000; default 60000 */
    uint64_t flags;       /**< RESMON_JSON_* */
} resmon_json_options;

#define RESMON_JSON_FINAL_ONLY UINT64_C(1) /**< only the document at stop, none before */
#define RESMON_JSON_LATE                                                                        \
    UINT64_C(                                                                                   \
        2) /**< the directory may be created later, so it is not checked when the sink is added \
            */

/**
 * Options of a sink that writes the table of samples as comma-separated values.
 * Quotes are as in RFC 4180; lines end in '\n'.
 *
 * After a line of names there is a line for each sample, as it is taken.  With
 * RESMON_CSV_WHOLE_RUN, there is a line for each row of the run's table.  The first columns are
 * "time_s" (since the start) and "unix_time_s"; for rows also "end_s" and "samples".  The last
 * column "tag" has the labels of the tags since the previous line, joined by "; ".  Cells without a
 * reading are empty.
 *
 * An existing file is emptied at the start of the run.  On a full disk, whole lines are lost and
 * counted.  A second file ("run.csv" -> "run-columns.csv") has the metric, instance, unit, kind and
 * meaning of each column.  While a process writes line by line, a sink of another process with the
 * same path is off (RESMON_EBUSY); "%p" in the path gives each process its own file.  Since 0.1.
 */
typedef struct resmon_csv_options {
    size_t struct_size;
    const char *path; /**< as in resmon_json_options */
    uint64_t flags;   /**< RESMON_CSV_* */
} resmon_csv_options;

#define RESMON_CSV_WHOLE_RUN                                                                    \
    UINT64_C(1) /**< written at stop from the table of the run (as resmon_run_save_csv() does), \
                   instead of a line for each sample as it is taken */

/**
 * Exports a finished run to a sink of the library by its name: to a file or a server.
 * It has the effect that the stop of the monitor would have; MLflow as resmon_run_push_mlflow().
 * `options`: as resmon_monitor_add().  csv writes the table of the whole run, and prometheus a file
 * that is kept.  The call waits for the disk or server.
 * RESMON_EINVAL: an argument is NULL, the sink does not exist, or an option is wrong;
 * RESMON_ERANGE: an option is out of bounds; other errors: of the sink.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_export(const resmon_run *run, const char *sink,
                                           const char *options);

RESMON_END_DECLS

#endif
