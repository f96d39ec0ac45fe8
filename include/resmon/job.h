/* SPDX-License-Identifier: MIT */
/*
 * resmon/job.h - the batch job that a process belongs to, with its node and rank.
 *
 *     resmon_job *job;
 *     resmon_job_info info = {.struct_size = sizeof info};
 *     if (resmon_job_detect(&job) == RESMON_OK && resmon_job_get_info(job, &info) == RESMON_OK) {
 *         printf("%s job %s, rank %lld\n", info.system, info.id, (long long)info.rank);
 *     }
 *     resmon_job_free(job);
 *
 * Batch systems: Slurm, PBS Pro and OpenPBS, Torque, OAR, LSF and Flux.  Launchers: Open MPI 4 and
 * 5, PRRTE, MPICH, Intel MPI, MVAPICH2, Cray PALS and ALPS, and torchrun.  All data come from the
 * environment of the process, and from the node file that it names; no command is run.
 *
 * The batch system provides job and nodes.  The launcher nearest to the process provides the rank:
 * torchrun, for torchrun inside srun.  These variables override what is detected:
 *
 *     RESMON_JOB_ID      id, and with it the key
 *     RESMON_NODE_NAME   node_name
 *     RESMON_NODE_ID     node_index
 *     RESMON_NODES       node_count
 *     RESMON_RANK        rank
 *     RESMON_RANKS       rank_count
 *     RESMON_LOCAL_RANK  local_rank
 *
 * Variables are untrusted input.  A number consists of digits only; an empty, negative or garbled
 * number, or one beyond 63 bits, is treated as not set.  Strings are cut to 255 bytes of valid
 * UTF-8.
 */
#ifndef RESMON_JOB_H
#define RESMON_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** The job of a process.  Since 0.1. */
typedef struct resmon_job resmon_job;

/**
 * Detects the job of this process.  Free it with resmon_job_free().
 * A process without a job is no error: `system` is "" then, and node_name is the host name.  An
 * unreadable node file is no error either; see `remark`.  A set-user-id program has no job, because
 * it does not trust its environment.
 * RESMON_EINVAL: `ret_job` is NULL; RESMON_ENOMEM.
 * Thread class: any thread, while no thread changes the environment.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_detect(resmon_job **ret_job);

/** Frees a job; NULL is allowed.  Any thread, when no other thread uses it.  Since 0.1. */
RESMON_API void resmon_job_free(resmon_job *job);

/**
 * Data of a job.  Unknown strings are "", unknown numbers are -1.  Strings live as long as the job.
 * Set struct_size before the call.  Since 0.1.
 */
typedef struct resmon_job_info {
    size_t struct_size;
    const char *system;    /**< "slurm", "pbs", "torque", "oar", "lsf", "flux"; without a batch
                                system the launcher; "resmon" if only RESMON_JOB_ID or RESMON_RANK
                                is set; "": no job */
    const char *launcher;  /**< source of the rank: "torchrun", "openmpi", "prrte", "mvapich2",
                                "hydra" (MPICH and Intel MPI), "pals", "alps", or "flux" in a job
                                of another system; "": the batch system itself */
    const char *id;        /**< id of the job; Flux ids are UTF-8; MPICH's mpiexec gives none */
    const char *step;      /**< Slurm's step number; "" under mpirun, which is no step */
    const char *array_id;  /**< id of the job array that contains the job */
    const char *name;      /**< name of the job */
    const char *queue;     /**< queue or partition */
    const char *cluster;   /**< name of the cluster */
    const char *user;      /**< owner of the job (Slurm, PBS, Torque, OAR, LSF) */
    const char *node_name; /**< name of the node in the batch system, otherwise the host name */
    const char *key;       /**< equal in all processes of a job step (with mpirun: of that mpirun),
                                and different in all others: "slurm:cluster:4711.0".  Includes the
                                array task and the restart, if any.  For comparison, not for
                                parsing.  "": no job, or a job without id */
    const char *remark;    /**< limits of this data, such as why the hosts are unknown; "": none */
    int64_t array_index;   /**< index of the array task */
    int64_t restarts;      /**< number of restarts of the job; Slurm does not report 0 */
    int64_t node_index;    /**< 0 on the first node, in the order of the batch system or launcher;
                                otherwise the position of node_name in the list of hosts sorted by
                                bytes (by full name, then by the name up to the first dot) */
    int64_t node_count;    /**< nodes of the step, or of the job */
    int64_t rank;          /**< rank of this process.  In a Slurm batch script, which is in no step
                                and runs once, it is 0 of 1.  It is unknown for a program that the
                                script of another system starts directly */
    int64_t rank_count;    /**< ranks of the step; slots of the job if PBS or OAR gives no rank */
    int64_t local_rank;    /**< rank among the ranks on this node */
    int64_t local_rank_count;  /**< ranks on this node */
    int64_t node_cpus;         /**< CPUs of this node in the job (Slurm, PBS, Torque) */
    int64_t node_memory_bytes; /**< memory of this node in the job (Slurm, if it was requested) */
    int64_t time_limit_s;      /**< time limit of the job (Slurm 22.05 and later, Torque) */
} resmon_job_info;

