/* SPDX-License-Identifier: MIT */
/*
 * resmon/run.h - a run: what was recorded, as an immutable object.
 *
 * resmon_monitor_snapshot() makes one of a monitor that runs or has stopped, resmon_run_load() and
 * resmon_run_parse() one of a run document (JSON) or of the recording (record=FILE) of a program
 * that was killed.  All accessors take the same object, wherever it came from.
 *
 * What the accessors return belongs to the run and lives as long as it does.  A run never changes:
 * any number of threads may read it at once.
 */
#ifndef RESMON_RUN_H
#define RESMON_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

typedef struct resmon_run resmon_run;

/** How figures come about: "measured", "sampled", ... of RESMON_PROVENANCE_*; "" of another number.
 * Static string.  Thread class: any thread, async-signal-safe.  Since 0.1. */
RESMON_API const char *resmon_provenance_name(int32_t provenance);

/**
 * Loads a run document or a recording; the content decides which.  A recording of a program that
 * is still running gives what it has recorded so far; that it runs is seen on the same host and in
 * the same namespace of processes, else it counts as interrupted.  So does a document of a run that
 * was never finished ("running"), when it is seen there that the program is gone.
 * Stacks that have no names yet, as of a recording or of a document that was written while its
 * program ran, get them here, if their files are the same ones still.
 * RESMON_ENOENT, RESMON_EACCES: the file cannot be opened; RESMON_EFORMAT: it is neither, or
 * damaged; RESMON_EVERSION: made by an incompatible version; RESMON_ENOTSUP: a document, and this
 * build cannot read JSON (no cJSON); RESMON_EBUSY: a recording that changes too fast to be read,
 * try again; RESMON_EIO, RESMON_ENOMEM.  Free the run with resmon_run_free(). Thread class: any
 * thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_load(const char *path, resmon_run **ret_run);

/**
 * Loads a run document or a recording from `bytes` bytes of memory, which need no final '\0' and no
 * alignment, and may be freed or changed once this has returned; the content decides which.
 * A recording must have been copied when nobody wrote it any more: while the program that records
 * into it runs (as far as that is seen, see resmon_run_load()) the copy is refused, since it may be
 * a mixture of several moments; resmon_run_load() of the file makes sure that it is none.
 * RESMON_EINVAL: an argument is NULL; RESMON_EFORMAT: neither of the two, damaged, or more than
 * 1 GiB; RESMON_EVERSION, RESMON_ENOTSUP: as resmon_run_load(); RESMON_EBUSY: a recording of a
 * program that still runs; RESMON_ENOMEM.  Free the run with resmon_run_free().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_parse(const void *data, size_t bytes, resmon_run **ret_run);

/**
 * Writes the run as a run document, atomically: a temporary file in the same directory, synced,
 * then renamed over `path`.  On failure (RESMON_ENOSPC, RESMON_EACCES, RESMON_EIO)
 * a document that was there before is still there, whole.
 * In the path become "%p" the process id, "%h" the host name, "%j" the id of the job or "nojob",
 * "%n" the name of the node or else of the host, "%r" the rank or 0 (see <resmon/job.h>), "%%" a
 * '%'; in what they become, all but letters, digits and "._+=-" is '_'.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save(const resmon_run *run, const char *path);

/**
 * The run document as text: byte for byte what resmon_run_save() writes, with a '\0' behind it, in
 * UTF-8.  Free `ret_text` with resmon_text_free() (<resmon/report.h>).
 * RESMON_EINVAL: an argument is NULL; RESMON_ERANGE: it would be longer than the 1 GiB that can be
 * loaded; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_document(const resmon_run *run, char **ret_text);

/**
 * Writes the table of the run as comma-separated values, atomically, and its columns to a second
 * file (see resmon_csv_options in <resmon/sink.h>).  A row's gauges are given by their mean, lowest
 * and highest reading, counters by their growth since the start.
 * `path` and failures as resmon_run_save().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_csv(const resmon_run *run, const char *path);

/** Frees a run; NULL is fine.  Any thread, once nobody uses it.  Since 0.1. */
RESMON_API void resmon_run_free(resmon_run *run);

