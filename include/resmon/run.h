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

#include <resmon/status.h>

RESMON_BEGIN_DECLS

typedef struct resmon_run resmon_run;

/* How a figure came about. */
#define RESMON_PROVENANCE_NONE     0 /**< not known; the reason says why */
#define RESMON_PROVENANCE_MEASURED 1 /**< read from a counter that is exact */
#define RESMON_PROVENANCE_SAMPLED  2 /**< looked at now and then: peaks in between may be missed */
#define RESMON_PROVENANCE_MODELLED 3 /**< computed from other figures by a model */
#define RESMON_PROVENANCE_SHARED   4 /**< a share of something that others use too */

/**
 * Loads a run document or a recording; the content decides which.  A recording of a program that
 * is still running gives what it has recorded so far; that it runs is seen on the same host and in
 * the same namespace of processes, else it counts as interrupted.
 * RESMON_ENOENT, RESMON_EACCES: the file cannot be opened; RESMON_EFORMAT: it is neither, or
 * damaged; RESMON_EVERSION: made by an incompatible version; RESMON_ENOTSUP: a document, and this
 * build has no JSON (cJSON); RESMON_EBUSY: a recording that changes too fast to be read, try again;
 * RESMON_EIO, RESMON_ENOMEM.  Free the run with resmon_run_free().
 * Thread class: any thread.  Since 0.1.
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
 * then renamed over `path`.  On failure (RESMON_ENOSPC, RESMON_EACCES, RESMON_EIO, RESMON_ENOTSUP)
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
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOTSUP: this build has no JSON (cJSON);
 * RESMON_ERANGE: it would be longer than the 1 GiB that can be loaded; RESMON_ENOMEM.
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

/** What there is to know about a run as a whole.  Set struct_size before the call.  Since 0.1. */
typedef struct resmon_run_info {
    size_t struct_size;
    const char *state;         /**< "running", "stopped", or "interrupted": killed before stop */
    const char *label;         /**< set by resmon_monitor_set_label(); "" by default */
    int64_t start_realtime_ns; /**< start, nanoseconds since 1970-01-01 UTC */
    int64_t duration_ns;       /**< from start to stop, or to the last sample */
    uint64_t samples;          /**< taken */
    uint64_t stride;           /**< samples per full row of the table: a power of two */
    uint64_t late_samples;     /**< deadlines that had passed when the sampler woke */
    uint64_t sampler_cpu_ns;   /**< CPU time of the sampling thread */
    uint64_t sampler_wall_ns;  /**< time spent taking samples */
    double scopes_ns;          /**< estimated time that scopes added to the program */
    uint64_t memory_bytes;     /**< size of the run block, fixed at start */
    uint64_t dropped_tags;     /**< overwritten by later ones */
    uint64_t dropped_threads;  /**< threads that found no slot for their scopes */
    uint64_t dropped_scopes;   /**< scope instances past a bound */
    uint64_t dropped_rows;     /**< rows that the delivery queue to the sinks refused */
    uint64_t dropped_events;   /**< scope instances overwritten by later ones (max_events) */
    uint64_t dropped_lines;    /**< places of RESMON_LINE() past the first 256 */
} resmon_run_info;

/** RESMON_EINVAL on NULL or a short struct_size.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_info(const resmon_run *run, resmon_run_info *ret_info);

/**
 * A fact of the run: groups "run", "machine", "job" (of the process that recorded, see
 * <resmon/job.h>; none without a job), "settings"; keys as in the run document.
 * NULL when there is no such fact.  Any thread.  Since 0.1.
 */
RESMON_API const char *resmon_run_fact(const resmon_run *run, const char *group, const char *key);

/** One of the facts.  Since 0.1. */
typedef struct resmon_run_fact_entry {
    size_t struct_size;
    const char *group;
    const char *key;
    const char *value; /**< as text */
    int32_t is_number; /**< 1: the text of a JSON number */
    int32_t reserved;
} resmon_run_fact_entry;

