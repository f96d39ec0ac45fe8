/* SPDX-License-Identifier: MIT */
/*
 * resmon/monitor.h - monitors, which observe a process: new, start, stop, free.
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
 * and nothing else.  The child may make monitors of its own.  Where its parent had scopes and it
 * has no monitor, its scopes are in no run, and the parent's says of how many children that is so
 * (dropped_forks); but below `resmon run` its first scope starts a monitor, as a program's begin.
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

/** Who bears the energy of processors that idle.  By default the process tree bears as much of it
 * as it used of the machine's capacity, and what nobody used is nobody's; none; or as many
 * processors as the process may run on, as in a job with CPUs of its own. */
#define RESMON_FLAG_IDLE_NONE      UINT64_C(4)
#define RESMON_FLAG_IDLE_ALLOCATED UINT64_C(8)

/** With pid: a row for each process that the observed one starts (resmon_run_get_process()), by the
 * kernel's events (perf_event_open(2), up to kernel.perf_event_paranoid 2). */
#define RESMON_FLAG_EACH UINT64_C(16)

/* What a scope measures.  Combine with |. */
#define RESMON_METER_WALL UINT64_C(1) /**< wall time; always on */
#define RESMON_METER_CPU  UINT64_C(2) /**< CPU time of the thread */
#define RESMON_METER_RSS                                                       \
    UINT64_C(4) /**< exact RSS peak of the process; sets back what getrusage() \
                     shows as ru_maxrss (RESMON_PEAK_RSS says how) */
#define RESMON_METER_IO   UINT64_C(8)  /**< I/O of the process */
#define RESMON_METER_PERF UINT64_C(16) /**< performance counters of the thread: scope_counters */
#define RESMON_METER_PCPU UINT64_C(32) /**< CPU time of the process and its descendants */
#define RESMON_METER_ALL  UINT64_C(63)

/**
 * Options of a monitor.  Set struct_size to sizeof(resmon_monitor_options) and the rest to zero;
 * zero means the default named below.  Members have the names of the options in <resmon/option.h>,
 * and durations "_ms" behind these.  A longer struct (of a newer header) is accepted as long as
 * what this library does not know is zero.  Strings are copied.  Since 0.1.
 *
 * The run that `record` keeps is in a file in /dev/shm, so that no scope waits for a disk or a
 * server.  It is copied to the file every 5 s, each second where less than 1 GiB of memory is left
 * (from Linux 5.9 on), and at the end: twice its size is reserved.  After a death,
 * resmon_run_load() of the file, on the same machine, takes what is newer from /dev/shm, puts it in
 * and removes it there (which waits for the file's disk or server); so does the next start of a
 * recording.  Where the file is not found by its path, the rest waits for a day, the newest 8 of a
 * user.  Where /dev/shm goes with the program (a container), or the machine does, the file is as of
 * the last copy.  On a tmpfs, and where /dev/shm is missing or has too little room (a warning to
 * the log names the file system), the file itself is mapped: up to date at every instant, but a
 * scope waits while its file system stalls.  What this process recorded there before an exec is
 * kept as "FILE.1", "FILE.2" ...
 */
typedef struct resmon_monitor_options {
    size_t struct_size;
    uint64_t interval_ms;   /**< between samples, 1 ... 86400000; see max_overhead.  Default 100;
                                 sources of the machine, of the control group and of
                                 descriptors are read each 1000 then, and at samples that are
                                 asked for */
    size_t rows;            /**< rows of the table, even, 2 ... 1048576; default 400 */
    uint64_t domains;       /**< RESMON_DOMAIN_*; default RESMON_DOMAIN_ALL */
    uint64_t flags;         /**< RESMON_FLAG_* */
    int64_t pid;            /**< process to observe, as getpid() and fork() of this process number
                                 it, also where /proc is of another pid namespace; default this
                                 one.  Scopes are always of this process, so a monitor of another
                                 has none */
    uint64_t scopes;        /**< RESMON_METER_*: take the scopes and fail with RESMON_EBUSY if
                                       another monitor has them; default: take them with the wall meter
                                       if they are free */
    double max_overhead;    /**< share of one CPU that sampling may take, 0 ... 1: the CPU time of
                                 the sampling thread, and of the threads that call sinks and ask
                                 GPUs.  To stay below, expensive sources are read less often, and
                                 samples are taken at every k-th interval only, which the run says
                                 (skipped_samples).  Not stretched are samples that are asked for
                                 (resmon_monitor_sample_now()), the first and the last, nor what
                                 sinks take beyond a half of it; stacks are as stack_hz has them.
                                 default 0.01 */
    double max_meter_share; /**< share of the time spent in a scope that a meter of it may cost
                                 (the first 100 us at each call path are free); beyond that,
                                 instances go without, drawn at random: figures are estimates
                                 then (<resmon/run.h>); 0 ... 1e9; default 0.01 */
    const char *name;       /**< of the run; default "" */
    const char *fs_root;    /**< directory to read proc/ and sys/ below; default "/" */
    const char *record;     /**< flight recorder: keep the run in this file, readable after any
                                 death of the program (see above); "%p", "%h", "%j", "%n", "%r" as
                                 in resmon_run_save() */
    size_t tags;            /**< newest tags kept, 1 ... 1048576; default 1024 */
    size_t scope_paths;     /**< nodes for (thread, call path) pairs, and one for each thread, 8 ...
                                     1048576, with meters of CPU time and I/O about half of that, for a
                                     run takes 1 GiB at most; default 2048 */
    size_t scope_threads;   /**< threads with scopes at the same time, 1 ... 65536; default 256 */
    size_t scope_depth;     /**< nesting, 1 ... 256; default 64 */
    uint64_t stop_timeout_ms; /**< how long resmon_monitor_stop() waits for sinks at most, 1 ...
                                 86400000; default 10000 */
    size_t events;            /**< newest scope instances kept one by one for each thread, for
                                       resmon_run_get_event() and traces, 1 ... 1048576; default 0: none.
                                       Takes scope_threads * 32 B each, also of a recording */
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
    const char *command;        /**< the command line that the run shows, in place of the one that
                                     /proc has: of a process before its exec, or to keep secrets */
    const char *cgroup; /**< control group to observe in place of a process, by its path, with
                             the mount point ("/sys/fs/cgroup/a.slice") or without
                             ("/a.slice"): figures of the tree are those of its processes and
                             of those of the groups below it, CPU time as the kernel accounts
                             it to the group since that was made.  There are none of one
                             process, nor counters or scopes.  RESMON_ENOENT: there is no
                             such group; RESMON_EINVAL: `pid` is given, too */
} resmon_monitor_options;

