/* SPDX-License-Identifier: MIT */
/*
 * resmon/records.h - structures that accessors of a run fill in, and codes.
 * Which call gives which: <resmon/run.h>, <resmon/table.h>, <resmon/energy.h>, <resmon/stack.h>.
 *
 * Set struct_size to sizeof the structure before a call.  Texts live as long as the run, and are
 * never NULL.  NaN: not known.
 *
 * Made by cmake/make_records.py from lib/run/records.def: do not edit.
 */
#ifndef RESMON_RECORDS_H
#define RESMON_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/* How a figure came about. */
#define RESMON_PROVENANCE_NONE     0 /**< not known; the reason says why */
#define RESMON_PROVENANCE_MEASURED 1 /**< read from a counter that is exact */
#define RESMON_PROVENANCE_SAMPLED  2 /**< at some moments or calls only: peaks may be missed */
#define RESMON_PROVENANCE_MODELLED 3 /**< computed from other figures by a model */
#define RESMON_PROVENANCE_SHARED   4 /**< a share of something that others use too */

/* Kinds of metrics. */
#define RESMON_GAUGE   1 /**< a level: the value is what it is at the time of the reading */
#define RESMON_COUNTER 2 /**< a total that grows: a run reports the amount since its start */

/* What a figure is of. */
#define RESMON_LEVEL_PROCESS 1 /**< one process, all of its threads */
#define RESMON_LEVEL_TREE    2 /**< a process and all of its descendants, ended ones included */
#define RESMON_LEVEL_CGROUP  3 /**< the cgroup: container, pod, batch job */
#define RESMON_LEVEL_NODE    4 /**< the whole machine as this process sees it */
#define RESMON_LEVEL_DEVICE  5 /**< one device */
#define RESMON_LEVEL_JOB     6 /**< all nodes of a job whose runs were merged */

/* How a program ended. */
#define RESMON_END_UNKNOWN     0 /**< the program is gone, and nobody said how */
#define RESMON_END_RUNNING     1 /**< it has not ended */
#define RESMON_END_FINISHED    2 /**< its work was done, or it stopped its monitor */
#define RESMON_END_FAILED      3 /**< by an exit status that is not 0, or an exception */
#define RESMON_END_INTERRUPTED 4 /**< by its user: SIGINT, KeyboardInterrupt */
#define RESMON_END_KILLED      5 /**< by another signal */

/** What there is to know about a run as a whole.  What observing cost.  What was left out for want
 * of room.  Since 0.1. */
