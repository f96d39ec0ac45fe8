/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of batch systems and launchers, with the environment variables that each sets
 * for a process; and the input of the detection: variables, host name and files.
 *
 * Variables are untrusted input: an empty one is not set, and a number has digits only.
 */
#ifndef RM_JOB_ENVIRONMENT_H
#define RM_JOB_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum rm_job_field {
    /* texts */
    RM_JOB_ID,
    RM_JOB_STEP,
    RM_JOB_ARRAY_ID,
    RM_JOB_NAME,
    RM_JOB_QUEUE,
    RM_JOB_CLUSTER,
    RM_JOB_USER,
    RM_JOB_NODE_NAME,
    /* numbers, 0 or more */
    RM_JOB_ARRAY_INDEX,
    RM_JOB_RESTARTS,
    RM_JOB_NODE_INDEX,
    RM_JOB_NODE_COUNT,
    RM_JOB_RANK,
    RM_JOB_RANK_COUNT,
    RM_JOB_LOCAL_RANK,
    RM_JOB_LOCAL_RANK_COUNT,
    RM_JOB_NODE_CPUS,
    RM_JOB_NODE_MEGABYTES, /* of 2^20 bytes, as in batch systems */
    RM_JOB_CPU_MEGABYTES,  /* per CPU */
    RM_JOB_START,          /* s since 1970 */
    RM_JOB_END,            /* end of the time limit */
    RM_JOB_TIME_LIMIT,     /* s */
    RM_JOB_FIELDS
};

/* Format of a variable with hosts. */
enum rm_host_form { RM_HOSTS_SLURM, RM_HOSTS_FILE, RM_HOSTS_PAIRS, RM_HOSTS_WORDS };

struct rm_host_variable {
    enum rm_host_form form;
    const char *name; /* NULL: end of the row */
};

#define RM_JOB_GROUPS       2
#define RM_JOB_ALTERNATIVES 3

struct rm_job_system {
    const char *name;
    /* The system is present if one condition of each group is true: "NAME" is set, "NAME=START" is
     * set to a value with this prefix, "NAME!START" is not. */
    const char *detect[RM_JOB_GROUPS][RM_JOB_ALTERNATIVES];
    /* The first one that is set is used, from left to right. */
    const char *fields[RM_JOB_FIELDS][RM_JOB_ALTERNATIVES];
    struct rm_host_variable hosts[RM_JOB_ALTERNATIVES];
    const char *tasks_of_nodes[RM_JOB_ALTERNATIVES]; /* "2(x3),1" */
    /* prefix of variables that describe the step only */
    const char *step_prefix;
    bool counts_slots;         /* the file of hosts has one line per task */
    bool counts_arrays_from_1; /* array index 0: not an array */
    bool has_even_nodes;       /* all nodes have the same number of ranks */
    /* For a launcher inside a batch system: whether the process keeps the batch system's variables
     * of its node, and of its step. */
    bool keeps_node, keeps_step;
};

/** Batch systems, then NULL; the first present one has the job. */
extern const struct rm_job_system *const rm_job_batches[];

/** Launchers, the nearest to the process first, then NULL. */
extern const struct rm_job_system *const rm_job_launchers[];

/** Whether a row or rm_job_overrides uses a variable of this name that is the same for all
 * processes of a job; the name may be followed by a value. */
bool rm_job_is_shared_variable(const char *name);

#define RM_JOB_ENTRIES_BYTES 2560

/** The variables that have the id of a job in its processes, each as "NAME=ID" with its '\0', then
 * an empty one: see struct rm_group of os/members.h. */
void rm_job_entries(const char *id, char entries[RM_JOB_ENTRIES_BYTES]);

/** The variables RESMON_*, which take precedence. */
extern const struct rm_job_system rm_job_overrides;

struct rm_job_environment {
    const char *(*get)(void *context, const char *name); /* NULL: not set */
    void *context;
    const char *root;      /* root of node files; NULL: "/" */
    const char *host_name; /* NULL: the machine's name */
};

/** The environment of this process; empty for a set-user-id program. */
RM_SHARED extern const struct rm_job_environment rm_job_own_environment;

/** A variable; NULL: not set, or empty. */
RM_SHARED const char *rm_job_variable(const struct rm_job_environment *environment,
                                      const char *name);

/** Writes the host name to `name`; "": not known. */
void rm_job_host_name(const struct rm_job_environment *environment, char *name, size_t capacity);

/** The first variable of `names` that is set and does not begin with `skipped`. */
const char *rm_job_text(const struct rm_job_environment *environment,
                        const char *const names[RM_JOB_ALTERNATIVES], const char *skipped);

/** The first variable that is a number, 0 to INT64_MAX; -1: none. */
int64_t rm_job_number(const struct rm_job_environment *environment,
                      const char *const names[RM_JOB_ALTERNATIVES], const char *skipped);

/** Whether the variables that identify `system` are set. */
bool rm_job_system_is_there(const struct rm_job_environment *environment,
                            const struct rm_job_system *system);

#endif
