/* SPDX-License-Identifier: MIT */
/*
 * resmon/records.h - structures that the accessors of a run fill in, and their codes.
 *
 *     resmon_run_info info = {.struct_size = sizeof info};
 *     if (resmon_run_get_info(run, &info) == RESMON_OK) {
 *         printf("%s, %.1f s\n", info.state, (double)info.duration_ns / 1e9);
 *     }
 *
 * The accessors are in <resmon/run.h>, <resmon/end.h>, <resmon/table.h>, <resmon/summary.h>,
 * <resmon/energy.h> and <resmon/stack.h>.
 *
 * Set struct_size to sizeof the structure before a call.  Texts live as long as the run and are
 * never NULL.  NaN: not known.
 *
 * Made by cmake/make_records.py from lib/common/run/records.def: do not edit.
 */
#ifndef RESMON_RECORDS_H
#define RESMON_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/* Provenance: how a value is known. */
#define RESMON_PROVENANCE_NONE     0 /**< not known; the reason explains why */
#define RESMON_PROVENANCE_MEASURED 1 /**< read from an exact counter */
#define RESMON_PROVENANCE_SAMPLED  2 /**< at some moments or calls only: peaks may be missed */
#define RESMON_PROVENANCE_MODELLED 3 /**< computed from other values by a model */
#define RESMON_PROVENANCE_SHARED   4 /**< a share of a value that others use too */

/* Kinds of metrics. */
#define RESMON_GAUGE   1 /**< a level: the value at the time of the reading */
#define RESMON_COUNTER 2 /**< a total that grows: a run reports the growth since its start */

/* Levels: the object that a value describes. */
#define RESMON_LEVEL_PROCESS 1 /**< one process with all its threads */
#define RESMON_LEVEL_TREE    2 /**< a process and all its descendants, ended ones included */
#define RESMON_LEVEL_CGROUP  3 /**< the cgroup: container, pod, batch job */
#define RESMON_LEVEL_NODE    4 /**< the whole machine, as this process sees it */
#define RESMON_LEVEL_DEVICE  5 /**< one device */
#define RESMON_LEVEL_JOB     6 /**< all nodes of a job whose runs were merged */

/* How a program ended. */
#define RESMON_END_UNKNOWN     0 /**< the program is gone, and how it ended is not known */
#define RESMON_END_RUNNING     1 /**< it has not ended */
#define RESMON_END_FINISHED    2 /**< its work was done, or it stopped its monitor */
#define RESMON_END_FAILED      3 /**< exit status other than 0, or an exception */
#define RESMON_END_INTERRUPTED 4 /**< interrupted by its user: SIGINT, KeyboardInterrupt */
#define RESMON_END_KILLED      5 /**< killed by another signal */

/** The run as a whole.  The overhead of the measurement.  Counters of data that are not in the run,
 * for example because a table was full.  Since 0.1. */
