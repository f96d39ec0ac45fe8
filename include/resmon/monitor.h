/* SPDX-License-Identifier: MIT */
/*
 * resmon/monitor.h - the object that observes: new, start, stop, free.
 *
 *     resmon_monitor *monitor;
 *     if (resmon_monitor_new(NULL, &monitor) == RESMON_OK &&
 *         resmon_monitor_start(monitor) == RESMON_OK) {
 *         work();
 *         resmon_monitor_stop(monitor);
 *         resmon_monitor_save(monitor, "run.json");
 *     }
 *     resmon_monitor_free(monitor);
 *
 * A monitor samples from a thread of its own, which no signal of the program can reach; the first
 * sample is taken by start, the last by stop, so that a run of 1 ms has a summary.  Memory is fixed
 * at start for a run of any length.  Several monitors may run at once; at most one of them owns the
 * scopes (see <resmon/scope.h>).
 *
 * In the child of a fork every handle is inert: calls return RESMON_ESTATE, free releases memory
 * and nothing else.  The child may make monitors of its own.
 */
#ifndef RESMON_MONITOR_H
#define RESMON_MONITOR_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/carbon.h>
#include <resmon/run.h>
#include <resmon/sink.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

typedef struct resmon_monitor resmon_monitor;

/* Domains: what is sampled.  Combine with |. */
#define RESMON_DOMAIN_PROCESS UINT64_C(1)   /**< the process */
#define RESMON_DOMAIN_TREE    UINT64_C(2)   /**< the process and its descendants */
#define RESMON_DOMAIN_CGROUP  UINT64_C(4)   /**< its control group */
#define RESMON_DOMAIN_CPU     UINT64_C(8)   /**< the machine's CPUs and load */
#define RESMON_DOMAIN_MEMORY  UINT64_C(16)  /**< the machine's memory and swap */
#define RESMON_DOMAIN_PSI     UINT64_C(32)  /**< the machine's pressure stall information */
#define RESMON_DOMAIN_DISK    UINT64_C(64)  /**< the machine's disks and file systems */
#define RESMON_DOMAIN_NET     UINT64_C(128) /**< network interfaces and InfiniBand ports */
#define RESMON_DOMAIN_NODE    UINT64_C(248) /**< CPU, memory, pressure, disk and network */
#define RESMON_DOMAIN_ENERGY  UINT64_C(256) /**< energy of processors, memory and GPUs */
#define RESMON_DOMAIN_GPU     UINT64_C(512) /**< GPUs of NVIDIA, if their driver is there */
#define RESMON_DOMAIN_ALL     UINT64_C(1023)

/* Flags. */
#define RESMON_FLAG_SMAPS                                                                         \
    UINT64_C(1)                           /**< PSS, USS and swap from smaps_rollup, every 30 s or \
                                               slower: a read costs about 4 ms per resident GiB */
#define RESMON_FLAG_NO_SCOPES UINT64_C(2) /**< leave the scopes to another monitor */

/** Who bears the energy of processors that idle.  By default the process tree's share of it is that
 * of the energy in use (so that the shares of all never exceed the whole); none; or as many as the
 * process may run on, as in a job with CPUs of its own. */
#define RESMON_FLAG_IDLE_NONE      UINT64_C(4)
#define RESMON_FLAG_IDLE_ALLOCATED UINT64_C(8)

/* What a scope measures.  Combine with |. */
#define RESMON_METER_WALL UINT64_C(1)  /**< wall time; always on */
#define RESMON_METER_CPU  UINT64_C(2)  /**< CPU time of the thread */
#define RESMON_METER_RSS  UINT64_C(4)  /**< exact RSS peak of the process */
#define RESMON_METER_IO   UINT64_C(8)  /**< I/O of the process */
#define RESMON_METER_PERF UINT64_C(16) /**< performance counters of the thread: scope_counters */
#define RESMON_METER_ALL  UINT64_C(31)

/**
 * Options of a monitor.  Set struct_size to sizeof(resmon_monitor_options) and the rest to zero;
 * zero means the default named below.  A longer struct (of a newer header) is accepted as long as
 * what this library does not know is zero.  Strings are copied.  Since 0.1.
 */
