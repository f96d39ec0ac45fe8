/* SPDX-License-Identifier: MIT */
/*
 * resmon/merge.h - merges the runs of a job's nodes and ranks into one run.
 *
 *     resmon_merge *merge;
 *     resmon_merge_new(&merge);
 *     for each recording or document of the job: resmon_run_load(), resmon_merge_add()
 *     resmon_merge_run(merge, &run);
 *
 * From a shell: resmon merge DIRECTORY -o job.json; from Python: resmon.merge(directory).
 *
 * Who belongs to whom is told by the facts of group "job" (<resmon/job.h>).  Each process that was
 * observed is a rank; one process of each node has the machine's figures, and of several (a monitor
 * beside the job, for one) that which observed longest.
 *
 * Time.  Nodes agree on the time of day as far as their kernels say (clock_error_ns of
 * resmon_run_node), and so do the columns here.  The clock that counts is that of the start, or
 * that of the stop where it was right by more.  Rows are cells of a power of two milliseconds since
 * 1970, as wide as the widest rows that were added, and wider where there are more than 400; a row
 * that lies in two cells is divided by time.  So no second, joule and byte is lost or counted
 * twice, and highest readings stay the highest.
 *
 * Columns are those of the view "job" (resmon_view_at() in <resmon/metric.h>): one of all nodes
 * (level RESMON_LEVEL_JOB, instance ""), then one for each node, with its name as instance.  What
 * is in % is a mean, weighted with CPUs or GPUs; all others add up: of the GPUs of a node, of the
 * processes of a node, of nodes.  Where several add up, no reading tells the lowest and the highest
 * sum: MIN and MAX of rows are NaN then, the statistics' min and max those of the rows' means, and
 * quantiles and times over a limit NaN.
 *
 * Scopes are one where their paths are, over all ranks; resmon_run_get_scope_spread() says how
 * evenly these took their time.  Facts, the label and tags are those of the lowest rank; facts of
 * the machine, those that all have.  Energy: each machine's is counted once, shares add up.
 * Stacks, events of scopes and rows of processes stay in the runs of the ranks.
 */
#ifndef RESMON_MERGE_H
#define RESMON_MERGE_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

typedef struct resmon_merge resmon_merge;

/** One without runs.  Free it with resmon_merge_free().  RESMON_EINVAL, RESMON_ENOMEM.  Thread
 * class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_merge_new(resmon_merge **ret_merge);

/** Frees it; NULL is fine.  Any thread, once nobody uses it.  Since 0.1. */
RESMON_API void resmon_merge_free(resmon_merge *merge);

/**
 * Adds a run, which may be freed then, or a merged one.  The order makes no difference, but to the
 * rounding of sums.
 * RESMON_EINVAL: an argument is NULL, the run is of another job (or of another start of it) than
 * those before, or a process of it is there already: nothing was added.  RESMON_ENOMEM: nothing can
 * be made of the merge any more.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_merge_add(resmon_merge *merge, const resmon_run *run);

/**
 * Makes a run of all that were added, as often as one likes.  Nodes that the job has and of which
 * no run came have the state "missing".  Free it with resmon_run_free().
 * RESMON_ESTATE: there were none; RESMON_EINVAL, RESMON_ENOMEM.
 * Thread class: one thread at a time.  Since 0.1.
 */
RESMON_API resmon_status resmon_merge_run(resmon_merge *merge, resmon_run **ret_run);

/**
 * A merged run in the words of tools that clusters have: `form` "seff", what Slurm's seff prints of
 * a job (CPU time and efficiency, wall time, memory); "jobstats", the line "JS1:..." that
 * Princeton's jobstats keeps in Slurm's AdminComment, and reportseff reads (GPUs of a node are one
 * there, with the sum of their memory and the mean of their use).  What the job was given is known
 * where the batch system says it (node_cpus and node_memory_bytes in <resmon/job.h>).
 * Free `ret_text` with resmon_text_free() of <resmon/report.h>.  RESMON_EINVAL: NULL, no such form,
 * or no merged run; RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_text(const resmon_run *run, const char *form, char **ret_text);

RESMON_END_DECLS

#endif