typedef struct resmon_run_info {
    size_t struct_size;
    /** "running", "stopped", or "interrupted": ended without a stop.  How the program ended:
     * resmon_run_get_end() */
    const char *state;
    /** set by resmon_monitor_set_label(); "" by default */
    const char *label;
    /** time of the start, since 1970-01-01 UTC */
    int64_t start_realtime_ns;
    /** time from start to stop, or to the last sample */
    int64_t duration_ns;
    /** number of samples */
    uint64_t samples;
    /** samples per full row of the table: a power of two */
    uint64_t stride;
    /** number of times that rows of the table were merged */
    uint64_t halvings;
    /** CPU time of the sampling thread, wake-ups included */
    uint64_t sampler_cpu_ns;
    /** time spent taking samples */
    uint64_t sampler_wall_ns;
    /** longest time of one sample */
    uint64_t sampler_wall_max_ns;
    /** deadlines that had passed when the sampler woke */
    uint64_t late_samples;
    /** deadlines without a sample, to stay below max_overhead */
    uint64_t skipped_samples;
    /** CPU time of the threads that call sinks and copy the recording, up to the last sample */
    uint64_t delivery_cpu_ns;
    /** CPU time of the thread that reads GPUs through their driver */
    uint64_t gpus_cpu_ns;
    /** CPU time of the thread that manages stacks */
    uint64_t stacks_cpu_ns;
    /** time in the signal handler that takes stacks, on the program's threads; without the kernel's
     * part of a signal (some us) */
    uint64_t handlers_ns;
    /** CPU time of all threads of the library for this run, and of its signal handler:
     * sampler_cpu_ns, delivery_cpu_ns, gpus_cpu_ns, stacks_cpu_ns and handlers_ns */
    uint64_t library_cpu_ns;
    /** estimated time that scopes add to the program */
    double scopes_ns;
    /** size of the run block, fixed at start */
    uint64_t memory_bytes;
    /** resident memory of the library, without its code: RSS growth at the start of the monitor,
     * and later growth of its block and stack data.  All memory values of the process include it,
     * peaks too.  NaN: not known */
    double rss_bytes;
    /** upper bound of further RSS or peak growth while snapshots were made and passed to sinks;
     * this part of a peak may be the library's.  NaN: no snapshot was made, or not known */
    double work_rss_bytes;
    /** rows that the full delivery queue to the sinks rejected */
    uint64_t dropped_rows;
    /** tags overwritten by later ones */
    uint64_t dropped_tags;
    /** threads without a free slot for their scopes */
    uint64_t dropped_threads;
    /** scope instances that are not in the tree: past a limit, or without a free path */
    uint64_t dropped_scopes;
    /** part of dropped_scopes without a free path (option scope_paths) */
    uint64_t dropped_paths;
    /** scopes ended twice, on another thread or too late */
    uint64_t stale_ends;
    /** scopes closed by the end of an outer scope or of their thread */
    uint64_t misordered_ends;
    /** scope instances overwritten by later ones (option events) */
    uint64_t dropped_events;
    /** lines with RESMON_LINE() after the first 256 */
    uint64_t dropped_lines;
    /** children of a fork (and their children) that had scopes but no monitor: these scopes are in
     * no run */
    uint64_t dropped_forks;
    /** processes without an entry, after the first 16384 (option each) */
    uint64_t dropped_processes;
} resmon_run_info;

/** How a program ended.  Since 0.1. */
typedef struct resmon_run_end {
    size_t struct_size;
    /** description ("ValueError: no such column", "out of memory"), at most 255 bytes; "": none */
    const char *text;
    /** RESMON_END_* */
    int32_t reason;
    /** exit status of the program; 0 also if not known */
    int32_t exit_status;
    /** signal that interrupted or killed it; 0: none, or not known */
    int32_t signal_number;
    int32_t reserved;
} resmon_run_end;

/** Resource usage of the process and of all children that were waited for, as the kernel reports it
 * to the parent (wait4(2)).  For runs that a parent observed (resmon_monitor_set_usage(), the
 * command resmon).  Since 0.1. */
typedef struct resmon_run_usage {
    size_t struct_size;
    /** CPU time in user mode */
    double user_s;
    /** CPU time in kernel mode */
    double system_s;
    /** highest RSS of the largest of these processes (ru_maxrss); at least the RSS of the launching
     * process when it forked */
    double rss_peak_bytes;
    /** page faults without I/O */
    double minor_faults;
    /** page faults with I/O */
    double major_faults;
    /** number of times that a thread waited */
    double voluntary_switches;
    /** number of times that a thread lost its CPU to another one */
    double involuntary_switches;
    /** bytes read from storage */
    double read_bytes;
    /** bytes written to storage, counted when written to the page cache */
    double write_bytes;
    /** time from exec until the parent knew of the end.  If above 0, all usage is from this time,
     * without usage before the exec.  NaN, or 0 of a launcher: not known */
    double wall_s;
} resmon_run_usage;

/** A process that was observed from outside (option each), or that recorded itself and was joined
 * by its observer (resmon_monitor_join(), the command resmon).  The values of the run itself are
 * for all processes.  Since 0.1. */
