/* SPDX-License-Identifier: MIT */
/*
 * resmon/report.h - reports of runs: text, HTML and Markdown.  In libresmon-reader.
 *
 *     char *text;
 *     if (resmon_report_text(run, NULL, &text) == RESMON_OK) {
 *         puts(text);
 *         resmon_text_free(text);
 *     }
 */
#ifndef RESMON_REPORT_H
#define RESMON_REPORT_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/* Detail of a report. */
#define RESMON_REPORT_BRIEF 0 /**< main values, on one screen: see resmon_report_text() */
#define RESMON_REPORT_FULL  1 /**< all values */

#define RESMON_REPORT_WIDTH       100 /**< default columns of a line */
#define RESMON_REPORT_LEAST_WIDTH 60  /**< minimum columns of a line */

/** Options of resmon_report_text().  Since 0.1. */
typedef struct resmon_report_options {
    size_t struct_size;
    uint64_t detail; /**< RESMON_REPORT_* */
    uint64_t width;  /**< maximum columns of a line; 0: RESMON_REPORT_WIDTH */
} resmon_report_options;

/**
 * Renders a run as plain UTF-8 text with units for people.  `options` NULL: brief.
 *
 * - Brief: a line with the wall time and the main usage; rows for wall time, CPU time, memory peak,
 *   I/O, energy, GPUs, the slowest scope, and hot functions; a line per scope (the 40 longest if
 *   there are many); requested values that are missing; the overhead.
 * - Full: also all tables: scopes, processes, nodes and ranks, counters, metrics of the run and of
 *   the machine, energy; hot functions and lines if stacks were sampled (<resmon/stack.h>); lines
 *   with checkpoints (RESMON_LINE in <resmon/scope.h>); unavailable values with reasons; the
 *   overhead.
 *
 * Text beyond `width` is wrapped.  Free `ret_text` with resmon_text_free().
 * RESMON_EINVAL: an argument is NULL, or the detail is unknown; RESMON_ERANGE: `width` is less than
 * RESMON_REPORT_LEAST_WIDTH; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_text(const resmon_run *run,
                                            const resmon_report_options *options, char **ret_text);

/**
 * Renders CPU time and memory growth by source line, like line_profiler and memory_profiler.
 * `function` is one function ("work"; in C++ also without parameters); NULL: the hot functions.
 * The source text is shown if its file is readable.
 *
 * Lines with checkpoints (RESMON_LINE) come first, in separate tables.  Their values are exact, and
 * hits and occurrences count stretches between two checkpoints.  In tables from stacks, hits and
 * occurrences count samples.  "Mem usage" is the RSS of the process, read at checkpoints only: the
 * highest at the second checkpoint.
 *
 * Values of a line are inclusive.  Functions are sorted by self values; code without readable
 * source (memset), or in headers of the system (std::vector), is attributed to its caller.  Without
 * code: RESMON=lines, or RESMON=lines=work.  Free `ret_text` with resmon_text_free().
 * RESMON_ENOENT: the run has neither stacks nor checkpoints, or none of `function`; RESMON_EINVAL:
 * `run` or `ret_text` is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_lines(const resmon_run *run, const char *function,
                                             char **ret_text);

/* Formats of resmon_report_table(). */
#define RESMON_TABLE_TEXT     0 /**< for a terminal, with units for people */
#define RESMON_TABLE_JSON     1 /**< an object per row, in SI units */
#define RESMON_TABLE_MARKDOWN 2 /**< GitHub table */
#define RESMON_TABLE_HTML     3 /**< an element, for a notebook: text of the run is escaped */

/** Options of resmon_report_table().  Since 0.1. */
typedef struct resmon_table_options {
    size_t struct_size;
    uint64_t form;     /**< RESMON_TABLE_* */
    uint64_t width;    /**< maximum columns of a line of text; 0: RESMON_REPORT_WIDTH */
    const char *match; /**< only rows whose name contains this; default: all */
} resmon_table_options;

/** Name of a table of resmon_report_table(): "metrics", "scopes", "scope_names", "tags",
 * "sources", "facts", "energy", "processes", "nodes", "ranks", "catalogue"; NULL: no such index.
 * Static string.  Thread class: any thread.  Since 0.1. */
RESMON_API const char *resmon_table_name(size_t index);

