/* SPDX-License-Identifier: MIT */
/*
 * resmon/metric.h - the table of everything that libresmon can measure.
 *
 * One row per metric, with a number and a name that never change.  All other lists of metrics
 * (run documents, tables, sinks, docs) are made from this table.
 */
#ifndef RESMON_METRIC_H
#define RESMON_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_GAUGE   1 /**< a level: the value is what it is at the time of the reading */
#define RESMON_COUNTER 2 /**< a total that grows: a run reports the amount since its start */

#define RESMON_LEVEL_PROCESS 1 /**< one process, all of its threads */
#define RESMON_LEVEL_TREE    2 /**< a process and all of its descendants, ended ones included */
#define RESMON_LEVEL_CGROUP  3 /**< the control group: container, pod, batch job */
#define RESMON_LEVEL_NODE    4 /**< the whole machine as this process sees it */
#define RESMON_LEVEL_DEVICE  5 /**< one device */

/** One metric.  Set struct_size before the call; strings are static.  Since 0.1. */
typedef struct resmon_metric {
    size_t struct_size;
    uint64_t id;        /**< pinned number */
    const char *name;   /**< "proc.mem.rss" */
    const char *unit;   /**< "B", "s", "%", "J", "W", "1" (SI base units, no prefixes) */
    int32_t kind;       /**< RESMON_GAUGE or RESMON_COUNTER */
    int32_t level;      /**< RESMON_LEVEL_* */
    const char *origin; /**< file or call it is read from */
    const char *help;   /**< one line: definition and trap */
} resmon_metric;

/** How many metrics this library knows.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_metric_count(void);

/**
 * The metric at `index` (0 ... count - 1, in the order of the table).
 * RESMON_ENOENT past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_metric_at(size_t index, resmon_metric *ret_metric);

/** The metric called `name`; RESMON_ENOENT when there is none.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_metric_find(const char *name, resmon_metric *ret_metric);

RESMON_END_DECLS

#endif