typedef struct resmon_run_process {
    size_t struct_size;
    /** process id, as the process or its observer sees it */
    int64_t pid;
    /** id of the process that started it; 0: not known, for a process that recorded itself or ran
     * before */
    int64_t parent_pid;
    /** name of its program */
    const char *name;
    /** start of the process or of its recording, since the start of the run */
    int64_t start_ns;
    /** time to its end, or to the last known moment */
    int64_t duration_ns;
    /** CPU time of the process alone, from the kernel's events of its threads; from taskstats if
     * clearly higher, because events can miss up to a third if many threads wait for CPUs.  Of a
     * process that only recorded itself: with its children.  Of a process that still runs: until
     * the end of the run.  NaN: not known */
    double cpu_s;
    /** highest RSS of the process; NaN: not known, as for a very short process */
    double rss_peak_bytes;
    /** number of call paths of its scopes */
    uint64_t scopes;
    /** MEASURED: the kernel's high-water mark at its end (taskstats, root only), or from its own
     * recording; SAMPLED: the mark (VmHWM) at the last check, every 20 ms */
    int32_t rss_peak_provenance;
    /** how it ended: RESMON_END_* */
    int32_t reason;
    /** exit status; 0 also if not known */
    int32_t exit_status;
    /** signal that killed it; 0: none, or not known */
    int32_t signal_number;
    /** MEASURED: see cpu_s; SAMPLED: a lower bound from its CPU clock at the last check, every 20
     * ms at most, because the kernel hides the events of set-user-ID and unreadable programs */
    int32_t cpu_provenance;
    int32_t reserved;
} resmon_run_process;

/** A node of a merged run (resmon_merge_run()).  Since 0.1. */
typedef struct resmon_run_node {
    size_t struct_size;
    /** name in the batch system, else host name; the instance of its columns */
    const char *name;
    /** "stopped", "running", "interrupted": the worst state of its ranks' runs; "missing": a node
     * of the job without any run */
    const char *state;
    /** index of the node in its job, from 0; -1: not known */
    int64_t index;
    /** start of its first run, since the start of the merged run */
    int64_t start_ns;
    /** time until the end of its last run, or the last known moment; -1: missing */
    int64_t duration_ns;
    /** start of the run that has the machine's values */
    int64_t host_start_ns;
    /** duration of the run that has the machine's values; -1: there is none */
    int64_t host_duration_ns;
    /** maximum error of its clock, in either direction, as its kernel reported it (adjtimex); NaN:
     * not known */
    double clock_error_ns;
    /** number of its runs of processes */
    uint64_t ranks;
    /** logical CPUs of the machine; NaN: not known */
    double cpus;
    /** memory of the machine; NaN: not known */
    double memory_bytes;
    /** CPUs of the machine that are allocated to the job; NaN: not known from the batch system */
    double allotted_cpus;
    /** memory of the machine that is allocated to the job; NaN: not known from the batch system */
    double allotted_bytes;
    /** CPU time of the job's processes on the node; of the job's cgroup if no process was observed;
     * NaN: not known */
    double cpu_s;
    /** highest memory of the job on the node: working set of its cgroup, else RSS of its processes;
     * NaN: not known */
    double used_bytes;
    /** number of GPUs of the machine; NaN: none, or not known */
    double gpus;
    /** CPU model, as the machine reports it */
    const char *cpu_model;
    /** GPUs: "2 x NVIDIA H100 80GB HBM3" */
    const char *gpu_model;
    /** kernel release */
    const char *kernel;
    /** processor sockets with an online CPU; NaN: not known */
    double sockets;
    /** physical cores with an online CPU; NaN: not known */
    double cores;
    /** NUMA nodes; NaN: not known */
    double numa_nodes;
    /** 1: metrics of the tree are of all processes of the job on the node, as a monitor of the job
     * measured them (resmon job start) that observed all ranks from begin to end; 0: sums over its
     * ranks */
    uint64_t has_job;
} resmon_run_node;

/** A process of a merged run, with its children; in the order of ranks.  Its values are the main
 * values of its own run.  Since 0.1. */