/** How many facts a run has.  Since 0.1. */
RESMON_API size_t resmon_run_fact_count(const resmon_run *run);

/** Fact `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_fact(const resmon_run *run, size_t index,
                                             resmon_run_fact_entry *ret_fact);

/** A mark that the program set.  Since 0.1. */
typedef struct resmon_run_tag {
    size_t struct_size;
    int64_t t_ns; /**< since start */
    const char *label;
} resmon_run_tag;

/** How many tags are kept (the newest; info.dropped_tags says how many are not).  Since 0.1. */
RESMON_API size_t resmon_run_tag_count(const resmon_run *run);

/** Tag `index`, oldest first; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_tag(const resmon_run *run, size_t index,
                                            resmon_run_tag *ret_tag);

/** A source of numbers: one file or call that columns are read from.  Since 0.1. */
typedef struct resmon_run_source {
    size_t struct_size;
    const char *name;
    resmon_status status; /**< RESMON_OK: available; RESMON_ENODEV: of hardware that is not there,
                               which the summary leaves out; else the code of what is wrong */
    int32_t provenance;   /**< RESMON_PROVENANCE_* of its figures */
    const char *reason;   /**< why it is not available, or what to know about it; "" if nothing */
    uint64_t reads;
    uint64_t failures;
    uint64_t cost_ns;     /**< time spent reading it */
    uint64_t cost_max_ns; /**< by the slowest reading */
    uint64_t every;       /**< read at every k-th sample, to stay inside max_overhead */
} resmon_run_source;

RESMON_API size_t resmon_run_source_count(const resmon_run *run);

/** Source `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_source(const resmon_run *run, size_t index,
                                               resmon_run_source *ret_source);

/** A call path of scopes, all threads together.  Times in nanoseconds.  Since 0.1. */
typedef struct resmon_run_scope {
    size_t struct_size;
    const char *name;
    const char *file;     /**< tail of the path of the first site with this name and path */
    const char *function; /**< "" for scopes begun by name */
    uint64_t line;
    int64_t parent;   /**< index of the enclosing scope; -1 at the top */
    uint64_t depth;   /**< 0 at the top */
    uint64_t calls;   /**< finished instances; direct recursion counts once, in `folded` */
    uint64_t folded;  /**< direct recursions inside those */
    uint64_t open;    /**< instances not finished at the end of the run, or when it was killed */
    uint64_t threads; /**< threads that visited it */
    double wall_ns;   /**< inclusive, summed over calls and threads; open instances left out */
    double self_ns;   /**< wall_ns and open_ns without the scopes inside */
    double wall_min_ns, wall_max_ns, wall_stddev_ns; /**< per call; NaN without enough calls */
    double open_ns; /**< time that the open instances have lasted; of a killed program, until the
                         latest moment of which something is known: the last sample, or what ended
                         in scopes after it */
    uint64_t cpu_calls;   /**< instances whose CPU time was taken (not all when throttled) */
    double cpu_ns;        /**< CPU time of the thread, of all calls; NaN: not metered */
    uint64_t io_calls;    /**< instances whose I/O was taken */
    double io_read_bytes; /**< of the whole process while in the scope, less what this library
                             itself read and wrote; instances that overlap each count it all; NaN:
                             not metered.  _bytes: from and to storage, _chars: of read and write
                               calls, in B */
    double io_write_bytes;
    double io_read_chars;
    double io_write_chars;
    uint64_t rss_calls;     /**< instances whose peak was taken */
    double rss_peak_bytes;  /**< highest RSS of the process in any instance; NaN: not metered */
    int32_t cpu_provenance; /**< MEASURED, or SAMPLED when some were taken, and scaled by the
                                 time that they and all instances lasted */
    int32_t io_provenance;
    int32_t rss_provenance; /**< MEASURED: exact; SAMPLED: an instance was missed or only sampled */
    int32_t energy_provenance; /**< SHARED: of a machine that is measured; MODELLED: of another */
    double energy_j; /**< of the process tree's energy (resmon/energy.h says how), with the
                          scopes inside; NaN: not known */
    double energy_uncertainty_j; /**< by which that may be wrong because the scope began or ended
                                      between two samples, or was not alone; power that varies from
                                      nothing to twice its mean is assumed */
    double energy_gco2eq;        /**< energy_j / 3.6e6 * pue * g_per_kwh; NaN: not known */
    uint64_t counter_calls;      /**< instances whose performance counters were read */
    double counter_running;      /**< share of their time in which the counters ran, 0 ... 1; counts
                                      are scaled to all of it; NaN: not counted */
    int32_t counter_provenance;  /**< MEASURED, or SAMPLED when scaled, by either */
    int32_t reserved;
} resmon_run_scope;

