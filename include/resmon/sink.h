/* SPDX-License-Identifier: MIT */
/*
 * resmon/sink.h - sinks, which receive samples and results of a monitor.
 *
 * The sampling thread puts each sample into bounded queues; two delivery threads take them out and
 * call the sinks: one those of this machine, the other those that wait for servers
 * (RESMON_SINK_REMOTE).  A slow sink therefore delays neither a sample nor the program: when a
 * queue is full, rows are dropped for its sinks (and counted), never for the run itself.
 *
 * To be called at each sample and at the end:
 *
 *     resmon_sink_ops ops = {.struct_size = sizeof ops, .rows = on_sample, .stop = on_stop};
 *     resmon_monitor_add_sink(monitor, &ops, my_context);
 */
#ifndef RESMON_SINK_H
#define RESMON_SINK_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** Samples on their way to a sink; valid until the callback returns.  Since 0.1. */
typedef struct resmon_rows {
    size_t struct_size;
    const resmon_run *run; /**< the columns; no series */
    size_t row_count;
    size_t column_count;
    const int64_t *t_ns;   /**< one per row, since start */
    const double *values;  /**< row after row: gauge as read, counter as growth since start; NaN
                              where not read */
    uint64_t dropped_rows; /**< rows and tags that this queue has dropped so far */
} resmon_rows;

/* Flags of a sink. */
#define RESMON_SINK_REMOTE                                                                        \
    UINT64_C(1) /**< it waits for others (a server): it gets its turn on a second thread, so that \
                   it does not hold up the sinks that write to this machine */

/* Parts of a run, for those who need not see all of it; facts, sources, overhead and the end are
 * always there.  Combine with |. */
#define RESMON_PART_SERIES  UINT64_C(1)  /**< the table, with its columns */
#define RESMON_PART_SUMMARY UINT64_C(2)  /**< columns and their statistics, energy */
#define RESMON_PART_SCOPES  UINT64_C(4)  /**< scopes and checkpoints of lines */
#define RESMON_PART_TAGS    UINT64_C(16) /**< tags */
#define RESMON_PART_EVENTS  UINT64_C(32) /**< scope instances */
#define RESMON_PART_STACKS  UINT64_C(64) /**< stacks; at stop with their names */
#define RESMON_PART_ALL     UINT64_C(127)

/**
 * Operations of a sink; NULL members are skipped.  All are called from a delivery thread, those of
 * one sink one at a time; close too, or from resmon_monitor_free().  A negative status from rows,
 * tag or snapshot is noted (resmon_monitor_get_sink()) and logged once, and the next call comes all
 * the same: a full disk may have room again.  One from start switches the sink off.
 *
 * They may call any function of the library; stopping their own monitor is RESMON_ESTATE, and
 * freeing it is left undone.  In start and at the first rows, that monitor may not be running yet
 * (RESMON_ESTATE).  A sink that does not return within the monitor's `stop_timeout_ms` is left
 * behind: the monitor stops, the sink's thread goes on by itself, calls close when the sink does
 * return, and ends; from then on the sink must not use the monitor, which may be freed.
 * Since 0.1.
 */
typedef struct resmon_sink_ops {
    size_t struct_size;
    const char *name;                                             /**< for messages; copied */
    resmon_status (*start)(void *context, const resmon_run *run); /**< columns, no series yet */
    resmon_status (*rows)(void *context, const resmon_rows *rows);
    resmon_status (*tag)(void *context, int64_t t_ns, const char *label);
    resmon_status (*stop)(void *context, const resmon_run *run); /**< the whole, finished run */
    resmon_status (*flush)(void *context);                       /**< after stop */
    void (*close)(void *context);
    resmon_status (*snapshot)(void *context,
                              const resmon_run *run); /**< the run so far, now and then, its stacks
                                                         without names; the run is valid until the
                                                         callback returns */
    uint64_t snapshot_interval_ms;                    /**< how often, the first time after 1 s at
                                                         most; 0: never */
    uint64_t flags;                                   /**< RESMON_SINK_* */
    uint64_t parts; /**< RESMON_PART_* of the runs that snapshot and
                       stop look at: no other is sure to be there, and
                       what no sink wants is not captured; default 0:
                       all */
} resmon_sink_ops;

/** How a sink fares.  Since 0.1. */
typedef struct resmon_sink_info {
    size_t struct_size;
    char name[64];
    char reason[256];     /**< text of its latest failure; "" if there was none */
    resmon_status status; /**< of that failure; RESMON_OK if there was none */
    int32_t is_off;       /**< 1: its start failed, or it was left behind; it is called no more */
    uint64_t calls;
    uint64_t failures;
    resmon_status end_status; /**< of start, stop and flush: RESMON_OK when the sink has done its
                                   work in the end, whatever failed on the way */
    int32_t reserved;
    uint64_t busy_ns;    /**< time spent in it */
    uint64_t longest_ns; /**< by its slowest call */
} resmon_sink_info;

/** Run documents while the program runs.  Since 0.1. */
typedef struct resmon_json_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when the sink is added */
    uint64_t interval_ms; /**< between checkpoints, 1 ... 86400000; default 60000 */
    uint64_t flags;       /**< RESMON_JSON_* */
} resmon_json_options;

#define RESMON_JSON_FINAL_ONLY UINT64_C(1) /**< no checkpoints, only the document at stop */
#define RESMON_JSON_LATE \
    UINT64_C(            \
        2) /**< the directory may come into being later: not looked at when the sink is added */

/**
 * The table of samples as comma-separated values (quoted as in RFC 4180; lines end in '\n'): a line
 * of names, then a line for each sample as it comes, or with RESMON_CSV_WHOLE_RUN for each row of
 * the run's table.  First stand "time_s" (since the start) and "unix_time_s" (of a row also "end_s"
 * and "samples"), last "tag": the labels set since the line before, joined by "; ".  A cell that
 * was not read is empty.  A file that is there is emptied at the start of the run; on a full disk
 * lines are lost whole, and counted.  A second file beside it ("run.csv" -> "run-columns.csv") says
 * for each column its metric, instance, unit, kind and meaning.  While one
 * process writes line by line, the sink of another with the same path is off (RESMON_EBUSY): "%p"
 * gives each its own.  Since 0.1.
 */
typedef struct resmon_csv_options {
    size_t struct_size;
    const char *path;
    uint64_t flags; /**< RESMON_CSV_* */
} resmon_csv_options;

#define RESMON_CSV_WHOLE_RUN                                                                    \
    UINT64_C(1) /**< written at stop from the table of the run (as resmon_run_save_csv() does), \
                   instead of a line for each sample as it comes */

/**
 * Gives a run that is over to one of the library's sinks by its name, as the stop of its monitor
 * would have: writes a file in its format, or sends it to a server (MLflow as
 * resmon_run_push_mlflow()).  `options` as resmon_monitor_add(); with csv and prometheus, which
 * write while a program runs, the whole run's table, and a file that stays.
 * RESMON_EINVAL: there is no such sink, or an option is wrong; and as the sink fails.
 * Thread class: any thread; waits for the disk or server.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_export(const resmon_run *run, const char *sink,
                                           const char *options);

RESMON_END_DECLS

#endif