typedef struct resmon_run_rank {
    size_t struct_size;
    /** rank in its job; -1: none */
    int64_t rank;
    /** index of its node */
    int64_t node;
    /** rank on its node; -1: not known */
    int64_t local_rank;
    /** process id; 0: not known */
    int64_t pid;
    /** name of its program */
    const char *name;
    /** "stopped", "running" or "interrupted" */
    const char *state;
    /** start, since the start of the merged run */
    int64_t start_ns;
    /** time to its end, or to the last known moment */
    int64_t duration_ns;
    /** CPU time */
    double cpu_s;
    /** CPU time in user mode */
    double cpu_user_s;
    /** CPU time in kernel mode */
    double cpu_system_s;
    /** highest RSS of its largest process */
    double rss_peak_bytes;
    /** bytes read from storage */
    double read_bytes;
    /** bytes written to storage */
    double write_bytes;
    /** its share of the machine's energy */
    double energy_j;
    /** description of how it ended; "": none */
    const char *text;
    /** MEASURED: the kernel's high-water mark; SAMPLED: the highest value seen */
    int32_t rss_peak_provenance;
    /** how it ended: RESMON_END_* */
    int32_t reason;
    /** exit status; 0 also if not known */
    int32_t exit_status;
    /** signal that killed it; 0: none, or not known */
    int32_t signal_number;
} resmon_run_rank;

/** The main values of a run.  CPU time, I/O and energy include the children of the process if
 * known.  Since 0.1. */
typedef struct resmon_headline {
    size_t struct_size;
    /** time from start to stop; for a command that its parent measured, from exec to end */
    double wall_s;
    /** CPU time */
    double cpu_s;
    /** CPU time in user mode: of the process alone; with its children if the run has their usage
     * (resmon_run_get_usage()) */
    double cpu_user_s;
    /** CPU time in kernel mode, of the processes that cpu_user_s includes */
    double cpu_system_s;
    /** highest RSS of the process alone; of the largest of the process and its children if the run
     * has their usage */
    double rss_peak_bytes;
    /** highest sampled sum of the RSS of the process and its children; shared pages count for each
     * process */
    double tree_rss_max_bytes;
    /** bytes read from storage */
    double read_bytes;
    /** bytes written to storage */
    double write_bytes;
    /** bytes of read calls, also from caches, pipes and sockets; without this library's own (B) */
    double read_chars;
    /** bytes of write calls; without this library's own (B) */
    double write_chars;
    /** share of the machine's energy */
    double energy_j;
    /** CO2eq of energy_j (g) */
    double gco2eq;
    /** MEASURED: the kernel's high-water mark, which rose during the run and is exact, or the usage
     * at the end; SAMPLED: the highest RSS that a sample or a scope saw, if the mark is older than
     * the run or not known */
    int32_t rss_peak_provenance;
    /** provenance of the machine's energy, of its least certain component */
    int32_t energy_provenance;
} resmon_headline;

/** A fact that does not change during a run.  Since 0.1. */
typedef struct resmon_run_fact_entry {
    size_t struct_size;
    /** "run", "machine", "job", "settings", "energy", "labels" */
    const char *group;
    /** name of the fact in its group */
    const char *key;
    /** value as text, also of a number */
    const char *value;
    /** 1: the value is a number, 0: a text */
    int32_t is_number;
    int32_t reserved;
} resmon_run_fact_entry;

/** A named point in time, set by the program.  Since 0.1. */
typedef struct resmon_run_tag {
    size_t struct_size;
    /** time since the start */
    int64_t t_ns;
    /** text of the tag */
    const char *label;
} resmon_run_tag;

/** A file or call that columns are read from.  Since 0.1. */
typedef struct resmon_run_source {
    size_t struct_size;
    /** name of the source: "proc_mem" */
    const char *name;
    /** description of the status, or a remark; "": none */
    const char *reason;
    /** number of reads */
    uint64_t reads;
    /** number of failed reads */
    uint64_t failures;
    /** total time of all reads */
    uint64_t cost_ns;
    /** time of the slowest read */
    uint64_t cost_max_ns;
    /** read with every n-th sample; more than 1 for expensive sources */
    uint64_t every;
    /** RESMON_OK, or why there are no values */
    resmon_status status;
    /** provenance of its values */
    int32_t provenance;
} resmon_run_source;

