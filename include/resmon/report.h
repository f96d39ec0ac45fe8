/* SPDX-License-Identifier: MIT */
/*
 * resmon/report.h - reports of runs: text, HTML and Markdown.
 */
#ifndef RESMON_REPORT_H
#define RESMON_REPORT_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/* How much a report says. */
#define RESMON_REPORT_BRIEF 0 /**< what is asked first, in one screen: see resmon_report_text() */
#define RESMON_REPORT_FULL  1 /**< all of it */
#define RESMON_REPORT_ROWS  2 /**< the rows of the brief one alone, for another page */

#define RESMON_REPORT_WIDTH       100 /**< columns of a line where nobody says otherwise */
#define RESMON_REPORT_LEAST_WIDTH 60  /**< fewer are refused */

/** How a report is to be.  Since 0.1. */
typedef struct resmon_report_options {
    size_t struct_size;
    uint64_t detail; /**< RESMON_REPORT_* */
    uint64_t width;  /**< columns of a line, at most; 0: RESMON_REPORT_WIDTH */
} resmon_report_options;

/**
 * A run as text.  Brief: a line that answers how long it took and what it cost; a row each for wall
 * time, CPU time, peak of memory, I/O, energy, GPUs, the slowest scope, and hot functions; a line
 * for each scope (of many, the 40 that took longest); what was asked for and is missing; what
 * observing cost.  In full: tables of its phases, of the run and of the machine, hot functions and
 * lines where stacks were taken (<resmon/stack.h>), lines with checkpoints (RESMON_LINE in
 * <resmon/scope.h>), what could not be measured and why, and what observing cost.  Human units,
 * plain UTF-8 text; what is wider than `width` is broken into lines, and of the brief report left
 * out.  Rows: those of the brief report with all of their clauses, a line each, separated by tabs:
 * "CPU\t1.095 s\t1.081 s user + 14.0 ms system\t0.63 CPUs on average"; the value may be "".
 * `options` NULL: brief.  Free `ret_text` with resmon_text_free().  RESMON_EINVAL, RESMON_ERANGE,
 * RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_text(const resmon_run *run,
                                            const resmon_report_options *options, char **ret_text);

/**
 * Where CPU time went and memory grew, line by line: tables in the form of line_profiler and
 * memory_profiler, with the source where its file can be read, for one function ("work"; of C++
 * without its parameters, too) or for the hot ones (`function` NULL).  Lines with checkpoints
 * (RESMON_LINE) come first, in tables of their own: these figures are exact, and hits and
 * occurrences are stretches between two checkpoints.  Of stacks, hits and occurrences are samples.
 * "Mem usage" is the process's RSS, which is read at checkpoints only: the highest at the second
 * one.  A line has what it called as well; functions come in the order of what is their own, where
 * what has no source that can be read (memset), or one of the system's headers (std::vector), is
 * its caller's.  Without code: RESMON=lines, or lines=work.  Free `ret_text` with
 * resmon_text_free(). RESMON_ENOENT: the run has neither stacks nor checkpoints, or none of that
 * function; RESMON_EINVAL, RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_lines(const resmon_run *run, const char *function,
                                             char **ret_text);

/* Forms of a page about runs. */
#define RESMON_PAGE_HTML     0 /**< one file for a browser, which needs nothing else */
#define RESMON_PAGE_MARKDOWN 1 /**< tables in GitHub's form, without charts, for a pull request */
#define RESMON_PAGE_DATA     2 /**< JSON, for whoever draws it otherwise: below */

/* Parts of a page's data. */
#define RESMON_PAGE_FIGURES UINT64_C(1)
#define RESMON_PAGE_CHARTS  UINT64_C(2)
#define RESMON_PAGE_TABLES  UINT64_C(4)

/** How a page about runs is to be.  Since 0.1. */
typedef struct resmon_page_options {
    size_t struct_size;
    const char *title; /**< default: what was run, and where */
    uint64_t form;     /**< RESMON_PAGE_HTML, ... */
    uint64_t parts;    /**< of the data: RESMON_PAGE_FIGURES | ...; default: all */
} resmon_page_options;

/**
 * One or several runs as a page for people: figures that answer first, charts to zoom into, the
 * tree of scopes, hot functions and flame graphs, energy, what could not be measured and why, and
 * what observing cost.  Several runs, nodes or processes of a job or runs to compare, are first
 * shown together.  Nothing from a run becomes markup or script, and the page asks nobody for
 * anything.
 *
 * As data it is {"title", "runs": [{"label", "seconds", "meta", "tiles" and "answers": [[label,
 * value, text]], "charts": [{"key", "title", "unit", "note", "missing", "has_points", "lines":
 * [{"key", "label", "colour" (below 0: a limit), "is_level" (1: a bound, not a use), "said", "run"
 * (its number), "top", "times", "mean", "low", "high"}]}], "quiet", "tags": [[s, label]], "tables":
 * [{"key", "title", "headers", "left", "wide", "notes", "rows"}]}], and of several runs "all" with
 * what compares them: "words", "meta", "offsets" (s, by run; null: not known), "tiles", "charts",
 * "tables"}.  Texts are for people, with units.  A cell of a table is a text; one that is missing
 * is
 * {"text", "reason"}, one with a bar {"text", "share", "inner"}.
 *
 * `options` NULL: the defaults.  Free `ret_text` with resmon_text_free().  RESMON_EINVAL: no run,
 * or one of them is NULL, or no such form; RESMON_ENOMEM; RESMON_ENOTSUP: built without
 * (RESMON_WITH_PAGE).  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_page(const resmon_run *const *runs, size_t count,
                                            const resmon_page_options *options, char **ret_text);

/** The page into a file, atomically as resmon_run_save(), whose `path` and failures it shares.
 * Without code: RESMON=html=run.html, or `resmon report FILE... -o run.html`.  Since 0.1. */
RESMON_API resmon_status resmon_report_save(const resmon_run *const *runs, size_t count,
                                            const resmon_page_options *options, const char *path);

/** A page of a monitor's run, by resmon_monitor_add(monitor, "html", "path=run.html"), or
 * "markdown".  Since 0.1. */
typedef struct resmon_page_file_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< the page so far is written this often, 1 ... 86400000; default 0:
                               only at stop */
} resmon_page_file_options;

/** Frees a text; NULL is fine.  Any thread.  Since 0.1. */
RESMON_API void resmon_text_free(char *text);

RESMON_END_DECLS

#endif
