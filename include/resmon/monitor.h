/* SPDX-License-Identifier: MIT */
/*
 * resmon/monitor.h - monitors, which observe a process: new, start, stop, free.
 *
 *     resmon_monitor *monitor;
 *     if (resmon_monitor_new(NULL, &monitor) == RESMON_OK) {
 *         if (resmon_monitor_start(monitor) == RESMON_OK) {
 *             work();
 *             resmon_monitor_stop(monitor);
 *             resmon_monitor_save(monitor, "run.json");
 *         }
 *         resmon_monitor_free(monitor);
 *     }
 *
 * A monitor samples in its own thread, which receives no signals of the program.  The start takes
 * the first sample and the stop the last one, so a run of 1 ms has a summary.  Memory is fixed at
 * the start, for a run of any length.  Several monitors may run at once; at most one of them owns
 * the scopes (member `scopes` of resmon_monitor_options).
 *
 * In a forked child, monitors of the parent do nothing: calls return RESMON_ESTATE, and free only
 * releases memory.  The child may create its own monitors.  If the parent had scopes and the child
 * has no monitor, the scopes of the child are in no run.  The run of the parent counts such
 * children (dropped_forks).  Below `resmon run`, the first scope of the child starts a monitor
 * instead, as the start of a program does.
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

/* Domains: groups of metrics to sample.  Combine with |. */
#define RESMON_DOMAIN_PROCESS UINT64_C(1)   /**< the process */
#define RESMON_DOMAIN_TREE    UINT64_C(2)   /**< the process and its descendants */
#define RESMON_DOMAIN_CGROUP  UINT64_C(4)   /**< the cgroup of the process */
#define RESMON_DOMAIN_CPU     UINT64_C(8)   /**< CPUs and load of the machine */
#define RESMON_DOMAIN_MEMORY  UINT64_C(16)  /**< memory and swap of the machine */
#define RESMON_DOMAIN_PSI     UINT64_C(32)  /**< pressure stall information of the machine */
#define RESMON_DOMAIN_DISK    UINT64_C(64)  /**< disks and file systems of the machine */
#define RESMON_DOMAIN_NET     UINT64_C(128) /**< network interfaces and InfiniBand ports */
#define RESMON_DOMAIN_NODE    UINT64_C(248) /**< CPU, memory, pressure, disk and network */
#define RESMON_DOMAIN_ENERGY  UINT64_C(256) /**< energy of processors, memory and GPUs */
#define RESMON_DOMAIN_GPU     UINT64_C(512) /**< NVIDIA GPUs, if their driver is installed */
#define RESMON_DOMAIN_ALL     UINT64_C(1023)

/* Flags. */
#define RESMON_FLAG_SMAPS                                                                         \
    UINT64_C(1)                           /**< PSS, USS and swap from smaps_rollup, every 30 s or \
                                               slower: a read takes about 4 ms per resident GiB */
#define RESMON_FLAG_NO_SCOPES UINT64_C(2) /**< leaves the scopes to another monitor */

/* Attribution of idle CPU energy to the process tree.  Default: by the share of the machine's
 * capacity that the tree used; the rest of the idle energy is not attributed.  In a job with its
 * own CPUs, RESMON_FLAG_IDLE_ALLOCATED attributes the idle energy of these CPUs. */
#define RESMON_FLAG_IDLE_NONE      UINT64_C(4) /**< no idle energy is attributed */
#define RESMON_FLAG_IDLE_ALLOCATED UINT64_C(8) /**< by the CPUs that the process may run on */

/** With `pid`, `cgroup` or `job`: an entry for each observed process (resmon_run_get_process()),
 * from events of the kernel (perf_event_open(2), up to kernel.perf_event_paranoid 2). */
#define RESMON_FLAG_EACH UINT64_C(16)

/* Per-scope metrics.  Combine with |. */
#define RESMON_METER_WALL UINT64_C(1) /**< wall time; always on */
#define RESMON_METER_CPU  UINT64_C(2) /**< CPU time of the thread */
#define RESMON_METER_RSS                                                            \
    UINT64_C(4) /**< exact RSS peak of the process; resets ru_maxrss of getrusage() \
                     (see RESMON_PEAK_RSS) */