/** A metric of an instance, with statistics over every sample (not over the rows of the table).
 * Statistics of a column.  For a counter, first and last are growth since the start; min, max,
 * mean, p50 and p95 are rates per second.  Since 0.1. */
typedef struct resmon_column {
    size_t struct_size;
    /** "proc.mem.rss" */
    const char *metric;
    /** "/" for a file system; "" for most metrics */
    const char *instance;
    /** unit of its values; MIN, MAX and MEAN of a counter are per second */
    const char *unit;
    /** name of the source that reads it */
    const char *source;
    /** number of readings */
    uint64_t n;
    /** first reading */
    double first;
    /** last reading */
    double last;
    /** lowest value */
    double min;
    /** highest value; rates: over at least 0.5 ms; waiting times of tasks: at most 1 */
    double max;
    /** time-weighted mean */
    double mean;
    /** gauge: value * seconds; counter: total growth */
    double integral;
    /** median of the readings; within 1 % of a value that was read */
    double p50;
    /** 95th percentile of the readings, each counted once; may be below the mean if few readings
     * have most of the total */
    double p95;
    /** time that the mean covers */
    double duration_s;
    /** counter: number of times that it decreased; the amounts lost there are not corrected */
    uint64_t resets;
    /** time with values of at least 20, 40, 80 and 100; for percentages */
    double over_s[4];
    /** RESMON_GAUGE or RESMON_COUNTER */
    int32_t kind;
    /** RESMON_LEVEL_* */
    int32_t level;
} resmon_column;

/** A value that may be an estimate, with its 95 % confidence interval (<resmon/run.h> explains it).
 * If each call was measured, both ends equal the value.  Since 0.1. */
typedef struct resmon_estimate {
    /** the value; NaN: not known */
    double value;
    /** low end of the interval */
    double low;
    /** high end of the interval; NaN: not known */
    double high;
} resmon_estimate;