/**
 * Gets the data of a job.
 * RESMON_EINVAL: an argument is NULL, or struct_size is too small.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_get_info(const resmon_job *job, resmon_job_info *ret_info);

/** Returns the number of hosts that the batch system lists; 0: unknown, or `job` is NULL.  Any
 * thread.  Since 0.1. */
RESMON_API size_t resmon_job_host_count(const resmon_job *job);

/** Returns host `index` in the order of the list, without repetitions; NULL past the end.  It lives
 * as long as the job.  Any thread.  Since 0.1. */
RESMON_API const char *resmon_job_host(const resmon_job *job, size_t index);

/**
 * Finds the cgroup that Slurm, PBS, LSF or OAR created for a running job on this node.
 * `id` is the id as the batch system prints it ("4711").  The path is valid for the option `cgroup`
 * of a monitor.  Free `ret_path` with resmon_text_free() of <resmon/report.h>.
 * RESMON_ENOENT: no such cgroup on this node; RESMON_EINVAL: an argument is NULL, or `id` is no job
 * id; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_cgroup(const char *id, char **ret_path);

/**
 * Tells whether an environment variable describes the job and is equal in all its processes.
 * Such variables are set by a batch system or a launcher, or are RESMON_JOB_ID and similar.
 * Variables with the node or the rank of one process are excluded.  A program that starts a process
 * of the job elsewhere should pass on these variables only: others may contain secrets of the batch
 * system.  The value may follow the name ("SLURM_JOB_ID=4711").  Returns false for NULL.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API bool resmon_job_is_shared_variable(const char *name);

/** The names of an expanded host list.  Since 0.1. */
typedef struct resmon_hostlist resmon_hostlist;

/**
 * Expands a host list in Slurm's form: "n[001-003,7],login1" or "rack[0-1]node[08-11]".
 * The order and repetitions are kept.  Numbers are as wide as the first number of their range.
 * Names are separated by commas or white space; only another bracket may follow a bracket.  Free
 * the list with resmon_hostlist_free().
 * RESMON_EFORMAT: another form, or a name of more than 255 bytes; RESMON_ERANGE: more than 65536
 * names, or more than 4 MiB of names; RESMON_EINVAL: an argument is NULL; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_hostlist_expand(const char *text, resmon_hostlist **ret_list);

/** Returns the number of names, repetitions included.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_hostlist_count(const resmon_hostlist *list);

/** Returns name `index`; NULL past the end.  It lives as long as the list.  Any thread.  Since
 * 0.1. */
RESMON_API const char *resmon_hostlist_name(const resmon_hostlist *list, size_t index);

/** Frees a list; NULL is allowed.  Any thread, when no other thread uses it.  Since 0.1. */
RESMON_API void resmon_hostlist_free(resmon_hostlist *list);

RESMON_END_DECLS

#endif
