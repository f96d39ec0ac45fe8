/* SPDX-License-Identifier: MIT */
/*
 * resmon/job.h - the job that a process belongs to: which one, on which of its nodes, which rank.
 *
 * Known are Slurm, PBS Pro and OpenPBS, Torque, OAR, LSF and Flux, and as launchers Open MPI 4 and
 * 5, PRRTE, MPICH, Intel MPI, MVAPICH2, Cray PALS and ALPS, and torchrun.  All of it is read from
 * the environment of the process and from the node file that it names; no command is run.
 *
 * Job and nodes are those of the batch system, the rank is that of the launcher nearest to the
 * process: of torchrun inside srun it is torchrun's.  These variables win over all that was found:
 *
 *     RESMON_JOB_ID      id, and with it the key
 *     RESMON_NODE_NAME   node_name
 *     RESMON_NODE_ID     node_index
 *     RESMON_NODES       node_count
 *     RESMON_RANK        rank
 *     RESMON_RANKS       rank_count
 *     RESMON_LOCAL_RANK  local_rank
 *
 * Variables are outside text.  A number is digits and nothing else; an empty, negative or garbled
 * one, or one beyond 63 bits, counts as not set.  Texts are kept up to 255 bytes, as valid UTF-8.
 */
#ifndef RESMON_JOB_H
#define RESMON_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

typedef struct resmon_job resmon_job;

/**
 * Finds out about the job of this process.  Not to be in a job is no failure: `system` is "" then,
 * and node_name the host name.  RESMON_ENOMEM, RESMON_EINVAL on NULL.  A node file that cannot be
 * read is no failure either, see `remark`.  Free with resmon_job_free().
 * A set-user-id program is in no job: it does not trust its environment.
 * Thread class: any thread, while none changes the environment.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_detect(resmon_job **ret_job);

/** Frees a job; NULL is fine.  Any thread, once nobody uses it.  Since 0.1. */
RESMON_API void resmon_job_free(resmon_job *job);

/**
 * What is known of a job.  Texts are "" and numbers -1 when not known; texts live as long as the
 * job.  Set struct_size before the call.  Since 0.1.
 */
typedef struct resmon_job_info {
    size_t struct_size;
    const char *system;    /**< "slurm", "pbs", "torque", "oar", "lsf", "flux"; the launcher where
                                there is no batch system; "resmon" where RESMON_JOB_ID or
                                RESMON_RANK alone says so; "": no job */
    const char *launcher;  /**< "torchrun", "openmpi", "prrte", "mvapich2", "hydra" (MPICH and Intel
                                MPI), "pals", "alps", or "flux" in a job of another system: who gave
                                the rank; "": the batch system itself */
    const char *id;        /**< of the job.  Flux ids are UTF-8; MPICH's mpiexec gives none */
    const char *step;      /**< Slurm's number of the step; "" under an mpirun, which is none */
    const char *array_id;  /**< of the job array that the job is a task of */
    const char *name;      /**< of the job */
    const char *queue;     /**< or partition */
    const char *cluster;   /**< name of the cluster */
    const char *user;      /**< whose job it is (Slurm, PBS, Torque, OAR, LSF) */
    const char *node_name; /**< as the batch system calls the node, else the host name */
    const char *key;       /**< the same in all processes of a job step (with mpirun: of that
                                mpirun) and in no others, with the array task and the restart if
                                there are any: "slurm:cluster:4711.0".  To compare, not to parse.
                                "": no job, or one without an id */
    const char *remark;    /**< what to know about the above, "" if nothing: why the hosts are not
                                known, for one */
    int64_t array_index;   /**< of the array task */
    int64_t restarts;      /**< how often the job was started again; Slurm does not say 0 */
    int64_t node_index;    /**< 0 on the first node: as the batch system or the launcher counts,
                                else the position of node_name among the hosts when they are
                                sorted by bytes (by full name, then by the name up to the first
                                dot) */
    int64_t node_count;    /**< nodes of the step, or of the job */
    int64_t rank;          /**< of this process.  In the batch script, which is in no step and runs
                                once, Slurm's rank is 0 of 1; of a program that the script of
                                another system starts by itself it is not known */
    int64_t rank_count; /**< ranks of the step; where PBS and OAR give no rank, slots of the job */
    int64_t local_rank; /**< among the ranks on this node */
    int64_t local_rank_count;  /**< ranks on this node */
    int64_t node_cpus;         /**< CPUs of this node that the job has (Slurm, PBS, Torque) */
    int64_t node_memory_bytes; /**< memory of this node that the job has (Slurm, where it is asked
                                  for) */
    int64_t time_limit_s;      /**< how long the job may run (Slurm 22.05 and later, Torque) */
} resmon_job_info;

/** RESMON_EINVAL on NULL or a short struct_size.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_job_get_info(const resmon_job *job, resmon_job_info *ret_info);

/** How many hosts the job has, as far as the batch system lists them; 0: not known.  Since 0.1. */
RESMON_API size_t resmon_job_host_count(const resmon_job *job);

/** Host `index`, in the order of the list, each once; NULL past the end.  It lives as long as the
 * job.  Any thread.  Since 0.1. */
RESMON_API const char *resmon_job_host(const resmon_job *job, size_t index);

/**
 * The control group that Slurm, PBS or LSF made for a running job on this node, as the option
 * `cgroup` of a monitor takes it; `id` as the batch system prints it ("4711").  Free `ret_path`
 * with resmon_text_free() of <resmon/report.h>.  RESMON_ENOENT: there is none here; RESMON_EINVAL:
 * NULL, or no id; RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_job_cgroup(const char *id, char **ret_path);

/**
 * Whether a variable of the environment is one that jobs are told by, and the same for all of a
 * job's processes: of a batch system, a launcher, or RESMON_JOB_ID and the like; none of those that
 * say which node or rank a process is.  Whoever starts a process of the job elsewhere passes these
 * on, and no others: some variables of batch systems are secrets.  `name` may have its value behind
 * it ("SLURM_JOB_ID=4711").  False on NULL.  Thread class: any thread.  Since 0.1.
 */
RESMON_API bool resmon_job_is_shared_variable(const char *name);

/** The names that a host list stands for.  Since 0.1. */
typedef struct resmon_hostlist resmon_hostlist;

/**
 * Expands a host list as Slurm writes it, "n[001-003,7],login1" or "rack[0-1]node[08-11]": in
 * order, with repeats.  Numbers are as wide as the first of their range.  Names are separated by
 * commas or white space; nothing but another bracket may stand after a bracket. RESMON_EFORMAT: not
 * of that form, or a name of more than 255 bytes; RESMON_ERANGE: more than 65536 names, or more
 * than 4 MiB of them; RESMON_ENOMEM, RESMON_EINVAL on NULL.  Free with resmon_hostlist_free().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_hostlist_expand(const char *text, resmon_hostlist **ret_list);

/** How many names there are, repeats too.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_hostlist_count(const resmon_hostlist *list);

/** Name `index`; NULL past the end.  It lives as long as the list.  Any thread.  Since 0.1. */
RESMON_API const char *resmon_hostlist_name(const resmon_hostlist *list, size_t index);

/** Frees a list; NULL is fine.  Since 0.1. */
RESMON_API void resmon_hostlist_free(resmon_hostlist *list);

RESMON_END_DECLS

#endif