/** A call path of scopes, all threads together.  Since 0.1. */
typedef struct resmon_run_scope {
    size_t struct_size;
    /** name of the scope */
    const char *name;
    /** end of the path of the source file of the first site with this name and path */
    const char *file;
    /** function of the site; "" for scopes begun by name */
    const char *function;
    /** line of the site */
    uint64_t line;
    /** index of the enclosing scope; -1: none */
    int64_t parent;
    /** 0: outermost */
    uint64_t depth;
    /** number of instances, with those still open at the end; a direct recursion is one instance
     * (see `folded`) */
    uint64_t calls;
    /** direct recursions inside these instances */
    uint64_t folded;
    /** number of threads that visited it */
    uint64_t threads;
    /** inclusive wall time, summed over calls and threads; open instances: until the end of the run
     */
    double wall_ns;
    /** wall_ns without the scopes inside, and without scopes that the thread ran meanwhile below
     * other scopes (RESMON_SCOPE_UNDER) */
    double self_ns;
    /** wall time of the shortest ended call; NaN: none ended */
    double wall_min_ns;
    /** wall time of the longest call; an open call counts if no other call is open */
    double wall_max_ns;
    /** standard deviation of ended calls; NaN: fewer than two */
    double wall_stddev_ns;
    /** part of calls not finished at the end of the run, or when the program was killed */
    uint64_t open;
    /** part of wall_ns in open instances; for a killed program until the last known moment: the
     * last sample, or the end of a scope after it */
    double open_ns;
    /** part of wall_ns beside the enclosing scope: placed below it with RESMON_SCOPE_UNDER or as a
     * task (<resmon/scope.h>), or OpenMP.  It is not in the parent's self_ns or per-scope metrics
     * (except energy), and may be longer than the parent */
    double concurrent_ns;
    /** part of calls that ended with an error (resmon_scope_fail()); in Python, with an exception
     */
    uint64_t failed;
    /** part of calls still open when the program called exit() or returned from main(), under
     * RESMON: they ended at that moment */
    uint64_t ended_at_exit;
    /** instances whose CPU time was measured (not all when throttled) */
    uint64_t cpu_calls;
    /** CPU time of the thread alone, of all calls; NaN: not measured */
    resmon_estimate cpu_ns;
    /** instances whose CPU time of the process was measured */
    uint64_t pcpu_calls;
    /** CPU time of the process (all threads) and its descendants during the scope, of all calls;
     * instances that overlap in threads each count all of it.  NaN: not measured.  See
     * <resmon/run.h> */
    resmon_estimate pcpu_ns;
    /** CPU time of the process alone, in pcpu_ns */
    resmon_estimate pcpu_process_ns;
    /** instances whose peak was measured */
    uint64_t rss_calls;
    /** highest RSS of the process in any instance; NaN: not measured */
    double rss_peak_bytes;
    /** instances whose I/O was measured */
    uint64_t io_calls;
    /** bytes of read calls of the whole process during the scope, without the reads of this
     * library; instances that overlap each count all of it.  NaN: not measured (B) */
    resmon_estimate io_read_chars;
    /** bytes of write calls of the process (B) */
    resmon_estimate io_write_chars;
    /** number of read calls of the process */
    resmon_estimate io_read_count;
    /** number of write calls of the process */
    resmon_estimate io_write_count;
    /** bytes that the process read from storage */
    resmon_estimate io_read_bytes;
    /** bytes that the process wrote to storage */
    resmon_estimate io_write_bytes;
    /** instances whose performance counters were read */
    uint64_t counter_calls;
    /** share of the time in which the counters ran, 0 ... 1; counts are scaled to the whole time;
     * NaN: not counted */
    double counter_running;
    /** counts of each counter of the run (resmon_run_get_counter()), of all calls, on the scope's
     * own threads, with the scopes inside; NaN: not known; NULL: none was counted.  If counters
     * shared the processor's counters (counter_running below 1), value and ends are scaled to the
     * whole time; the error of scaling is not in the interval */
    const resmon_estimate *counters;
    /** share of the process tree's energy (see <resmon/energy.h>), with the scopes inside and
     * below; NaN: not known, as for tasks */
    double energy_j;
    /** maximum error of energy_j because the scope began or ended between two samples, or was not
     * alone; assumes power between zero and twice its mean */
    double energy_uncertainty_j;
    /** energy_j / 3.6e6 */
    double energy_kwh;
    /** energy_kwh * pue * g_per_kwh; NaN: not known */
    double energy_gco2eq;
    /** further parts of these calls, after a suspension (resmon_scope_resumed()), as in Python
     * generators.  Shortest, longest, standard deviation and the numbers of measured instances
     * count each part */
    uint64_t resumed;
    /** MEASURED; SAMPLED: measured in some calls only, so the value is an estimate */
    int32_t cpu_provenance;
    /** MEASURED: in each call, and no descendant lived at its begin or end; else SAMPLED */
    int32_t pcpu_provenance;
    /** MEASURED: exact; SAMPLED: an instance was missed or only sampled */
    int32_t rss_provenance;
    /** as cpu_provenance */
    int32_t io_provenance;
    /** MEASURED; SAMPLED: counts were scaled, or not all instances were read */
    int32_t counter_provenance;
    /** SHARED: of measured energy; MODELLED: of modelled energy */
    int32_t energy_provenance;
} resmon_run_scope;

/** The wall times (wall_ns) of a scope in the ranks of a merged run.  Since 0.1. */
typedef struct resmon_scope_spread {
    size_t struct_size;
    /** number of ranks with the scope */
    uint64_t ranks;
    /** mean of these ranks */
    double mean_ns;
    /** wall time of the fastest rank */
    double min_ns;
    /** wall time of the slowest rank */
    double max_ns;
    /** fastest rank: index of ranks[] */
    int64_t min_rank;
    /** slowest rank: index of ranks[] */
    int64_t max_rank;
    /** max_ns / mean_ns - 1: 0 if all ranks are equal, 1 if one takes twice the mean */
    double imbalance;
    /** ranks * (max_ns - mean_ns): the time that all ranks wait for the slowest one, if they wait
     */
    double lost_ns;
} resmon_scope_spread;