#define RESMON_METER_IO   UINT64_C(8)  /**< I/O of the process */
#define RESMON_METER_PERF UINT64_C(16) /**< performance counters of the thread: scope_counters */
#define RESMON_METER_PCPU UINT64_C(32) /**< CPU time of the process and its descendants */
#define RESMON_METER_ALL  UINT64_C(63)

/** A label: a name and its value.  Since 0.1. */
typedef struct resmon_label {
    const char *name;
    const char *value;
} resmon_label;

/**
 * Options of a monitor.  Set struct_size to sizeof(resmon_monitor_options) and the rest to zero;
 * zero means the default named below.  Members have the names of the options in <resmon/option.h>;
 * durations end in "_ms".  A longer struct (of a newer header) is accepted if the members that this
 * library does not know are zero.  Strings are copied.  Since 0.1.
 *
 * With `record`, the run is in a file in /dev/shm, so scopes never wait for a disk or a server.
 * A thread copies it to `record` every 5 s (every 60 s on a network file system), and at the end.
 * If less than 1 GiB of memory is left, it copies every second (from Linux 5.9).  Copying takes at
 * most 0.5 % of one CPU.  Twice the size of the run is reserved in the file.
 *
 * After the death of the program, newer data are in /dev/shm.  On the same machine,
 * resmon_run_load() of the file moves them from /dev/shm into the file, and waits for its disk or
 * server.  The next start of a recording does the same.  If the file is not found by its path, the
 * data in /dev/shm are kept for a day, the newest 8 per user.  If /dev/shm is lost (end of a
 * container or of the machine), the file has the last copy.
 *
 * On a tmpfs, or if /dev/shm is missing or too small, the file itself is mapped.  It is then
 * current at every instant, but scopes wait while its file system stalls.  Except on a tmpfs, a
 * warning in the log names the file system.  Files on a network file system are never mapped: the
 * start fails instead (RESMON_ENOTSUP).  A recording of this process at the same path, made before
 * an exec, is kept as "FILE.1", "FILE.2" ...
 */