typedef struct resmon_run_info {
    size_t struct_size;
    /** "running", "stopped", or "interrupted": gone before its stop.  How the program ended:
     * resmon_run_get_end() */
    const char *state;
    /** set by resmon_monitor_set_label(); "" by default */
    const char *label;
    /** start, since 1970-01-01 UTC */
    int64_t start_realtime_ns;
    /** from start to stop, or to the last sample */
    int64_t duration_ns;
    /** taken */
    uint64_t samples;
    /** samples per full row of the table: a power of two */
    uint64_t stride;
    /** how often rows of the table were merged */
    uint64_t halvings;
    /** CPU time of the sampling thread, waking included */
    uint64_t sampler_cpu_ns;
    /** time spent taking samples */
    uint64_t sampler_wall_ns;
    /** the longest time that a sample took */
    uint64_t sampler_wall_max_ns;
    /** deadlines that had passed when the sampler woke */
    uint64_t late_samples;
    /** deadlines without a sample, to stay below max_overhead */
    uint64_t skipped_samples;
    /** CPU time of the threads that call sinks and copy the recording, up to the last sample */
    uint64_t delivery_cpu_ns;
    /** CPU time of the thread that asks the driver of the GPUs */
    uint64_t gpus_cpu_ns;
    /** CPU time of the thread that has stacks taken */
    uint64_t stacks_cpu_ns;
    /** time in the signal handler that takes stacks, on the program's threads; the kernel's part of
     * a signal (some us) is not in it */
    uint64_t handlers_ns;
    /** CPU time of all of the library's threads for this run and of its signal handler:
     * sampler_cpu_ns, delivery_cpu_ns, gpus_cpu_ns, stacks_cpu_ns and handlers_ns */
    uint64_t library_cpu_ns;
    /** estimated time that scopes added to the program */
    double scopes_ns;
    /** size of the run block, fixed at start */
    uint64_t memory_bytes;
    /** resident memory that the library has taken: by which the RSS grew when the monitor started,
     * and its block and what it keeps for stacks did since; not the pages of its code: so much of
     * all figures of the process's memory, peaks too; NaN: not known */
    double rss_bytes;
    /** by which the RSS rose beyond that, or a peak did, at most, while snapshots were made and
     * shown to sinks: so much of a peak may be the library's; NaN: none was made, or not known */
    double work_rss_bytes;
    /** rows that the delivery queue to the sinks refused */
    uint64_t dropped_rows;
    /** tags overwritten by later ones */
    uint64_t dropped_tags;
    /** threads that found no slot for their scopes */
    uint64_t dropped_threads;
    /** scope instances that are not in the tree: past a bound, or without a free path */
    uint64_t dropped_scopes;
    /** of those, the ones without a free path (option scope_paths) */
    uint64_t dropped_paths;
    /** scopes ended twice, on another thread or too late */
    uint64_t stale_ends;
    /** scopes closed by the end of an outer one or of their thread */
    uint64_t misordered_ends;
    /** scope instances overwritten by later ones (option events) */
    uint64_t dropped_events;
    /** places of RESMON_LINE() past the first 256 */
    uint64_t dropped_lines;
    /** children of a fork (and theirs) that had scopes and no monitor: those scopes are in no run
     */
    uint64_t dropped_forks;
    /** processes past the first 16384 that have rows (option each) */
    uint64_t dropped_processes;
} resmon_run_info;

/** How a program ended.  Since 0.1. */
typedef struct resmon_run_end {
    size_t struct_size;
    /** in words ("ValueError: no such column", "out of memory"); "": none.  255 bytes are kept */
    const char *text;
    /** how: RESMON_END_* */
    int32_t reason;
    /** of the program; 0 also when it is not known */
    int32_t exit_status;
    /** that interrupted or killed it; 0: none, or not known */
    int32_t signal_number;
    int32_t reserved;
} resmon_run_end;

/** What the kernel had accounted to the process when it ended, with all the children that were
 * waited for: as wait4(2) tells its parent.  Of a run that a parent observed
 * (resmon_monitor_set_usage(), the command resmon).  Since 0.1. */
typedef struct resmon_run_usage {
    size_t struct_size;
    /** CPU time in user mode */
    double user_s;
    /** CPU time in kernel mode */
    double system_s;
    /** highest RSS of the largest one of these processes: ru_maxrss.  What the launching process
     * had when it forked is its lowest value */
    double rss_peak_bytes;
    /** page faults without I/O */
    double minor_faults;
    /** page faults with I/O */
    double major_faults;
    /** times that a thread waited */
    double voluntary_switches;
    /** times that another took its CPU */
    double involuntary_switches;
    /** from storage */
    double read_bytes;
    /** to storage, when it was written to the page cache */
    double write_bytes;
    /** from its exec until its parent knew of its end; where this is above 0, all of the usage is
     * of that time, without what the process had used before its exec.  NaN: not known, as is 0 of
     * a launcher */
    double wall_s;
} resmon_run_usage;

/** A process that was seen from outside (option each), or whose scopes are in the run of whoever
 * observed it (resmon_monitor_join(), the command resmon), as it recorded itself.  The run's own
 * figures are of all processes.  Since 0.1. */
