/* SPDX-License-Identifier: MIT */
/*
 * resmon/merge.h - merges the runs of a job's nodes and ranks into one run.  In libresmon-reader.
 *
 *     resmon_merge *merge;
 *     resmon_run *run, *merged;
 *     resmon_merge_new(&merge);
 *     for (size_t i = 0; i < file_count; i++) {
 *         if (resmon_run_load(files[i], &run) == RESMON_OK) {
 *             resmon_merge_add(merge, run);
 *             resmon_run_free(run);
 *         }
 *     }
 *     resmon_merge_run(merge, &merged);
 *
 * In a shell: resmon merge DIRECTORY -o job.json.  In Python: resmon.merge(directory).
 *
 * Runs belong together by their facts of group "job" (<resmon/job.h>).  Each observed process is a
 * rank; a run of the machine alone is not.  One process of each node provides the values of
 * the machine.  If several do so at the same time (a monitor beside the job, for example), the one
 * that observed longest is used.  A monitor of all processes of the job (resmon job start) is not a
 * rank: its metrics of the tree count on its node instead of the sums over ranks, if it observed
 * them all from begin to end, and any process at all (has_job of resmon_run_node).
 *
 * Time.  The clocks of the nodes are aligned; clock_error_ns of resmon_run_node is the remaining
 * error that the kernels report.  The start time of a run is by its clock at the start, or at the
 * stop if the clock was more exact then.  Rows are cells of a power of two milliseconds since 1970.
 * They are as wide as the widest added row, and wider if there were more than 400, or more than
 * 8 Mi values in all columns (1,000 nodes of 131 columns: 64 rows at most).  A row that lies in two
 * cells is divided by time.  So no second, joule or byte is lost or counted twice, and maxima are
 * kept.
 *
 * Columns.  Each metric of the runs has a column for all nodes (level RESMON_LEVEL_JOB, instance
 * ""), then one per node with the name of the node as instance ("n1"), then one for each instance
 * of a node ("0[n1]": GPU 0 of n1).  Values that add up are sums over the devices and the processes
 * of a node, and over the nodes.  Percentages, pressure (PSI), temperatures, frequencies and ratios
 * are means, over nodes weighted by CPUs or GPUs; but shares of a machine (proc.mem.host_percent)
 * add up over processes, and CPUs in use (tree.cpu.percent) everywhere.  The node's value is that
 * of all whole devices, of all network ports, else of the first instance (file system "/").
 * Instances that overlap or differ (energy.zone, perf.event) add up over nodes alone: "core-0",
 * then "core-0[n1]", ...; gpu.throttle.reasons and cg.mem.peak exist for each node only; the
 * highest RSS of a process is in the list of ranks.
 *
 * The lowest and highest value of a sum are unknown.  MIN and MAX of its rows are therefore NaN;
 * min and max of its statistics are those of the rows' means; quantiles and times over a limit are
 * NaN.
 *
 * Scopes with the same path are combined over all ranks; resmon_run_get_scope_spread() gets
 * the differences of their times between ranks.  Facts, labels and tags are taken from the lowest
 * rank; facts of the machine are kept if all runs agree.  The energy of each machine is counted
 * once; shares are summed.  Stacks, events of scopes, and rows of processes stay in the runs of the
 * ranks.
 */
#ifndef RESMON_MERGE_H
#define RESMON_MERGE_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/** A merge: the runs that were added.  Since 0.1. */
typedef struct resmon_merge resmon_merge;

/**
 * Creates a merge without runs.  Free it with resmon_merge_free().
 * RESMON_EINVAL: `ret_merge` is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_merge_new(resmon_merge **ret_merge);

/** Frees a merge; NULL is allowed.  Any thread, when no other thread uses it.  Since 0.1. */
RESMON_API void resmon_merge_free(resmon_merge *merge);

/**
 * Adds a run, which may itself be a merged run, and may be freed afterwards.
 * The order of the runs only affects the rounding of sums.
 * RESMON_EINVAL: an argument is NULL, the run is of another job (or of another start of the job)
 * than the runs before, or its process was added before; nothing is added then.  RESMON_ENOMEM: the
 * merge is unusable, free it.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_merge_add(resmon_merge *merge, const resmon_run *run);

/**
 * Creates one run from all added runs; may be called repeatedly.
 * Nodes of the job without a run have the state "missing".  Free the run with resmon_run_free().
 * RESMON_ESTATE: no run was added; RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_merge_run(resmon_merge *merge, resmon_run **ret_run);

/**
 * Renders a merged run in the format of other tools.  `form` is one of:
 *
 * - "seff": the output of Slurm's seff (CPU time and efficiency, wall time, memory),
 * - "jobstats": the line "JS1:..." that Princeton's jobstats stores in Slurm's AdminComment, and
 *   reportseff reads.  It has one GPU per node, with the sum of the memory and the mean of the
 *   utilization of all its GPUs.
 *
 * The allocated CPUs and memory are known if the batch system provides them (node_cpus and
 * node_memory_bytes in <resmon/job.h>).  Free `ret_text` with resmon_text_free() of
 * <resmon/report.h>.
 * RESMON_EINVAL: an argument is NULL, `form` is unknown, or the run is not merged; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_text(const resmon_run *run, const char *form, char **ret_text);

RESMON_END_DECLS

#endif