/** RESMON_EINVAL on NULL or a short struct_size.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_info(const resmon_run *run, resmon_run_info *ret_info);

/**
 * A fact of the run: groups "run", "machine", "job" (of the process that recorded, see
 * <resmon/job.h>; none without a job), "settings"; keys as in the run document.
 * NULL when there is no such fact.  Any thread.  Since 0.1.
 */
RESMON_API const char *resmon_run_fact(const resmon_run *run, const char *group, const char *key);

/** How many facts a run has.  Since 0.1. */
RESMON_API size_t resmon_run_fact_count(const resmon_run *run);

/** Fact `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_fact(const resmon_run *run, size_t index,
                                             resmon_run_fact_entry *ret_fact);

/** How many tags are kept (the newest; info.dropped_tags says how many are not).  Since 0.1. */
RESMON_API size_t resmon_run_tag_count(const resmon_run *run);

/** Tag `index`, oldest first; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_tag(const resmon_run *run, size_t index,
                                            resmon_run_tag *ret_tag);

/** How many processes recorded for themselves and were joined (resmon_monitor_join()); 0 of most
 * runs.  Since 0.1. */
RESMON_API size_t resmon_run_process_count(const resmon_run *run);

/** Process `index`, in the order in which they were joined; RESMON_ENOENT past the end.  Any
 * thread. Since 0.1. */
RESMON_API resmon_status resmon_run_get_process(const resmon_run *run, size_t index,
                                                resmon_run_process *ret_process);

/** How many nodes a merged run has (<resmon/merge.h>); 0 of others.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_node_count(const resmon_run *run);

/** Node `index`, as its job counts them; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_node(const resmon_run *run, size_t index,
                                             resmon_run_node *ret_node);

/** How many ranks a merged run has; 0 of others.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_rank_count(const resmon_run *run);

/** Rank `index`, in their order; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_rank(const resmon_run *run, size_t index,
                                             resmon_run_rank *ret_rank);

RESMON_API size_t resmon_run_source_count(const resmon_run *run);

/** Source `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_source(const resmon_run *run, size_t index,
                                               resmon_run_source *ret_source);

/*
 * CPU time of the process and its descendants: the process's clock (the threads of this library are
 * in it), what children have used that were waited for, with what these had waited for, and the
 * clocks of up to 64 descendants that live.  A child that is started and waited for within an
 * instance is in it exactly.  Of descendants that live at its ends, the tree's last sample (with
 * RESMON_DOMAIN_TREE; a sample each interval_ms) says which there are: what a younger one used is
 * missed until the next sample, or counts when it is waited for; what they themselves have waited
 * for is as old as that sample.  The figure is SAMPLED where there were such.  Those that nobody
 * waits for (SIGCHLD ignored, orphans) count as long as they live, and by the next sample again.
 */

/*
 * Estimates of CPU time, I/O and counters.  To keep to max_meter_share (<resmon/monitor.h>), a
 * meter may be taken at some of the calls only.  These are drawn at random, call i with a chance
 * p_i that was fixed before it.  Each call's amount x_i is predicted as r_i e_i from the metered
 * calls before it, where e_i is the call's wall time (of CPU times and counters) or 1 (of I/O); and
 *
 *     T = sum over all calls of r_i e_i + sum over metered calls of (x_i - r_i e_i) / p_i
 *     V = sum over metered calls of (1 - p_i) (x_i - r_i e_i)^2 / p_i^2
 *
 * estimate the sum over all calls and the variance of T, both without bias (a difference estimator
 * on Horvitz-Thompson sampling: Saerndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992,
 * section 6.3); an amount that is the same in each call (in each second, of CPU time and counters)
 * is found exactly.  The interval is T +- t(0.975, n - 1) sqrt(V), where n is how many of the
 * summands of V matter.  Figures and ends are never below the sum of the metered calls, nor above
 * what the nearest scope around that was metered at each call has (siblings: all together), nor is
 * a thread's CPU time above its wall time.  With fewer than 30 calls that were drawn with a chance
 * below 1, the high end is that bound, or NaN: not known; so it is where a thread's calls were
 * never metered (counters that could not be opened), which are taken to go with their time or
 * number.  Where the interval is wider than the figure, tables of this library show "-".
 */