typedef struct resmon_run_process {
    size_t struct_size;
    /** as it knew itself, or as its observer did */
    int64_t pid;
    /** of the process that started it; 0: not known, as of those that recorded themselves or ran
     * before */
    int64_t parent_pid;
    /** of its program */
    const char *name;
    /** when it began, or its recording did, since the start of the run */
    int64_t start_ns;
    /** to its end, or to what is known last */
    int64_t duration_ns;
    /** CPU time of the process alone, as the kernel's events of its threads have it, or its account
     * of them (taskstats) where that has clearly more: events were seen to miss up to a third where
     * many threads wait for processors; of one that only recorded itself, with its children.  of
     * one that runs on, until the end of the run.  NaN: not known */
    double cpu_s;
    /** highest RSS of the process; NaN: not known, as of one that was over too soon */
    double rss_peak_bytes;
    /** call paths of scopes that it had */
    uint64_t scopes;
    /** MEASURED: the kernel's mark at its end (taskstats, which root may have), or of its own
     * recording; SAMPLED: that mark (VmHWM) at the latest look, each 20 ms */
    int32_t rss_peak_provenance;
    /** how it ended: RESMON_END_* */
    int32_t reason;
    /** 0 also when it is not known */
    int32_t exit_status;
    /** that killed it; 0: none, or not known */
    int32_t signal_number;
    /** MEASURED: as cpu_s says; SAMPLED: at least so much, by its clock at the latest look, each 20
     * ms at most, as the kernel hides it from its user's events: it has a program with other rights
     * (set-user-ID), or one that may not be read */
    int32_t cpu_provenance;
    int32_t reserved;
} resmon_run_process;

/** A node of several whose runs were merged (resmon_merge_run()).  Since 0.1. */
typedef struct resmon_run_node {
    size_t struct_size;
    /** as the batch system calls it, else of the host; the instance of its columns */
    const char *name;
    /** "stopped", "running", "interrupted": the worst of its ranks' runs; "missing": the job has
     * it, and none of its runs is there */
    const char *state;
    /** of the node in its job, from 0; -1: not known */
    int64_t index;
    /** when the first of its runs began, since the start of the merged one */
    int64_t start_ns;
    /** until the last of them ended, or what is known last; -1: missing */
    int64_t duration_ns;
    /** when the run that has the machine's figures began */
    int64_t host_start_ns;
    /** and how long it was; -1: no run has them */
    int64_t host_duration_ns;
    /** by which its clock may have been wrong, either way, as its kernel said (adjtimex); NaN: it
     * was not asked */
    double clock_error_ns;
    /** runs of processes that are here */
    uint64_t ranks;
    /** logical CPUs of the machine; NaN: not known */
    double cpus;
    /** of the machine; NaN: not known */
    double memory_bytes;
    /** CPUs that the job has of it; NaN: the batch system does not say */
    double allotted_cpus;
    /** memory that the job has of it; NaN: the same */
    double allotted_bytes;
    /** CPU time of the job's processes there; of the job's cgroup where no process was observed;
     * NaN: not known */
    double cpu_s;
    /** memory of the job there at its highest: of its cgroup, without what can be had back, else of
     * its processes; NaN: not known */
    double used_bytes;
    /** of the machine; NaN: none, or not known */
    double gpus;
    /** as the machine calls it */
    const char *cpu_model;
    /** "2 x NVIDIA H100 80GB HBM3" */
    const char *gpu_model;
    /** its release */
    const char *kernel;
} resmon_run_node;

/** A process of several whose runs were merged, with its children; in the order of ranks.  Its
 * figures are those that its own run has in front.  Since 0.1. */
