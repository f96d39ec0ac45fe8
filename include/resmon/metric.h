/* SPDX-License-Identifier: MIT */
/*
 * resmon/metric.h - the table of all metrics.
 *
 * One row per metric, with a number and a name that never change.  All other lists of metrics
 * (run documents, tables, sinks, docs) are made from this table.  Beside it, the table of what is
 * shown where: which metrics reports, traces, MLflow and charts show, and as what.
 */
#ifndef RESMON_METRIC_H
#define RESMON_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

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

/* `series` in the view "node", beside RESMON_SERIES_*. */
#define RESMON_VIEW_OVER_20          10 /**< % of the time at or over 20 % */
#define RESMON_VIEW_OVER_40          11 /**< ... 40 % */
#define RESMON_VIEW_OVER_80          12 /**< ... 80 % */
#define RESMON_VIEW_OVER_100         13 /**< ... 100 % */
#define RESMON_VIEW_CPU_HOURS        14 /**< mean number of CPUs times the length of the run, h */
#define RESMON_VIEW_UNUSED_CPU_HOURS 15 /**< of these, what was idle */

/**
 * One metric in one view, or the head of a group of them.  Set struct_size before the call; strings
 * are static.  Since 0.1.
 *
 * Views: "summary" (rows of resmon_report_text()), "trace" (counters of a trace), "mlflow" (points
 * and series; the label is the end of the key), "node" (figures of a node; the label is the key,
 * the group says it in words), "headline" (figures that are asked for first; the group is the
 * figure), and of the Python package "plot", "chart", "compare" (charts of several runs) and
 * "spark" (small charts).  Rows of a group with the same label are alternatives: the first that was
 * measured is shown; in "power" of "chart" they are added up, and in "compare" all of a group are
 * alternatives.  Metrics in "detail" are in none of these.
 *
 * A metric that the table does not name stands in group "other" of "summary", "trace", "mlflow",
 * "plot" and "chart", with its own name as label.
 */
typedef struct resmon_view {
    size_t struct_size;
    const char *view;     /**< as above */
    const char *group;    /**< what is shown together; "" */
    const char *metric;   /**< "" for the head of a group: label is its title */
    const char *label;    /**< as people read it, or a key */
    const char *unit;     /**< that is shown: "MiB", "B/s" */
    const char *share_of; /**< the metric that it is shown as % of; "": none */
    double divisor;       /**< value in the metric's unit / divisor = value in `unit` */
    int32_t series;       /**< RESMON_SERIES_* or RESMON_VIEW_* */
    int32_t colour;       /**< number of a line's colour in a chart; -1: a bound, not a use */
} resmon_view;

/** How many rows the table of views has.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_view_count(void);

/**
 * The row at `index` (0 ... count - 1): those of a view are in the order in which they are shown,
 * and a head stands before the rows of its group.  RESMON_ENOENT past the end.  Any thread.
 * Since 0.1.
 */
RESMON_API resmon_status resmon_view_at(size_t index, resmon_view *ret_view);

#define RESMON_VALUE_BYTES 32

/**
 * Writes a value as people read it, in at most RESMON_VALUE_BYTES: "687.5 MiB" of "B", "1.234 ms"
 * or "62 min 05 s" of "s", "56.82 J" or "2.000 kWh" of "J", "1.235 M" of "1".  Any other unit
 * stands behind a count, with at most 12 bytes: "1.500 GHz".  A unit that ends in "/s" makes a
 * rate: "12.3 MiB/s", but watts of "J/s" and percent of "s/s".  Bytes go by 1024, all else by 1000;
 * four digits or fewer are shown, and "-" of what is not finite.  All texts of the library for
 * people are of this form. RESMON_EINVAL: a pointer is NULL.  RESMON_ERANGE: the text needs more
 * than `bytes`.  Any thread. Since 0.1.
 */
RESMON_API resmon_status resmon_format_value(const char *unit, double value, char *buffer,
                                             size_t bytes);

/**
 * The other way round, for what people say: "10ms", "1.5 MiB", "3kJ", "200" as a number of `unit`
 * ("s", "B", "J", "1"); a text without a unit is in that.  RESMON_EINVAL: NULL, or it is no such
 * amount (the text says which units there are).  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_parse_value(const char *unit, const char *text, double *ret_value);

RESMON_END_DECLS

#endif