typedef struct resmon_monitor_options {
    size_t struct_size;
    /** time between samples, 1 ... 86400000; see max_overhead.  Default 100; node metrics, cgroup
     * metrics and descriptors are then read every 1000 ms, and at requested samples */
    uint64_t interval_ms;
    size_t rows;      /**< rows of the table, even, 2 ... 1048576; default 400 */
    uint64_t domains; /**< RESMON_DOMAIN_*; default RESMON_DOMAIN_ALL */
    uint64_t flags;   /**< RESMON_FLAG_* */
    /** process to observe; default this process.  The number is the one that getpid() and fork()
     * return in this process, also if /proc belongs to another pid namespace.  A monitor of another
     * process has no scopes: these always belong to this process */
    int64_t pid;
    /** RESMON_METER_*: own the scopes, or fail with RESMON_EBUSY if another monitor owns them.  The
     * monitor of the variable RESMON hands them over instead.  Default: own them, with wall time,
     * if no other monitor does */
    uint64_t scopes;
    /** maximum share of one CPU for sampling, 0 ... 1; default 0.01.  It covers the CPU time of the
     * sampling thread and of the threads that call sinks, copy the recording and read GPUs.  Above
     * it, expensive sources are read less often.  Then only every k-th sample is taken, which the
     * run reports (skipped_samples).  Requested samples (resmon_monitor_sample_now()), the first
     * and the last are always taken.  Sinks and the recording count up to half of the limit: beyond
     * it, they do not make samples rarer.  Stacks follow stack_hz alone */
    double max_overhead;
    /** maximum share of the time in a scope that each of its meters may take, 0 ... 1e9; default
     * 0.01.  The first 100 us at each call path are free.  Above it, only a random subset of calls
     * is measured, and values are estimates (<resmon/run.h>); an RSS peak is a lower bound */
    double max_meter_share;
    const char *name;    /**< name of the run; default "" */
    const char *fs_root; /**< directory to read proc/ and sys/ below; default "/" */
    /** file to record the run in, readable after any death of the program (see above); "%p", "%h",
     * "%j", "%n", "%r" as in resmon_run_save() */
    const char *record;
    size_t tags; /**< number of newest tags kept, 1 ... 1048576; default 1024 */
    /** maximum number of nodes, 8 ... 1048576; default 2048.  There is one node for each pair of
     * thread and call path, and one for each thread.  With meters of CPU time and I/O, about half
     * of 1048576 is possible, since a run has at most 1 GiB */
    size_t scope_paths;
    size_t scope_threads;     /**< maximum number of threads with scopes at a time, 1 ... 65536;
                                   default 256 */
    size_t scope_depth;       /**< maximum nesting of scopes, 1 ... 256; default 64 */
    uint64_t stop_timeout_ms; /**< maximum wait of resmon_monitor_stop() for sinks, 1 ... 86400000;
                                   default 10000 */
    /** number of newest scope instances kept individually per thread, for resmon_run_get_event()
     * and traces, 1 ... 1048576; default 0: none.  Each takes scope_threads * 32 B, also in a
     * recording */
    size_t events;
    /** location of the machine, for the emissions of its energy; default: the location that
     * resmon_carbon_find() returns */
    const resmon_carbon_options *carbon;
    uint64_t stacks;       /**< RESMON_STACKS_* of <resmon/stack.h>; default 0: none */
    uint64_t stack_hz;     /**< samples per second of CPU time of a thread, 1 ... 1000;
                                default 99 */
    uint64_t fault_period; /**< page faults per sample, 1 ... 1000000; default 64 */
    /** performance counters of the process tree: groups ("default", "l2", "l3", "l2cache",
     * "l3cache", "flops", "memory") and at most 16 events, joined by '+'; default: none.  An event
     * is a name of perf-list(1) ("page-faults"), a raw code ("r412e",
     * "cpu/event=0x2e,umask=0x41/") or a name of libpfm4 ("INST_RETIRED:ANY_P").  RESMON_EINVAL:
     * libpfm4 does not know the name */
    const char *counters;
    /** counters of each scope, at most 8 events, joined by '+'; sets RESMON_METER_PERF.  Default
     * with that meter: "default", which is instructions, cycles, cache-misses and branch-misses.
     * Those that the machine does not count are replaced by page-faults, context-switches,
     * task-clock and migrations */
    const char *scope_counters;
    /** command line to show instead of the one in /proc: for a process before its exec, or to keep
     * secrets */
    const char *command;
    /** path of a cgroup to observe instead of a process, with the mount point
     * ("/sys/fs/cgroup/a.slice") or without it ("/a.slice").  Metrics of the tree cover the
     * processes of this cgroup and of the cgroups below it; CPU time is the kernel's total since
     * the cgroup was created.  There are no metrics of a single process, no counters and no scopes.
     * RESMON_ENOENT: the cgroup does not exist; RESMON_EINVAL: `pid` is set, too */
    const char *cgroup;
    /** id of a batch job to observe instead of a process, as the batch system prints it: the part
     * of the job that is on this host.  If the job has a cgroup (resmon_job_cgroup() of
     * <resmon/job.h>), as with `cgroup`.  Else metrics of the tree cover the processes that have
     * the id in their environment (SLURM_JOB_ID, PBS_JOBID, LSB_JOBID, OAR_JOB_ID, FLUX_JOB_ID,
     * RESMON_JOB_ID), what they start, and the sessions that they lead; not this process and what
     * it starts, and processes of other users only for root.  There may be none; stacks and rows of
     * processes are of those that are there at the start, and of what they start.  RESMON_EINVAL:
     * it is no id, or `pid` or `cgroup` is set, too */
    const char *job;
    /** labels of the run, for people and for queries: facts of the group "labels" in the run
     * document (resmon_run_get_fact()); of a merged run, those of its lowest rank, in reports, on
     * samples for Prometheus, tags of MLflow, a column of datasets.  The name has 1 to 47 letters,
     * digits, '_' and '.'; the value is any text of at most 511 bytes, of which invalid UTF-8 and
     * control characters become '?'.  The last of equal names counts.  Copied */
    const resmon_label *labels;
    size_t label_count; /**< at most 32 */
} resmon_monitor_options;