typedef struct resmon_run_rank {
    size_t struct_size;
    /** in its job; -1: it has none */
    int64_t rank;
    /** index of its node */
    int64_t node;
    /** on its node; -1: not known */
    int64_t local_rank;
    /** 0: not known */
    int64_t pid;
    /** of its program */
    const char *name;
    /** "stopped", "running", "interrupted" */
    const char *state;
    /** since the start of the merged run */
    int64_t start_ns;
    /** to its end, or to what is known last */
    int64_t duration_ns;
    /** CPU time */
    double cpu_s;
    /** in user mode */
    double cpu_user_s;
    /** in kernel mode */
    double cpu_system_s;
    /** highest RSS of its largest process */
    double rss_peak_bytes;
    /** from storage */
    double read_bytes;
    /** to storage */
    double write_bytes;
    /** its share of its machine's energy */
    double energy_j;
    /** how it ended, in words; "": none */
    const char *text;
    /** MEASURED: by the kernel's mark; SAMPLED: the highest that was seen */
    int32_t rss_peak_provenance;
    /** how it ended: RESMON_END_* */
    int32_t reason;
    /** 0 also when it is not known */
    int32_t exit_status;
    /** that killed it; 0: none, or not known */
    int32_t signal_number;
} resmon_run_rank;

/** The figures that are asked for first.  CPU time, I/O and energy are those of the process and its
 * children, where these are known, else of the process.  Since 0.1. */
typedef struct resmon_headline {
    size_t struct_size;
    /** from start to stop; of a command that its parent timed, from its exec to its end */
    double wall_s;
    /** CPU time */
    double cpu_s;
    /** its CPU time in user mode: of the process alone, and with its children where the run knows
     * its usage (resmon_run_get_usage()) */
    double cpu_user_s;
    /** likewise: in kernel mode */
    double cpu_system_s;
    /** highest RSS of the process alone, and of the largest one of it and its children where the
     * run knows its usage */
    double rss_peak_bytes;
    /** with its children: the highest sample of the sum; pages that they share count for each */
    double tree_rss_max_bytes;
    /** from storage */
    double read_bytes;
    /** to storage */
    double write_bytes;
    /** by read calls, from caches, pipes and sockets too; without this library's own (B) */
    double read_chars;
    /** by write calls; without this library's own (B) */
    double write_chars;
    /** its share of the machine's energy */
    double energy_j;
    /** CO2eq of that (g) */
    double gco2eq;
    /** MEASURED: by the kernel's mark, which rose during the run and misses nothing, or by its
     * account at the end; SAMPLED: the highest that a sample or a scope saw, as the process was
     * higher before the run began, or its mark is not known */
    int32_t rss_peak_provenance;
    /** SHARED: of a machine that is measured; MODELLED: of another */
    int32_t energy_provenance;
} resmon_headline;

/** Something that does not change during a run.  Since 0.1. */
typedef struct resmon_run_fact_entry {
    size_t struct_size;
    /** "run", "machine", "job", "settings", "energy" */
    const char *group;
    /** its name in the group */
    const char *key;
    /** as text, also of a number */
    const char *value;
    /** 1: the value is a number, 0: a text */
    int32_t is_number;
    int32_t reserved;
} resmon_run_fact_entry;

/** A mark that the program set.  Since 0.1. */
typedef struct resmon_run_tag {
    size_t struct_size;
    /** since the start */
    int64_t t_ns;
    /** its text */
    const char *label;
} resmon_run_tag;

/** A file or call that columns are read from.  Since 0.1. */
typedef struct resmon_run_source {
    size_t struct_size;
    /** of the source: "proc_mem" */
    const char *name;
    /** the status in words, or what to know; "" if nothing */
    const char *reason;
    /** how often it was read */
    uint64_t reads;
    /** reads that failed */
    uint64_t failures;
    /** time spent reading it, in total */
    uint64_t cost_ns;
    /** time of the slowest read */
    uint64_t cost_max_ns;
    /** it is read with every n-th sample; n is more than 1 for costly ones */
    uint64_t every;
    /** RESMON_OK, or why there are no figures */
    resmon_status status;
    /** how its figures come about */
    int32_t provenance;
} resmon_run_source;

/** A metric of an instance, and its statistics over every sample (never over the table's rows).
 * Statistics of a column.  Of a counter, first and last are amounts since the start; min, max,
 * mean, p50 and p95 are of its rate per second.  Since 0.1. */
