/* SPDX-License-Identifier: MIT */
/*
 * resmon/run.h - a run: the results of a monitor, as an immutable object.
 *
 *     resmon_run *run;
 *     if (resmon_run_load("run.json", &run) == RESMON_OK) {
 *         for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
 *             resmon_run_scope scope = {.struct_size = sizeof scope};
 *             if (resmon_run_get_scope(run, i, &scope) == RESMON_OK) {
 *                 printf("%*s%s %.3f s\n", (int)scope.depth, "", scope.name, scope.wall_ns / 1e9);
 *             }
 *         }
 *         resmon_run_free(run);
 *     }
 *
 * resmon_monitor_snapshot() makes a run from a monitor that runs or has stopped.
 * resmon_run_load() and resmon_run_parse() read a run document (JSON), or the recording
 * (record=FILE) of a program that was killed.  The accessors are the same for all runs.
 *
 * Strings and arrays that accessors return belong to the run and live as long as it does.  A run
 * never changes: any number of threads may read it at once.
 *
 * Accessors that fill in a structure return RESMON_EINVAL if the run or the structure is NULL, or
 * if its struct_size is wrong.  Counts are 0 if the run is NULL.
 *
 * CPU time of the process and its descendants (pcpu_ns of scopes) is the sum of:
 *
 * - the CPU clock of the process, which includes the threads of this library;
 * - the CPU time of children that were waited for, and of the children these had waited for;
 * - the CPU clocks of up to 64 living descendants.
 *
 * A child that is started and waited for within an instance is included exactly.  Other descendants
 * are known from the last sample of the tree (RESMON_DOMAIN_TREE; a sample each interval_ms).  CPU
 * time of a descendant started after that sample is missing until the next sample, or until the
 * descendant is waited for.  CPU time of children that a descendant has waited for is as old as
 * that sample.  The value is SAMPLED if descendants lived at the begin or end of an instance.
 * Descendants that nobody waits for (SIGCHLD ignored, orphans) count while they live, and again
 * from the sample after their end.
 *
 * Estimates (resmon_estimate) of CPU time, I/O and counters: to stay below max_meter_share
 * (<resmon/monitor.h>), a per-scope metric may be measured in a random subset of the calls.  Call i
 * is measured with probability p_i, which is fixed before the call.  Its amount x_i is predicted as
 * r_i e_i from the measured calls before it; e_i is the wall time of the call (CPU time, counters)
 * or 1 (I/O).
 *
 *     T = sum over all calls of r_i e_i + sum over measured calls of (x_i - r_i e_i) / p_i
 *     V = sum over measured calls of (1 - p_i) (x_i - r_i e_i)^2 / p_i^2
 *
 * T estimates the sum over all calls and V the variance of T, both without bias: a difference
 * estimator on Horvitz-Thompson sampling (Saerndal, Swensson, Wretman, Model Assisted Survey
 * Sampling, 1992, section 6.3).  T is exact if the amount is the same in each call (I/O), or in
 * each second (CPU time, counters).  The 95 % confidence interval is
 * T +- t(0.975, n - 1) sqrt(V), where n is the effective number of summands of V.
 *
 * Bounds: the value and both ends are at least the sum of the measured calls.  They are at most the
 * value of the nearest enclosing scope with all calls measured (siblings: their sum).  CPU time of
 * a thread is at most its wall time.  The high end is this upper bound, or NaN (not known), in two
 * cases:
 *
 * - fewer than 30 calls were measured with a probability below 1;
 * - no call of some thread was measured (counters that could not be opened).  These calls are
 *   assumed to have the same amount per second or per call.
 *
 * Tables of this library show "-" if the interval is wider than the value.
 */
#ifndef RESMON_RUN_H
#define RESMON_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/records.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** A run.  Since 0.1. */
typedef struct resmon_run resmon_run;