/**
 * Makes a monitor; `options` NULL means all defaults.  RESMON_EINVAL, RESMON_ERANGE: an option is
 * wrong, the text says which; RESMON_ENOMEM.  Free with resmon_monitor_free().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                            resmon_monitor **ret_monitor);

/**
 * Makes a monitor, with sinks, from a text as the variable RESMON has it (but without the keys that
 * only RESMON has), such as "interval=50ms,scopes=wall+rss,json=run.json,json.interval=10s".
 * <resmon/option.h> says how options are written, and lists them.  Failures also as
 * resmon_monitor_add(). Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_new_text(const char *options, resmon_monitor **ret_monitor);

/**
 * Adds one of the library's sinks by its name, before start: resmon_monitor_add(monitor, "json",
 * "run.json,interval=10s").  `options` is as <resmon/option.h> has it; a value may come first that
 * is the sink's main option; NULL: none.  What the sink shows, stacks or scope instances, is taken
 * if the options of the monitor do not say which. RESMON_EINVAL, RESMON_ERANGE: there is no such
 * sink or option, or a value is wrong; the text says what was meant, or is allowed.  RESMON_EINVAL
 * also: the monitor's option stacks leaves out what the sink is made of.  RESMON_EBUSY: its file is
 * that of the recording, or of another of the monitor's sinks.  Else as the function for this sink
 * alone (resmon_monitor_add_json() ...), whose struct has the same options.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add(resmon_monitor *monitor, const char *sink,
                                            const char *options);

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
 * directory is not there or cannot be written to; and as resmon_monitor_add_sink().
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
 * that.  RESMON_ESRCH: there is no process `pid`; RESMON_ENOENT: there is no /proc; RESMON_EBUSY:
 * another monitor owns the scopes, or `record` is the recording of a process that still runs;
 * RESMON_ENOSPC: the recording does not fit on the disk; RESMON_ERANGE: rows, scope_paths
 * and the like make a run of more than 1 GiB together; RESMON_ENOMEM, also where RLIMIT_AS would
 * leave the program less than 16 MiB; RESMON_EACCES, RESMON_EIO.
 * After a failure the monitor can only be freed.
 * Where RLIMIT_AS or RLIMIT_DATA leave less than 512 MiB, all threads of the program share one heap
 * of glibc's from then on (mallopt, M_ARENA_MAX 1): each of its own would reserve 64 MiB.
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
 * Joins the recording (record=FILE) or run document of another process into this run, whose scopes
 * it has from then on, with a row among its processes (resmon_run_get_process()): so that what
 * programs recorded for themselves and what was observed from outside are one run.  Paths of the
 * same names are one path; counters of scopes are left out.  The run's own figures are not changed:
 * they are of all processes already.  RESMON_EINVAL: NULL, or the monitor has scopes of its own;
 * RESMON_ENOSPC after 1024; RESMON_ESTATE unless running; and as resmon_run_load().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_join(resmon_monitor *monitor, const char *path);

/**
 * What was asked for and has no effect, a line each: "stack_hz has no effect without stacks=cpu";
 * and what a table of rows takes that is larger than 64 MiB; "" when there is nothing.  Sinks that
 * need stacks count as stacks=.  Free `ret_text` with resmon_text_free().  RESMON_EINVAL,
 * RESMON_ENOMEM.  RESMON=... prints it.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_remarks(const resmon_monitor *monitor, char **ret_text);

/**
 * Takes a sample now and returns when it is recorded.  RESMON_ESTATE unless running.
 * Thread class: any thread; waits for the sampling thread: some 0.1 ms, and 10 us more for
 * each process of the tree.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_sample_now(resmon_monitor *monitor);

/**
 * What was recorded so far, or in the end, as an immutable run: everything, or only a part (which
 * is cheaper).  RESMON_ESTATE before start.  Free it with resmon_run_free().
 * Stacks have their names (functions, lines) in a snapshot that is taken after the stop: looking
 * them up takes memory and time of the process.  Before, their frames are module and offset, and
 * the reasons of the kinds say so (resmon_run_get_stack_info()); a document of such a run gets the
 * names when it is loaded, in whichever process (resmon_run_load()).
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