typedef struct resmon_column {
    size_t struct_size;
    /** "proc.mem.rss" */
    const char *metric;
    /** "/" for a file system; "" for most */
    const char *instance;
    /** of its values; MIN, MAX and MEAN of a counter are per second */
    const char *unit;
    /** name of the source that reads it */
    const char *source;
    /** readings */
    uint64_t n;
    /** the first reading */
    double first;
    /** the last reading */
    double last;
    /** the lowest */
    double min;
    /** the highest; of rates: of those over 0.5 ms at least; of time that tasks waited, 1 at most
     */
    double max;
    /** weighted with time */
    double mean;
    /** gauge: value times seconds; counter: total growth */
    double integral;
    /** median of the readings; within 1 % of a value that was seen */
    double p50;
    /** of readings, each of them once: below the mean where few have most of it */
    double p95;
    /** time that the mean is over */
    double duration_s;
    /** counter: times it ran backwards; what was lost there is not made up */
    uint64_t resets;
    /** time at or over 20, 40, 80, 100: meant for percentages */
    double over_s[4];
    /** RESMON_GAUGE or RESMON_COUNTER */
    int32_t kind;
    /** RESMON_LEVEL_*: what it is of */
    int32_t level;
} resmon_column;

/** A figure that may be an estimate.  Where the truth lies with 95 % says <resmon/run.h>; of one
 * that was measured at each call, both ends are the figure itself.  Since 0.1. */
typedef struct resmon_estimate {
    /** the figure; NaN: not known */
    double value;
    /** low end of its interval */
    double low;
    /** high end; NaN: not known */
    double high;
} resmon_estimate;