/** A performance counter of scopes (see scope_counters in <resmon/monitor.h>).  Since 0.1. */
typedef struct resmon_run_counter {
    size_t struct_size;
    /** name of the event */
    const char *name;
    /** "1" or "s" */
    const char *unit;
    /** why it is not counted, or a remark; "": none */
    const char *reason;
    /** RESMON_OK: it is counted */
    resmon_status status;
    int32_t reserved;
} resmon_run_counter;

/** A line with a checkpoint (RESMON_LINE() in <resmon/scope.h>) and the intervals that ended there,
 * in all threads.  In a thread, intervals of one function do not overlap; those of a function that
 * it calls are inside its own.  Since 0.1. */
typedef struct resmon_run_line {
    size_t struct_size;
    /** file name as passed to the compiler; its first 191 bytes */
    const char *file;
    /** function of the line */
    const char *function;
    /** line number */
    uint64_t line;
    /** number of intervals; 0: only ever the first checkpoint of a thread outside any scope */
    uint64_t hits;
    /** sum of the intervals */
    double wall_ns;
    /** part of hits with the RSS known at both ends */
    uint64_t rss_hits;
    /** growth of the process's RSS in the intervals, negative if it shrank; intervals of threads
     * that run at the same time each count all of it.  NaN: not known */
    double rss_bytes;
    /** highest RSS of the process when the line was passed; NaN: not known */
    double rss_max_bytes;
} resmon_run_line;

/** One instance of a scope; direct recursion is part of its outermost instance.  Since 0.1. */
typedef struct resmon_run_event {
    size_t struct_size;
    /** name of the scope */
    const char *name;
    /** name of the thread; "": not known */
    const char *thread_name;
    /** the kernel's id of the thread */
    uint64_t thread_id;
    /** start, since the start of the run */
    int64_t start_ns;
    /** duration; of an open instance: until the end of the run */
    int64_t duration_ns;
    /** 0: outermost */
    uint64_t depth;
    /** 1: not finished at the end of the run, or when the program was killed */
    uint64_t is_open;
} resmon_run_event;

/** A component that consumes energy.  Texts live as long as the run.  Since 0.1. */
typedef struct resmon_energy_part {
    size_t struct_size;
    /** "cpu", "ram", "gpu" */
    const char *name;
    /** how it is known; "": from the machine's counters */
    const char *method;
    /** energy of the machine since the start; NaN: not known */
    double node_j;
    /** the process tree's share; NaN: not known */
    double tree_j;
    /** provenance of node_j */
    int32_t provenance;
    int32_t reserved;
} resmon_energy_part;

/** The energy of all components together.  NaN: not known.  Texts live as long as the run.  Since
 * 0.1. */
typedef struct resmon_energy {
    size_t struct_size;
    /** energy of the machine: the sum of the known components */
    double node_j;
    /** the process tree's share of node_j */
    double tree_j;
    /** node_j - tree_j, of the components with both known: other programs, and idle */
    double rest_j;
    /** modelled part of node_j (else of tree_j), 0 ... 1 */
    double modelled_share;
    /** node_j / 3.6e6 * pue * g_per_kwh */
    double node_gco2eq;
    /** gCO2eq of tree_j */
    double tree_gco2eq;
    /** node_j / 3.6e6 * wue */
    double node_water_l;
    /** water of tree_j */
    double tree_water_l;
    /** carbon intensity of the place when the run began */
    double g_per_kwh;
    /** power usage effectiveness of the place */
    double pue;
    /** water usage effectiveness of the place */
    double wue;
    /** place of g_per_kwh */
    const char *place;
    /** source of g_per_kwh, to be credited */
    const char *source;
    /** a remark, such as a site file that cannot be read; "": none */
    const char *remark;
    /** provenance of node_j: of its least certain component */
    int32_t provenance;
    /** RESMON_CARBON_BASIS_* */
    int32_t basis;
    /** year of g_per_kwh; 0: not known */
    int32_t year;
    int32_t reserved;
} resmon_energy;

