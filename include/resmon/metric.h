/* SPDX-License-Identifier: MIT */
/*
 * resmon/metric.h - the table of all metrics, the table of views, and values as text.
 *
 *     resmon_metric metric = {.struct_size = sizeof metric};
 *     char text[RESMON_VALUE_BYTES];
 *     if (resmon_metric_find("proc.mem.rss", &metric) == RESMON_OK &&
 *         resmon_format_value(metric.unit, 720896000.0, text, sizeof text) == RESMON_OK) {
 *         printf("%s: %s\n", metric.help, text);  // ...: 687.5 MiB
 *     }
 *
 * The table of metrics has one row per metric, with a number and a name that never change.  Other
 * lists of metrics (run documents, tables, sinks, docs) are generated from it.
 *
 * The table of views defines which metrics reports, traces, MLflow and charts show, and in which
 * form.
 */
#ifndef RESMON_METRIC_H
#define RESMON_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** A metric.  Set struct_size before the call; strings are static.  Since 0.1. */
typedef struct resmon_metric {
    size_t struct_size;
    uint64_t id;        /**< number, never changed */
    const char *name;   /**< "proc.mem.rss" */
    const char *unit;   /**< "B", "s", "%", "J", "W", "1" (SI base units, no prefixes) */
    int32_t kind;       /**< RESMON_GAUGE or RESMON_COUNTER */
    int32_t level;      /**< RESMON_LEVEL_* */
    const char *origin; /**< file or call that it is read from */
    const char *help;   /**< one line: definition and pitfall */
} resmon_metric;

/** Returns the number of metrics of this library.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_metric_count(void);

/**
 * Describes the metric at `index` (0 ... count - 1, in the order of the table).
 * RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_metric_at(size_t index, resmon_metric *ret_metric);

/** Finds the metric with this name.  RESMON_ENOENT: there is none.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_metric_find(const char *name, resmon_metric *ret_metric);

/* Values of `series` in the view "node", in addition to RESMON_SERIES_*. */
#define RESMON_VIEW_OVER_20          10 /**< % of the time with 20 % or more */
#define RESMON_VIEW_OVER_40          11 /**< ... 40 % */
#define RESMON_VIEW_OVER_80          12 /**< ... 80 % */
#define RESMON_VIEW_OVER_100         13 /**< ... 100 % */
#define RESMON_VIEW_CPU_HOURS        14 /**< mean number of CPUs * duration of the run, h */
#define RESMON_VIEW_UNUSED_CPU_HOURS 15 /**< idle part of these CPU hours, h */

/**
 * A metric in a view, or the head of a group of metrics.  Set struct_size before the call; strings
 * are static.  Since 0.1.
 *
 * Views:
 *
 * - "summary": rows of resmon_report_text();
 * - "trace": counters of a trace;
 * - "mlflow": points and series; the label is the end of the key;
 * - "node": values of a node; the label is the key, the group is its description;
 * - "headline": main values of a run; the group is the name of the value;
 * - "job": values of each node and of all nodes of a merged run;
 * - "plot", "chart", "compare" (charts of several runs), "spark" (small charts): of the Python
 * package;
 * - "detail": metrics that no view shows.
 *
 * Rows of a group with the same label are alternatives: the first one that was measured is shown.
 * In group "power" of "chart" they are summed; in "compare" all rows of a group are alternatives.
 *
 * A metric without a row in the table is in group "other" of "summary", "trace", "mlflow", "plot"
 * and "chart", with its name as label.
 */
typedef struct resmon_view {
    size_t struct_size;
    const char *view;     /**< see above */
    const char *group;    /**< rows that are shown together; may be "" */
    const char *metric;   /**< "": the head of a group; label is the title */
    const char *label;    /**< text for people, or a key */
    const char *unit;     /**< unit that is shown: "MiB", "B/s" */
    const char *share_of; /**< shown as % of this metric; "": not a share */
    double divisor;       /**< value in the metric's unit / divisor = value in `unit` */
    int32_t series;       /**< RESMON_SERIES_* or RESMON_VIEW_* */
    int32_t colour;       /**< number of the line's color in a chart; -1: the line is a limit */
} resmon_view;

/** Returns the number of rows of the table of views.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_view_count(void);

/**
 * Describes the row at `index` (0 ... count - 1).  Rows of a view are in display order; the head of
 * a group is before its rows.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_view_at(size_t index, resmon_view *ret_view);

#define RESMON_VALUE_BYTES 32 /**< enough for any text of resmon_format_value() */

/**
 * Formats a value for people, with at most RESMON_VALUE_BYTES bytes.
 * Examples: "687.5 MiB" for unit "B", "1.234 ms" or "62 min 05 s" for "s", "56.82 J" or
 * "2.000 kWh" for "J", "1.235 M" for "1".  Any other unit is appended to a count, with at most 12
 * bytes: "1.500 GHz".  A unit that ends in "/s" is a rate: "12.3 MiB/s"; but "J/s" is shown in
 * watts and "s/s" in percent.  Prefixes are powers of 1024 for bytes, of 1000 for other units.  At
 * most four digits are shown; "-" if the value is not finite.  All texts of the library for people
 * use this form.
 * RESMON_EINVAL: a pointer is NULL; RESMON_ERANGE: the text needs more than `bytes` bytes.
 * Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_format_value(const char *unit, double value, char *buffer,
                                             size_t bytes);

/**
 * Parses a value with a unit, as people write it.
 * "10ms", "1.5 MiB", "3kJ" or "200" becomes a number of `unit` ("s", "B", "J" or "1").  A text
 * without a unit is in `unit`.
 * RESMON_EINVAL: an argument is NULL, or the text is not such an amount; the error text lists the
 * units.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_parse_value(const char *unit, const char *text, double *ret_value);

RESMON_END_DECLS

#endif