RESMON_API size_t resmon_run_scope_count(const resmon_run *run);

/** Scope `index` in preorder: parents before children.  RESMON_ENOENT past the end.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_scope(const resmon_run *run, size_t index,
                                              resmon_run_scope *ret_scope);

/** A line with a checkpoint (RESMON_LINE in <resmon/scope.h>, which says where stretches begin):
 * the stretches that ended there, in all threads.  Stretches of one function do not overlap in a
 * thread; those of a function that it calls lie inside of its own.  Since 0.1. */
typedef struct resmon_run_line {
    size_t struct_size;
    const char *file; /**< as the compiler was told; its first 191 bytes */
    const char *function;
    uint64_t line;
    uint64_t hits;     /**< stretches */
    uint64_t rss_hits; /**< of those, with the RSS known at both ends */
    double wall_ns;    /**< that they took together */
    double rss_bytes; /**< by which the process's RSS grew meanwhile, less than 0 when it shrank; of
                           threads that ran at once, each has all of it.  NaN: not known */
    double rss_max_bytes; /**< the process's RSS when the line was passed, the highest of all times;
                               NaN: not known */
} resmon_run_line;

RESMON_API size_t resmon_run_line_count(const resmon_run *run);

/** Line `index`, in the order of first visits; RESMON_ENOENT past the end.  Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_line(const resmon_run *run, size_t index,
                                             resmon_run_line *ret_line);

/** A performance counter of scopes (see scope_counters in <resmon/monitor.h>).  Since 0.1. */
typedef struct resmon_run_counter {
    size_t struct_size;
    const char *name;     /**< of the event */
    const char *unit;     /**< "1", or "s" */
    const char *reason;   /**< why it is not counted, or what it stands for; "" if nothing */
    resmon_status status; /**< RESMON_OK: it is counted */
    int32_t reserved;
} resmon_run_counter;

/** How many counters scopes have; 0 when none were asked for.  Since 0.1. */
RESMON_API size_t resmon_run_counter_count(const resmon_run *run);

/** Counter `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_counter(const resmon_run *run, size_t index,
                                                resmon_run_counter *ret_counter);

/**
 * What scope `scope` counted of counter `counter`, of all its calls, on its own threads and with
 * the scopes inside; NaN: it is not known.  RESMON_ENOENT: there is no such scope or counter.
 * Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_scope_counter(const resmon_run *run, size_t scope,
                                                  size_t counter, double *ret_value);

/** One instance of a scope; direct recursion is part of its outermost one.  Since 0.1. */
typedef struct resmon_run_event {
    size_t struct_size;
    const char *name;        /**< of the scope */
    const char *thread_name; /**< "" when not known */
    uint64_t thread_id;      /**< the kernel's number of the thread */
    int64_t start_ns;        /**< since the start of the run */
    int64_t duration_ns;     /**< of one that is open: until the end of the run */
    uint64_t depth;          /**< 0: outermost */
    uint64_t is_open;        /**< 1: not finished at the end of the run, or when it was killed */
} resmon_run_event;

/** How many scope instances are kept one by one: the newest of each thread, as many as the
 * monitor's max_events (info.dropped_events says how many are not).  Since 0.1. */
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