/**
 * Returns the name of a provenance (RESMON_PROVENANCE_*): "measured", "sampled", ...; "" for other
 * numbers.  Static string.  Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API const char *resmon_provenance_name(int32_t provenance);

/**
 * Loads a run document or a recording; the content decides which.
 * The recording of a program that still runs contains the data so far.  Whether it runs can be
 * determined only on the same host and in the same PID namespace; elsewhere it counts as
 * interrupted.  A document with state "running" becomes "interrupted" if its program is known to
 * be gone.
 * Stacks without names (in a recording, or in a document written while the program ran) are
 * symbolized here, if the files of the program are unchanged.
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOENT, RESMON_EACCES: the file cannot be opened;
 * RESMON_EFORMAT: the file is neither a document nor a recording, or is damaged; RESMON_EVERSION:
 * an incompatible version made it; RESMON_ENOTSUP: it is a document, and this build cannot read
 * JSON (no cJSON); RESMON_EBUSY: the recording changes too fast to be read, try again; RESMON_EIO:
 * reading failed; RESMON_ENOMEM: out of memory.
 * Free the run with resmon_run_free().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_load(const char *path, resmon_run **ret_run);

/**
 * Loads a run document or a recording from memory; the content decides which.
 * `data` has `bytes` bytes and needs no final '\0' and no alignment.  It may be freed or changed
 * after this call.
 * A recording must have been copied when no program wrote to it any more, because a copy may
 * otherwise mix several moments.  It is therefore refused while its program is known to run (see
 * resmon_run_load(), which reads the file consistently).
 * RESMON_EINVAL: an argument is NULL; RESMON_EFORMAT: neither a document nor a recording, damaged,
 * or more than 1 GiB; RESMON_EVERSION, RESMON_ENOTSUP: as resmon_run_load(); RESMON_EBUSY: the
 * recording is of a program that still runs; RESMON_ENOMEM: out of memory.
 * Free the run with resmon_run_free().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_parse(const void *data, size_t bytes, resmon_run **ret_run);

/**
 * Writes the run as a run document, atomically.
 * It writes a temporary file in the same directory, syncs it, and renames it to `path`.  On failure
 * an existing document at `path` is unchanged.
 * In `path`, these are replaced (see <resmon/job.h>):
 *
 * - "%p": the process id; "%h": the host name;
 * - "%j": the job id, or "nojob"; "%n": the node name, or else the host name;
 * - "%r": the rank, or 0; "%%": a '%'.
 *
 * In the inserted texts, '_' replaces every character except letters, digits and "._+=-".
 * RESMON_EINVAL: an argument is NULL, or `path` is too long or has another '%'; RESMON_ENOSPC: the
 * disk is full; RESMON_ENOENT, RESMON_EACCES: the directory does not exist or is not writable;
 * RESMON_EIO: writing failed.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save(const resmon_run *run, const char *path);

/**
 * Returns the run document as text: the same bytes that resmon_run_save() writes, in UTF-8, with a
 * '\0' at the end.  Free `ret_text` with resmon_text_free() (<resmon/report.h>).
 * RESMON_EINVAL: an argument is NULL; RESMON_ERANGE: the text is longer than 1 GiB, the most that
 * can be loaded; RESMON_ENOMEM: out of memory.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_document(const resmon_run *run, char **ret_text);

/**
 * Writes the table of the run as comma-separated values, atomically.
 * The columns are described in a second file (see resmon_csv_options in <resmon/sink.h>).  A row
 * has the mean, minimum and maximum of each gauge, and the growth since the start of each counter.
 * `path` and errors as resmon_run_save().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_csv(const resmon_run *run, const char *path);

/** Frees a run; NULL is allowed.  Any thread, after the last use of the run.  Since 0.1. */
RESMON_API void resmon_run_free(resmon_run *run);

/** Gets the state, duration, overhead and drop counters of a run.  RESMON_EINVAL: an argument is
 * NULL, or struct_size is wrong.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_info(const resmon_run *run, resmon_run_info *ret_info);

/**
 * Returns a fact of the run as text; NULL if there is no such fact.
 * Groups: "run", "machine", "job", "settings", "energy"; keys as in the run document.  "job" is the
 * job of the recording process (<resmon/job.h>); no facts without a job.  Any thread.  Since 0.1.
 */
RESMON_API const char *resmon_run_fact(const resmon_run *run, const char *group, const char *key);

/** Returns the number of facts of a run.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_fact_count(const resmon_run *run);

/** Gets fact `index`.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_fact(const resmon_run *run, size_t index,
                                             resmon_run_fact_entry *ret_fact);

/** Returns the number of tags that are kept: the newest ones (resmon_run_info.dropped_tags counts
 * the others).  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_tag_count(const resmon_run *run);

/** Gets tag `index`, oldest first.  RESMON_ENOENT: `index` is past the end.  Any thread.
 * Since 0.1. */
RESMON_API resmon_status resmon_run_get_tag(const resmon_run *run, size_t index,
                                            resmon_run_tag *ret_tag);

/** Returns the number of processes with entries of their own: joined recordings
 * (resmon_monitor_join()), or processes seen from outside (RESMON_FLAG_EACH).  0 for most runs.
 * Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_process_count(const resmon_run *run);

/** Gets process `index`, in the order in which they were added.  RESMON_ENOENT: `index` is past the
 * end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_process(const resmon_run *run, size_t index,
                                                resmon_run_process *ret_process);

/** Returns the number of nodes of a merged run (<resmon/merge.h>); 0 for other runs.  Any thread.
 * Since 0.1. */