/** A stack with all its samples.  Since 0.1. */
typedef struct resmon_run_stack {
    size_t struct_size;
    /** index of the innermost open scope of the thread; -1: none */
    int64_t scope;
    /** number of frames */
    uint64_t frames;
    /** 1: outer frames are missing */
    uint64_t is_cut;
    /** number of samples, by RESMON_STACK_* */
    uint64_t samples[4];
    /** weight, by RESMON_STACK_*: ns, B, B, B */
    double weight[4];
    /** standard error of weight from sampling: square root of the sum of w^2 (1 - 1/k) over samples
     * of weight w, one in k (Horvitz and Thompson); squares of stacks can be summed */
    double error[4];
} resmon_run_stack;

/** One frame of a stack.  Since 0.1. */
typedef struct resmon_run_frame {
    size_t struct_size;
    /** name of the function; "": not known */
    const char *function;
    /** source file; "": not known */
    const char *file;
    /** path of the program or library; "" for code generated at run time */
    const char *module;
    /** line number; 0: not known */
    uint64_t line;
    /** address in the process; of a caller: of the last byte of the call instruction */
    uint64_t address;
    /** 1: the compiler inlined it into the frame around it */
    uint64_t is_inlined;
    /** `address` in the file of the module, as for addr2line; 0 without a module */
    uint64_t module_offset;
} resmon_run_frame;

/** Status and totals of a kind of stacks.  Since 0.1. */
typedef struct resmon_run_stack_info {
    size_t struct_size;
    /** description of the status; "": none */
    const char *reason;
    /** CPU: ns between two samples of a thread; else page faults */
    uint64_t period;
    /** number of samples */
    uint64_t samples;
    /** weight of all samples: ns, B */
    double weight;
    /** amount of the process in that time, from the kernel; NaN: not known.  CPU: CPU time in ns;
     * MEMORY: sum of all rises of RssAnon in B; FILE: of RssFile and RssShmem together, in B; rises
     * are between two readings some milliseconds apart.  weight / total is the part that stacks
     * explain; for MEMORY above 1 if pages were freed and came back between two readings; RESIDENT:
     * what RssAnon has more at the end than when sampling began, NaN from outside */
    double total;
    /** samples of all kinds that came while a ring or the run was full; lost samples of page faults
     * count as part of the sample before */
    uint64_t lost;
    /** standard error of weight, as in resmon_run_stack */
    double error;
    /** low end of the confidence interval of weight (resmon_stack_interval()) */
    double low_weight;
    /** high end of the confidence interval of weight */
    double high_weight;
    /** RssAnon, or RssFile and RssShmem, when sampling began; NaN: not known */
    double first_bytes;
    /** RssAnon, or RssFile and RssShmem, when sampling ended; NaN: not known */
    double last_bytes;
    /** RESMON_OK: sampled; RESMON_ESTATE: not requested; else why not */
    resmon_status status;
    int32_t reserved;
} resmon_run_stack_info;

/** A moment when memory was high, and a thread at that moment.  Stacks are taken when the RSS has
 * risen enough since the last time, so it may not be the highest moment.  Since 0.1. */
typedef struct resmon_run_peak_stack {
    size_t struct_size;
    /** time since the start */
    int64_t t_ns;
    /** RSS of the process at that time */
    double rss_bytes;
    /** memory left in the cgroup; NaN: no limit */
    double headroom_bytes;
    /** the kernel's id of the thread */
    uint64_t thread_id;
    /** name of the thread; "": not known */
    const char *thread_name;
    /** index of the innermost open scope; -1: none */
    int64_t scope;
    /** number of frames */
    uint64_t frames;
    /** 1: outer frames are missing */
    uint64_t is_cut;
    /** highest RSS at any time, checked every 20 ms; NaN: not known */
    double highest_rss_bytes;
    /** time of the highest RSS; -1: not known */
    int64_t highest_t_ns;
    /** highest RSS in the life of the process: the kernel's high-water mark, which is exact; NaN:
     * not known */
    double life_rss_bytes;
} resmon_run_peak_stack;

RESMON_END_DECLS

#endif