typedef struct resmon_monitor_options {
    size_t struct_size;
    uint64_t interval_ms;   /**< between samples, 1 ... 86400000; default 100 */
    size_t max_rows;        /**< rows of the table, even, 2 ... 1048576; default 400 */
    uint64_t domains;       /**< RESMON_DOMAIN_*; default RESMON_DOMAIN_ALL */
    uint64_t flags;         /**< RESMON_FLAG_* */
    int64_t pid;            /**< process to observe; default this one.  Scopes are always of this
                                 process, so a monitor of another has none */
    uint64_t scope_meters;  /**< RESMON_METER_*: take the scopes and fail with RESMON_EBUSY if
                                 another monitor has them; default: take them with the wall meter
                                 if they are free */
    double max_overhead;    /**< share of one CPU that sampling may take, 0 ... 1; expensive
                                 sources are read less often to stay below; default 0.01 */
    double max_meter_share; /**< share of the time spent in a scope that a meter of it may cost
                                 (the first 100 us at each call path are free); beyond that,
                                 instances go without; 0 ... 1e9; default 0.01 */
    const char *name;       /**< of the run; default "" */
    const char *fs_root;    /**< directory to read proc/ and sys/ below; default "/" */
    const char *record;     /**< flight recorder: keep the run in this file, readable after any
                                 death of the program; "%p", "%h", "%j", "%n", "%r" as in
                                 resmon_run_save() */
    size_t max_tags;        /**< newest tags kept, 1 ... 1048576; default 1024 */
    size_t max_scope_paths; /**< nodes for (thread, call path) pairs, and one for each thread, 8 ...
                                 1048576; default 2048 */
    size_t max_scope_threads; /**< threads with scopes at the same time, 1 ... 65536; default 256 */
    size_t max_scope_depth;   /**< nesting, 1 ... 256; default 64 */
    uint64_t stop_timeout_ms; /**< how long resmon_monitor_stop() waits for sinks at most, 1 ...
                                 86400000; default 10000 */
    size_t max_events;        /**< newest scope instances kept one by one for each thread, for
                                   resmon_run_get_event() and traces, 1 ... 1048576; default 0: none.
                                   Takes max_scope_threads * 32 B each, also of a recording */
    const resmon_carbon_options *carbon; /**< where the machine stands, for what its energy costs;
                                              default: as resmon_carbon_find() has it */
    uint64_t stacks;            /**< RESMON_STACKS_* of <resmon/stack.h>; default 0: none */
    uint64_t stack_hz;          /**< samples for each second of CPU time of a thread, 1 ... 1000;
                                     default 99 */
    uint64_t fault_period;      /**< page faults for each sample, 1 ... 1000000; default 64 */
    const char *counters;       /**< performance counters of the process tree: groups ("default",
                                     "l2", "l3", "l2cache", "l3cache", "flops", "memory") and at
                                     most 16 events, joined by '+'.  An event is a name of
                                     perf-list(1) ("page-faults"), a raw code ("r412e",
                                     "cpu/event=0x2e,umask=0x41/") or a name of libpfm4
                                     ("INST_RETIRED:ANY_P"); one that libpfm4 does not know is
                                     RESMON_EINVAL.  Default: none */
    const char *scope_counters; /**< counters of each scope, at most 8 events, joined by '+'; sets
                                     RESMON_METER_PERF.  Default, with that meter: "default", which
                                     is instructions, cycles, cache-misses and branch-misses, and
                                     for what the machine does not count page-faults,
                                     context-switches, task-clock and migrations */
} resmon_monitor_options;