RESMON_API size_t resmon_run_node_count(const resmon_run *run);

/** Gets node `index`, in the order of the job.  RESMON_ENOENT: `index` is past the end.  Any
 * thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_node(const resmon_run *run, size_t index,
                                             resmon_run_node *ret_node);

/** Returns the number of ranks of a merged run; 0 for other runs.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_rank_count(const resmon_run *run);

/** Gets rank `index`, in the order of ranks.  RESMON_ENOENT: `index` is past the end.  Any thread.
 * Since 0.1. */
RESMON_API resmon_status resmon_run_get_rank(const resmon_run *run, size_t index,
                                             resmon_run_rank *ret_rank);

/** Returns the number of sources that the run was read from.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_source_count(const resmon_run *run);

/** Gets source `index`: its provenance, cost and status.  RESMON_ENOENT: `index` is past the end.
 * Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_source(const resmon_run *run, size_t index,
                                               resmon_run_source *ret_source);

/** Returns the number of call paths of scopes.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_scope_count(const resmon_run *run);

/** Gets scope `index` in preorder: parents before children.  RESMON_ENOENT: `index` is past the
 * end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_scope(const resmon_run *run, size_t index,
                                              resmon_run_scope *ret_scope);

/** Gets the imbalance of scope `index` between the ranks of a merged run; `ranks` is 0 for other
 * runs.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_scope_spread(const resmon_run *run, size_t index,
                                                     resmon_scope_spread *ret_spread);

/** Returns the wall time of scope `index` (wall_ns, open_ns included) in each rank, in ns; NaN for
 * a rank without the scope.  NULL: there is no such scope, or the run is not merged.  Any thread.
 * Since 0.1. */
RESMON_API const double *resmon_run_scope_walls(const resmon_run *run, size_t index);

/** Returns the number of different scope names of a run.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_scope_name_count(const resmon_run *run);

/**
 * Gets the sum of all scopes with one name, on any call path, as one top-level scope (parent -1).
 * Recursion through other scopes makes a path of each depth.  The name with the longest self time
 * is first.
 *
 * calls, folded, open and self_ns are sums over all paths.  Inclusive values (wall_ns, open_ns, CPU
 * time, I/O, energy, counters) are sums over the paths that are not inside a scope of the same
 * name, so no time counts twice.  A scope that ran beside another one (concurrent_ns) is not inside
 * it, except for energy.  Shortest call, longest call and peak are over all paths.  If there are
 * several paths, threads is the highest value of a path, and wall_stddev_ns is NaN.
 * RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_scope_name(const resmon_run *run, size_t index,
                                                   resmon_run_scope *ret_scope);

/** Returns the number of lines with a checkpoint (RESMON_LINE()).  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_line_count(const resmon_run *run);

/** Gets line `index`, in the order of first visits.  RESMON_ENOENT: `index` is past the end.  Any
 * thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_line(const resmon_run *run, size_t index,
                                             resmon_run_line *ret_line);

/** Returns the number of performance counters of scopes; 0 if none was requested.  Any thread.
 * Since 0.1. */
RESMON_API size_t resmon_run_counter_count(const resmon_run *run);

/** Gets counter `index`.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_counter(const resmon_run *run, size_t index,
                                                resmon_run_counter *ret_counter);

/** Returns the number of scope instances that are kept one by one: the newest of each thread, up to
 * the monitor's option `events` (resmon_run_info.dropped_events counts the others).  Any thread.
 * Since 0.1. */
RESMON_API size_t resmon_run_event_count(const resmon_run *run);

/** Gets event `index`, ordered by thread id, then start; outer scopes first.  RESMON_ENOENT:
 * `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_event(const resmon_run *run, size_t index,
                                              resmon_run_event *ret_event);

/* Series of a column, for resmon_run_series() in <resmon/table.h>. */
#define RESMON_SERIES_LAST 0 /**< gauge: last reading of the row; counter: growth since start */
#define RESMON_SERIES_MIN  1 /**< gauge: lowest reading; counter: lowest rate per second */
#define RESMON_SERIES_MAX  2 /**< gauge: highest reading; counter: highest rate per second */
#define RESMON_SERIES_MEAN 3 /**< gauge: time-weighted mean; counter: mean rate per second */
/** The series of a plain table, as in resmon_run_save_csv(): MEAN of a gauge, LAST of a counter. */
#define RESMON_SERIES_VALUE 4

RESMON_END_DECLS

#endif