/** A call path of scopes, all threads together.  Since 0.1. */
typedef struct resmon_run_scope {
    size_t struct_size;
    /** of the scope */
    const char *name;
    /** tail of the path of the first site with this name and path */
    const char *file;
    /** that the site is in; "" for scopes begun by name */
    const char *function;
    /** of the site */
    uint64_t line;
    /** index of the enclosing scope; -1 at the top */
    int64_t parent;
    /** 0 at the top */
    uint64_t depth;
    /** instances, with those that were open at the end; direct recursion counts once, in `folded`
     */
    uint64_t calls;
    /** direct recursions inside those */
    uint64_t folded;
    /** threads that visited it */
    uint64_t threads;
    /** inclusive, summed over calls and threads; of open instances what they had by then */
    double wall_ns;
    /** wall_ns without the scopes inside, nor those that the thread meanwhile ran below other
     * scopes (RESMON_SCOPE_UNDER) */
    double self_ns;
    /** of the shortest call that ended; NaN: none did */
    double wall_min_ns;
    /** of the longest, also if it is the only one that is open */
    double wall_max_ns;
    /** of calls that ended; NaN: fewer than two */
    double wall_stddev_ns;
    /** of calls, those not finished at the end of the run, or when it was killed */
    uint64_t open;
    /** of wall_ns, the time that the open instances have lasted; of a killed program, until the
     * latest moment of which something is known: the last sample, or what ended in scopes after it
     */
    double open_ns;
    /** of wall_ns, what ran beside the enclosing scope: hung below it (RESMON_SCOPE_UNDER and tasks
     * in <resmon/scope.h>, OpenMP).  That is no part of the parent's self_ns, nor of its meters,
     * but for energy, and may be longer than the parent */
    double concurrent_ns;
    /** of the calls, those that an error ended (resmon_scope_fail()): of Python an exception that
     * left them */
    uint64_t failed;
    /** of the calls, those that were open when the program called exit(), or returned from main(),
     * under RESMON: they ended with it */
    uint64_t ended_at_exit;
    /** instances whose CPU time was taken (not all when throttled) */
    uint64_t cpu_calls;
    /** CPU time of the thread alone, of all calls; NaN: not metered */
    resmon_estimate cpu_ns;
    /** instances whose CPU time of the process was taken */
    uint64_t pcpu_calls;
    /** CPU time of the process, all of its threads, and of its descendants while in the scope, of
     * all calls; instances that overlap in threads each count it all.  NaN: not metered.  See
     * <resmon/run.h> */
    resmon_estimate pcpu_ns;
    /** CPU time of the process alone */
    resmon_estimate pcpu_process_ns;
    /** instances whose peak was taken */
    uint64_t rss_calls;
    /** highest RSS of the process in any instance; NaN: not metered */
    double rss_peak_bytes;
    /** instances whose I/O was taken */
    uint64_t io_calls;
    /** bytes of read calls of the whole process while in the scope, less what this library itself
     * read; instances that overlap each count it all; NaN: not metered (B) */
    resmon_estimate io_read_chars;
    /** bytes of write calls of the process (B) */
    resmon_estimate io_write_chars;
    /** read calls of the process */
    resmon_estimate io_read_count;
    /** write calls of the process */
    resmon_estimate io_write_count;
    /** bytes that the process had fetched from storage */
    resmon_estimate io_read_bytes;
    /** bytes that the process caused to be sent to storage */
    resmon_estimate io_write_bytes;
    /** instances whose performance counters were read */
    uint64_t counter_calls;
    /** share of their time in which the counters ran, 0 ... 1; counts are scaled to all of it; NaN:
     * not counted */
    double counter_running;
    /** what each counter of the run (resmon_run_get_counter()) counted, of all calls, on the
     * scope's own threads and with the scopes inside; NaN: not known; NULL: none was counted.  Of
     * counters that had to share the processor's (counter_running below 1), figures and ends are
     * scaled to all of the time; what that may be wrong by is not in the interval */
    const resmon_estimate *counters;
    /** of the process tree's energy (<resmon/energy.h> says how), with the scopes inside and those
     * hung below; NaN: not known, as of tasks */
    double energy_j;
    /** by which that may be wrong because the scope began or ended between two samples, or was not
     * alone; power that varies from nothing to twice its mean is assumed */
    double energy_uncertainty_j;
    /** energy_j / 3.6e6 */
    double energy_kwh;
    /** energy_kwh * pue * g_per_kwh; NaN: not known */
    double energy_gco2eq;
    /** further stretches of those, that went on with one that was suspended
     * (resmon_scope_resumed()): of Python generators.  Shortest, longest and deviation are of
     * stretches, and so are the numbers of instances that meters took */
    uint64_t resumed;
    /** MEASURED, or SAMPLED when the meter was taken at some of the calls only: then the figure is
     * an estimate */
    int32_t cpu_provenance;
    /** MEASURED: at each call, and no descendant lived when it began or ended; else SAMPLED */
    int32_t pcpu_provenance;
    /** MEASURED: exact; SAMPLED: an instance was missed or only sampled */
    int32_t rss_provenance;
    /** as cpu_provenance */
    int32_t io_provenance;
    /** MEASURED, or SAMPLED when scaled, or when not all instances were read */
    int32_t counter_provenance;
    /** SHARED: of a machine that is measured; MODELLED: of another */
    int32_t energy_provenance;
} resmon_run_scope;

/** A scope over the ranks of a merged run that were in it: the wall time (wall_ns) of each.  Since
 * 0.1. */
typedef struct resmon_scope_spread {
    size_t struct_size;
    /** that were in it */
    uint64_t ranks;
    /** of these ranks */
    double mean_ns;
    /** of the one that was through first */
    double min_ns;
    /** of the one that took longest */
    double max_ns;
    /** which one that was: index of ranks[] */
    int64_t min_rank;
    /** likewise */
    int64_t max_rank;
    /** max_ns / mean_ns - 1: 0 where all took as long, 1 where one took twice the mean */
    double imbalance;
    /** ranks * (max_ns - mean_ns): what all of them wait for the slowest one, where they must */
    double lost_ns;
} resmon_scope_spread;

