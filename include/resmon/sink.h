/* SPDX-License-Identifier: MIT */
/*
 * resmon/sink.h - receivers of what a monitor measures, while it measures.
 *
 * The sampling thread puts each sample into a bounded queue; one delivery thread takes it out and
 * calls the sinks.  A slow sink therefore delays neither a sample nor the program: when the queue
 * is full, rows are dropped for the sinks (and counted), never for the run itself.
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
                              where  not read */
    uint64_t dropped_rows; /**< rows and tags that this queue has dropped so far */
} resmon_rows;

/**
 * Operations of a sink; NULL members are skipped.  All are called from the delivery thread, one at
 * a time, except close (from resmon_monitor_free()).  Its stack has 256 KiB.  A negative status
 * switches the sink off, after a log line.  They may call any function of the library but stop and
 * free of their own monitor; in start, that monitor may not be running yet (RESMON_ESTATE).
 * Since 0.1.
 */
typedef struct resmon_sink_ops {
    size_t struct_size;
    const char *name;                                             /**< for messages; copied */
    resmon_status (*start)(void *context, const resmon_run *run); /**< columns, no series yet */
    resmon_status (*rows)(void *context, const resmon_rows *rows);
    resmon_status (*tag)(void *context, int64_t t_ns, const char *label);
    resmon_status (*stop)(void *context, const resmon_run *run); /**< the whole, finished run */
    resmon_status (*flush)(void *context);
    void (*close)(void *context);
} resmon_sink_ops;

RESMON_END_DECLS

#endif