RESMON_API size_t resmon_run_scope_count(const resmon_run *run);

/** Scope `index` in preorder: parents before children.  RESMON_ENOENT past the end.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_scope(const resmon_run *run, size_t index,
                                              resmon_run_scope *ret_scope);

/** How evenly the ranks of a merged run took their time in scope `index`; `ranks` is 0 in others.
 * RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_scope_spread(const resmon_run *run, size_t index,
                                                     resmon_scope_spread *ret_spread);

/** Wall times of scope `index` (wall_ns and open_ns) by rank, as many as there are ranks; NaN of
 * those that were not in it.  NULL: no such scope, or no merged run.  Any thread.  Since 0.1. */
RESMON_API const double *resmon_run_scope_walls(const resmon_run *run, size_t index);

/** How many names the scopes of a run have.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_scope_name_count(const resmon_run *run);

/**
 * The scopes of one name, wherever they stand in the tree, as if they were one at the top (parent
 * -1): recursion through other scopes makes a path of each depth.  That with the most self time is
 * the first.
 *
 * Calls, folded, open and self_ns are sums over all paths.  wall_ns, open_ns, CPU time, I/O, energy
 * and counters, which hold what is inside of a scope, are sums over those paths on which no scope
 * of the same name is further out: no time counts twice.  What ran beside a scope (concurrent_ns)
 * was not inside of it, but for its energy.  Shortest, longest and the peak are those of all;
 * threads are those of the path that has most, and wall_stddev_ns is NaN, where there are several.
 * RESMON_ENOENT past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_scope_name(const resmon_run *run, size_t index,
                                                   resmon_run_scope *ret_scope);

RESMON_API size_t resmon_run_line_count(const resmon_run *run);

/** Line `index`, in the order of first visits; RESMON_ENOENT past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_line(const resmon_run *run, size_t index,
                                             resmon_run_line *ret_line);

/** How many counters scopes have; 0 when none were asked for.  Since 0.1. */
RESMON_API size_t resmon_run_counter_count(const resmon_run *run);

/** Counter `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_counter(const resmon_run *run, size_t index,
                                                resmon_run_counter *ret_counter);

/** How many scope instances are kept one by one: the newest of each thread, as many as the
 * monitor's events (info.dropped_events says how many are not).  Since 0.1. */
RESMON_API size_t resmon_run_event_count(const resmon_run *run);

/** Event `index`: by thread id, then start, outer scopes first.  RESMON_ENOENT past the end.
 * Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_event(const resmon_run *run, size_t index,
                                              resmon_run_event *ret_event);

/* Which series of a column: indexes for resmon_run_series() in <resmon/table.h>. */
#define RESMON_SERIES_LAST 0 /**< gauge: last reading of the row; counter: growth since start */
#define RESMON_SERIES_MIN  1 /**< gauge: lowest reading; counter: lowest rate per second */
#define RESMON_SERIES_MAX  2 /**< gauge: highest reading; counter: highest rate per second */
#define RESMON_SERIES_MEAN 3 /**< gauge: time-weighted mean; counter: mean rate per second */
/** What a plain table shows: MEAN of a gauge, LAST of a counter, as resmon_run_save_csv().  These
 * are the very numbers of that series, not others. */
#define RESMON_SERIES_VALUE 4

RESMON_END_DECLS

#endif