/** A performance counter of scopes (see scope_counters in <resmon/monitor.h>).  Since 0.1. */
typedef struct resmon_run_counter {
    size_t struct_size;
    /** of the event */
    const char *name;
    /** "1", or "s" */
    const char *unit;
    /** why it is not counted, or what it stands for; "" if nothing */
    const char *reason;
    /** RESMON_OK: it is counted */
    resmon_status status;
    int32_t reserved;
} resmon_run_counter;

/** A line with a checkpoint (RESMON_LINE in <resmon/scope.h>, which says where stretches begin):
 * the stretches that ended there, in all threads.  Stretches of one function do not overlap in a
 * thread; those of a function that it calls lie inside of its own.  Since 0.1. */
typedef struct resmon_run_line {
    size_t struct_size;
    /** as the compiler was told; its first 191 bytes */
    const char *file;
    /** that the line is in */
    const char *function;
    /** its number */
    uint64_t line;
    /** stretches; 0: only ever the first checkpoint of a thread outside of any scope */
    uint64_t hits;
    /** that they took together */
    double wall_ns;
    /** of the hits, those with the RSS known at both ends */
    uint64_t rss_hits;
    /** by which the process's RSS grew meanwhile, less than 0 when it shrank; of threads that ran
     * at once, each has all of it.  NaN: not known */
    double rss_bytes;
    /** the process's RSS when the line was passed, the highest of all times; NaN: not known */
    double rss_max_bytes;
} resmon_run_line;

/** One instance of a scope; direct recursion is part of its outermost one.  Since 0.1. */
typedef struct resmon_run_event {
    size_t struct_size;
    /** of the scope */
    const char *name;
    /** "" when not known */
    const char *thread_name;
    /** the kernel's number of the thread */
    uint64_t thread_id;
    /** since the start of the run */
    int64_t start_ns;
    /** of one that is open: until the end of the run */
    int64_t duration_ns;
    /** 0: outermost */
    uint64_t depth;
    /** 1: not finished at the end of the run, or when it was killed */
    uint64_t is_open;
} resmon_run_event;

/** A component that consumes energy.  Texts live as long as the run.  Since 0.1. */
typedef struct resmon_energy_part {
    size_t struct_size;
    /** "cpu", "ram", "gpu" */
    const char *name;
    /** how it is known, in words; "": from the machine's counters */
    const char *method;
    /** of the machine, since the start; NaN: not known */
    double node_j;
    /** the process tree's share; NaN: not known */
    double tree_j;
    /** of node_j */
    int32_t provenance;
    int32_t reserved;
} resmon_energy_part;

/** All components together.  NaN: not known.  Texts live as long as the run.  Since 0.1. */
typedef struct resmon_energy {
    size_t struct_size;
    /** of the machine: the sum over the components that are known */
    double node_j;
    /** the process tree's share of node_j */
    double tree_j;
    /** node_j - tree_j of the components of which both are known: energy of other programs, and
     * idle */
    double rest_j;
    /** of node_j (else of tree_j), what a model says: 0 ... 1 */
    double modelled_share;
    /** node_j / 3.6e6 * pue * g_per_kwh */
    double node_gco2eq;
    /** gCO2eq of tree_j */
    double tree_gco2eq;
    /** node_j / 3.6e6 * wue */
    double node_water_l;
    /** water of tree_j */
    double tree_water_l;
    /** of the place, when the run began */
    double g_per_kwh;
    /** power usage effectiveness of the place */
    double pue;
    /** water usage effectiveness of the place */
    double wue;
    /** where g_per_kwh is of */
    const char *place;
    /** whom to credit for g_per_kwh */
    const char *source;
    /** what to know, such as a site file that cannot be read; or "" */
    const char *remark;
    /** of node_j: the least certain of its components' */
    int32_t provenance;
    /** RESMON_CARBON_BASIS_* */
    int32_t basis;
    /** of g_per_kwh; 0: not said */
    int32_t year;
    int32_t reserved;
} resmon_energy;