/**
 * Makes a monitor; `options` NULL means all defaults.  RESMON_EINVAL, RESMON_ERANGE: an option is
 * wrong, the text says which; RESMON_ENOMEM.  Free with resmon_monitor_free().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                            resmon_monitor **ret_monitor);

/**
 * Adds a receiver of samples, before start (see <resmon/sink.h>).  The monitor copies the table
 * of operations and calls close() when it is freed.  RESMON_ESTATE after start, RESMON_EINVAL for a
 * table whose struct_size is wrong, RESMON_ENOSPC after 32 sinks.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_sink(resmon_monitor *monitor,
                                                 const resmon_sink_ops *ops, void *context);

/**
 * Adds a run document, and a table, to be written while the program runs (see <resmon/sink.h>).
 * RESMON_EINVAL: no path, or there is something else than a file; RESMON_ENOENT, RESMON_EACCES: its
 * directory is not there or cannot be written to; RESMON_ENOTSUP: this build has no JSON; and as
 * resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_json(resmon_monitor *monitor,
                                                 const resmon_json_options *options);
RESMON_API resmon_status resmon_monitor_add_csv(resmon_monitor *monitor,
                                                const resmon_csv_options *options);

/** How many sinks were added.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_monitor_sink_count(resmon_monitor *monitor);

/** How sink `index` fares, in the order in which they were added; RESMON_ENOENT past the end.
 * Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_get_sink(resmon_monitor *monitor, size_t index,
                                                 resmon_sink_info *ret_info);

/**
 * Takes the first sample and starts the sampling thread.  Once per monitor: RESMON_ESTATE after
 * that.  RESMON_ESRCH: there is no process `pid`; RESMON_EBUSY: another monitor owns the scopes, or
 * `record` is the recording of a process that still runs;
 * RESMON_ENOSPC: the recording does not fit on the disk; RESMON_ERANGE: max_rows, max_scope_paths
 * and the like make a run of more than 1 GiB together; RESMON_ENOMEM, RESMON_EACCES, RESMON_EIO.
 * After a failure the monitor can only be freed.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_start(resmon_monitor *monitor);

/**
 * Takes the last sample, gives the scopes up (those that are open stay so in the record), and waits
 * until the sinks have had everything, `stop_timeout_ms` at most.  Stopping again is fine.
 * RESMON_ESTATE before start, and from a sink of this monitor.  With any other code it has stopped
 * all the same: RESMON_ENOMEM: sinks were not shown the finished run; RESMON_ETIMEDOUT: a sink did
 * not return in time and was left behind; else the code of the first sink that failed at the end
 * (resmon_monitor_get_sink() tells of each).
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_stop(resmon_monitor *monitor);

/**
 * Stops if need be, and frees.  NULL is fine.  Nobody may use the monitor any more.
 * Thread class: one thread at a time per monitor; from a sink of it, nothing is done but a log
 * line.  Since 0.1.
 */
RESMON_API void resmon_monitor_free(resmon_monitor *monitor);

/**
 * Marks this moment with a label (at most 111 bytes are kept).  RESMON_ESTATE unless running; being
 * async-signal-safe, it then leaves resmon_last_error() alone.
 * Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_tag(resmon_monitor *monitor, const char *label);

/**
 * Names what the run is doing now ("epoch 3"; at most 127 bytes are kept).  RESMON_ESTATE unless
 * running.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_label(resmon_monitor *monitor, const char *label);

/**
 * Takes a sample now and returns when it is recorded.  RESMON_ESTATE unless running.
 * Thread class: any thread; waits for the sampling thread: some 0.1 ms, and 10 us more for
 * each process of the tree.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_sample_now(resmon_monitor *monitor);

/**
 * What was recorded so far, or in the end, as an immutable run: everything, or only a part (which
 * is cheaper).  RESMON_ESTATE before start.  Free it with resmon_run_free().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_snapshot(resmon_monitor *monitor, resmon_run **ret_run);
RESMON_API resmon_status resmon_monitor_summary(resmon_monitor *monitor, resmon_run **ret_run);
RESMON_API resmon_status resmon_monitor_scopes(resmon_monitor *monitor, resmon_run **ret_run);
RESMON_API resmon_status resmon_monitor_sources(resmon_monitor *monitor, resmon_run **ret_run);

/** Snapshot and resmon_run_save() in one.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_save(resmon_monitor *monitor, const char *path);

RESMON_END_DECLS

#endif