/**
 * Creates a monitor.
 * `options` NULL means all defaults.  Free `ret_monitor` with resmon_monitor_free().
 * RESMON_EINVAL: `ret_monitor` is NULL, or an option is invalid; RESMON_ERANGE: an option is out of
 * bounds; the text names the option.  RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_new(const resmon_monitor_options *options,
                                            resmon_monitor **ret_monitor);

/**
 * Creates a monitor with its sinks from a text.
 * Example: "interval=50ms,scopes=wall+rss,json=run.json,json.interval=10s".  The text has the
 * format of the variable RESMON, without the keys that only RESMON has; <resmon/option.h> describes
 * the format and lists the options.  Free `ret_monitor` with resmon_monitor_free().
 * RESMON_EINVAL and other errors: as resmon_monitor_new() and resmon_monitor_add().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_new_text(const char *options, resmon_monitor **ret_monitor);

/**
 * Adds a sink of the library by its name, before the start.
 * Example: resmon_monitor_add(monitor, "json", "run.json,interval=10s").  `options` has the format
 * of <resmon/option.h>; it may begin with the value of the sink's main option; NULL: no options. If
 * the sink shows stacks or scope instances and the options of the monitor do not set them, the
 * monitor records them. RESMON_ESTATE: the monitor is or was running, or belongs to the parent of
 * this forked process.  RESMON_EINVAL, RESMON_ERANGE: the sink or an option does not exist, or a
 * value is wrong; the text suggests the nearest name or the allowed values.  RESMON_EINVAL: also if
 * the monitor's option `stacks` excludes the stacks that the sink needs.  RESMON_EBUSY: its file is
 * that of the recording, or of another sink of the monitor.  Other errors: as the function for this
 * sink (resmon_monitor_add_json() ...), whose struct has the same options. Thread class: one thread
 * at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add(resmon_monitor *monitor, const char *sink,
                                            const char *options);

/**
 * Adds a sink of the program, before the start (see <resmon/sink.h>).
 * The monitor copies `ops`.  It passes `context` to each call, and calls close() when it is freed.
 * RESMON_ESTATE: the monitor was started; RESMON_EINVAL: struct_size is wrong, or `flags` or
 * `parts` have unknown bits; RESMON_ENOSPC: there are 32 sinks; RESMON_ENOMEM.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_sink(resmon_monitor *monitor,
                                                 const resmon_sink_ops *ops, void *context);

/**
 * Adds a sink that writes a run document while the program runs (see <resmon/sink.h>).
 * RESMON_EINVAL: there is no path, or it is not a file; RESMON_ENOENT, RESMON_EACCES: its directory
 * does not exist or is not writable; RESMON_ERANGE: the interval is out of bounds; RESMON_EBUSY: as
 * resmon_monitor_add(); other errors: as resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_json(resmon_monitor *monitor,
                                                 const resmon_json_options *options);

/**
 * Adds a sink that writes the table of samples as CSV (see <resmon/sink.h>).
 * RESMON_EINVAL and other errors: as resmon_monitor_add_json().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_csv(resmon_monitor *monitor,
                                                const resmon_csv_options *options);

/** Returns the number of sinks; 0 for NULL.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_monitor_sink_count(resmon_monitor *monitor);

/**
 * Gets the state of sink `index`, in the order in which sinks were added.
 * RESMON_ENOENT: there is no such sink; RESMON_EINVAL: an argument is NULL, or struct_size is
 * short; RESMON_ESTATE: in a forked child.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_get_sink(resmon_monitor *monitor, size_t index,
                                                 resmon_sink_info *ret_info);

/**
 * Takes the first sample and starts the sampling thread, once per monitor.
 * After an error the monitor can only be freed.
 * RESMON_ESTATE: it was started before; RESMON_ESRCH: process `pid` does not exist; RESMON_ENOENT:
 * /proc or `cgroup` does not exist; RESMON_EBUSY: another monitor owns the scopes, or `record` is
 * the recording of a running process; RESMON_ENOSPC: the recording does not fit on the disk;
 * RESMON_ENOTSUP: `record` is on a network file system, and /dev/shm has no room;
 * RESMON_ERANGE: rows, scope_paths and the other sizes make a run of more than 1 GiB;
 * RESMON_ENOMEM: out of memory, or RLIMIT_AS would leave less than 16 MiB for the program;
 * RESMON_EACCES, RESMON_EIO.
 * If RLIMIT_AS or RLIMIT_DATA leave less than 512 MiB, all threads of the program share one heap of
 * glibc from then on (mallopt, M_ARENA_MAX 1): a heap per thread would reserve 64 MiB each.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_start(resmon_monitor *monitor);

/**
 * Takes the last sample, releases the scopes and waits for the sinks, at most `stop_timeout_ms`.
 * Open scopes remain open in the results.  Stopping again does nothing and returns RESMON_OK.
 * RESMON_ESTATE: the monitor was not started, or a sink of this monitor calls.  With any other code
 * the monitor has stopped.  RESMON_ENOMEM: sinks did not receive the finished run;
 * RESMON_ETIMEDOUT: a sink or the last copy of the recording did not finish in time, and was left
 * behind.  Other codes: of the first sink that failed at the end (resmon_monitor_get_sink() has the
 * state of each), or of the recording.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_stop(resmon_monitor *monitor);

/**
 * Stops the monitor if it runs, and frees it; NULL does nothing.
 * No thread may use the monitor afterwards.  A call from a sink of the monitor only logs a warning.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API void resmon_monitor_free(resmon_monitor *monitor);

/**
 * Sets a tag at the current time.
 * At most 111 bytes of `label` are kept.  RESMON_ESTATE: the monitor does not run; RESMON_EINVAL:
 * an argument is NULL.  Errors do not set resmon_last_error().
 * Thread class: any thread, async-signal-safe.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_tag(resmon_monitor *monitor, const char *label);

/**
 * Sets the label of the run: what the program does now ("epoch 3").
 * At most 127 bytes are kept.  RESMON_ESTATE: the monitor does not run; RESMON_EINVAL: an argument
 * is NULL.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_set_label(resmon_monitor *monitor, const char *label);

/**
 * Joins the recording (record=FILE) or run document of another process into this run.
 * The run then has the scopes of that process, and an entry for it (resmon_run_get_process()).  So
 * the recordings of programs and the observation from outside are one run.  Call paths with the
 * same names become one path; counters of scopes are left out.  Other values of the run do not
 * change: they already include all processes.
 * RESMON_EINVAL: an argument is NULL, or the monitor has its own scopes; RESMON_ENOSPC: 1024
 * processes were joined; RESMON_ESTATE: the monitor does not run; other errors: as
 * resmon_run_load().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_join(resmon_monitor *monitor, const char *path);

/**
 * Gets remarks on the options, one per line; "" if there are none.  RESMON=... prints them.
 * Remarks name options without effect ("stack_hz has no effect without stacks=cpu"), and the memory
 * of a table of rows of 64 MiB or more.  Sinks that need stacks count as stacks=.  Free `ret_text`
 * with resmon_text_free() of <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_remarks(const resmon_monitor *monitor, char **ret_text);

/**
 * Takes a sample now and returns when it is recorded.
 * It waits for the sampling thread: about 0.1 ms, and 10 us for each process of the tree.
 * RESMON_ESTATE: the monitor does not run.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_sample_now(resmon_monitor *monitor);

/**
 * Gets the results so far, or the final results, as an immutable run.
 * Free `ret_run` with resmon_run_free().  After the stop, the stacks of a snapshot are symbolized
 * (functions, lines), which takes memory and time of the process.  Before the stop, frames are
 * module and offset, and the reasons of the stack kinds state this (resmon_run_get_stack_info()).
 * A document of such a run is symbolized when any process loads it (resmon_run_load()).
 * RESMON_ESTATE: the monitor was not started, or its start failed; RESMON_EINVAL: an argument is
 * NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_snapshot(resmon_monitor *monitor, resmon_run **ret_run);

/** Gets columns with their statistics, energy and sources only, which is cheaper than a snapshot.
 * RESMON_ESTATE and other errors: as resmon_monitor_snapshot().  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_summary(resmon_monitor *monitor, resmon_run **ret_run);

/** Gets scopes and checkpoints of lines only.
 * RESMON_ESTATE and other errors: as resmon_monitor_snapshot().  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_scopes(resmon_monitor *monitor, resmon_run **ret_run);

/** Gets sources only.
 * RESMON_ESTATE and other errors: as resmon_monitor_snapshot().  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_sources(resmon_monitor *monitor, resmon_run **ret_run);

/**
 * Saves a snapshot: resmon_monitor_snapshot(), then resmon_run_save().
 * Errors: of these two functions.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_save(resmon_monitor *monitor, const char *path);

/**
 * Loads libresmon-reader now, from the directory of libresmon.  It has summaries, reports, pages,
 * traces, comparisons and the symbolization of stacks, and is loaded when one of these is first
 * needed.  Programs that cannot load it then call this function before chroot(), a change of user,
 * or a filter of system calls.  It does nothing if the reader is linked or loaded already.
 * RESMON_ENOTSUP: the reader is not installed, or has another version; resmon_last_error() has
 * which.  All other functions work without it.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_load_reader(void);

RESMON_END_DECLS

#endif