/**
 * Renders one table of a run with all of its rows, as `resmon show FILE TABLE` prints it.
 * "catalogue" is the table of all metrics of the library, as `resmon metrics` prints it: its `run`
 * may be NULL, and `match` may contain several words, of which one must match.  Columns without any
 * value are omitted in text; estimates have the mark "~", lower bounds ">=".  In JSON an unknown
 * value is null.  Without rows the text is "" (in JSON "[]").  `options` NULL: text.  Free
 * `ret_text` with resmon_text_free(). RESMON_ENOENT: there is no such table; RESMON_EINVAL: an
 * argument is NULL, or the format is unknown; RESMON_ENOMEM. Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_table(const resmon_run *run, const char *table,
                                             const resmon_table_options *options, char **ret_text);

/* Formats of resmon_report_page(). */
#define RESMON_PAGE_HTML     0 /**< HTML report: one self-contained file */
#define RESMON_PAGE_MARKDOWN 1 /**< GitHub tables without charts, for a pull request */
#define RESMON_PAGE_DATA     2 /**< JSON, for other programs: see below */

/* Parts of RESMON_PAGE_DATA. */
#define RESMON_PAGE_FIGURES UINT64_C(1)
#define RESMON_PAGE_CHARTS  UINT64_C(2)
#define RESMON_PAGE_TABLES  UINT64_C(4)

/** Options of resmon_report_page().  Since 0.1. */
typedef struct resmon_page_options {
    size_t struct_size;
    const char *title; /**< default: the program and its host */
    uint64_t form;     /**< RESMON_PAGE_HTML, ... */
    uint64_t parts;    /**< parts of the data: RESMON_PAGE_FIGURES | ...; default: all */
    const char *plots; /**< more metrics with a chart, "gpu.temp,proc.threads"; default: none */
} resmon_page_options;

/**
 * Renders one or several runs as HTML, Markdown or JSON for people.
 * It has main values, charts with zoom, the tree of scopes, hot functions and flame graphs, energy,
 * unavailable values with reasons, and the overhead.  Several runs (nodes or processes of a job, or
 * runs to compare) are first shown together.  Text of a run never becomes markup or script, and the
 * report loads nothing from other servers.
 *
 * RESMON_PAGE_DATA is a JSON object.  All texts are for people, with units:
 *
 *     {"title", "runs": [RUN], "all": ALL}
 *     RUN    {"label", "seconds", "meta", "tiles": [TILE], "answers": [TILE], "charts": [CHART],
 *             "quiet", "tags": [[s, label]], "tables": [TABLE]}
 *     ALL    {"words", "meta", "offsets", "tiles": [TILE], "charts": [CHART], "tables": [TABLE]}
 *     TILE   [label, value, text]
 *     CHART  {"key", "title", "unit", "note", "missing", "has_points", "lines": [LINE]}
 *     LINE   {"key", "label", "colour", "is_level", "said", "run", "top", "times", "mean", "low",
 *             "high"}
 *     TABLE  {"key", "title", "headers", "left", "wide", "notes", "rows": [[CELL]]}
 *     CELL   text, {"text", "reason"} if missing, or {"text", "share", "inner"} with a bar
 *
 * - "all" compares several runs; with one run it is absent.
 * - "offsets": start of each run in s; null: unknown.
 * - "colour": below 0 for a limit; "is_level": 1 for a bound, which is not usage; "run": index of
 *   the run.
 *
 * `options` NULL: the defaults.  Free `ret_text` with resmon_text_free().
 * RESMON_EINVAL: no run, an argument or a run is NULL, or the format is unknown; RESMON_ENOENT: no
 * run has a metric of `plots`; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_page(const resmon_run *const *runs, size_t count,
                                            const resmon_page_options *options, char **ret_text);

/**
 * Writes the report of resmon_report_page() to a file, with its errors.
 * Path patterns, atomic replacement and further errors are those of resmon_run_save().
 * Without code: RESMON=html=run.html, or `resmon report FILE... -o run.html`.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_save(const resmon_run *const *runs, size_t count,
                                            const resmon_page_options *options, const char *path);

/** Options of the sinks "html" and "markdown", which write a report of a monitor's run:
 * resmon_monitor_add(monitor, "html", "path=run.html").  Also those of the sink "tensorboard",
 * whose path is a directory, and whose interval_ms is 10000 by default.  Since 0.1. */
typedef struct resmon_page_file_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< time between writes during the run, 1 ... 86400000; default 0:
                               only at stop */
} resmon_page_file_options;

/** Frees a text that the library returned; NULL is allowed.  Any thread.  Since 0.1. */
RESMON_API void resmon_text_free(char *text);

RESMON_END_DECLS

#endif