/** A stack that was seen, with all samples of it.  Since 0.1. */
typedef struct resmon_run_stack {
    size_t struct_size;
    /** index of the innermost open scope of the thread; -1: none */
    int64_t scope;
    /** how many */
    uint64_t frames;
    /** 1: frames further out are missing */
    uint64_t is_cut;
    /** by RESMON_STACK_* */
    uint64_t samples[3];
    /** by RESMON_STACK_*: ns, B, B */
    double weight[3];
    /** standard error of that, as sampling makes it: the root of the sum of w^2 (1 - 1/k) over
     * samples of weight w, of one in k (Horvitz and Thompson); squares of stacks add up */
    double error[3];
} resmon_run_stack;

/** One frame of a stack.  Since 0.1. */
typedef struct resmon_run_frame {
    size_t struct_size;
    /** "" when not known */
    const char *function;
    /** "" when not known */
    const char *file;
    /** path of the program or library; "" for code made at run time */
    const char *module;
    /** 0 when not known */
    uint64_t line;
    /** in the process; callers: of the last byte of the call */
    uint64_t address;
    /** 1: by the compiler into the frame around it */
    uint64_t is_inlined;
    /** `address` in the module's file, as addr2line wants it; 0 without a module */
    uint64_t module_offset;
} resmon_run_frame;

/** What is known about one kind of stacks.  Since 0.1. */
typedef struct resmon_run_stack_info {
    size_t struct_size;
    /** of that; "" when there is nothing to say */
    const char *reason;
    /** CPU: ns between two samples of a thread; else page faults */
    uint64_t period;
    /** taken */
    uint64_t samples;
    /** of all samples: ns, B */
    double weight;
    /** what the process took meanwhile by the kernel's account; NaN: not known.  CPU time, in ns;
     * all rises of RssAnon (MEMORY), or of RssFile and RssShmem together (FILE), from one look to
     * the next some milliseconds later, in B.  weight / total is the part that stacks explain; of
     * MEMORY more than 1 where pages were given back and came again between two looks */
    double total;
    /** samples, of all kinds, that came while a ring or the run was full; those of page faults are
     * charged to the one before them */
    uint64_t lost;
    /** standard error of the weight, as in resmon_run_stack */
    double error;
    /** low end of resmon_stack_interval() of the weight */
    double low_weight;
    /** high end of that */
    double high_weight;
    /** RssAnon, or RssFile and RssShmem, when sampling began; NaN: not known */
    double first_bytes;
    /** and when it ended */
    double last_bytes;
    /** RESMON_OK: taken; RESMON_ESTATE: not asked for; else why not */
    resmon_status status;
    int32_t reserved;
} resmon_run_stack_info;

/** A moment when memory was high, and a thread at it.  Stacks are taken when the RSS has risen by
 * enough since they were taken last, so it need not be the highest.  Since 0.1. */
typedef struct resmon_run_peak_stack {
    size_t struct_size;
    /** since the start */
    int64_t t_ns;
    /** of the process, then */
    double rss_bytes;
    /** that its cgroup had left; NaN: not limited */
    double headroom_bytes;
    /** the kernel's number of the thread */
    uint64_t thread_id;
    /** "" when not known */
    const char *thread_name;
    /** index; -1: none */
    int64_t scope;
    /** how many */
    uint64_t frames;
    /** 1: frames further out are missing */
    uint64_t is_cut;
    /** that was seen, each 20 ms, at any moment; NaN: not known */
    double highest_rss_bytes;
    /** when; -1: not known */
    int64_t highest_t_ns;
    /** the highest in the life of the process, by the kernel's mark, which misses nothing; NaN: not
     * known */
    double life_rss_bytes;
} resmon_run_peak_stack;

RESMON_END_DECLS

#endif
