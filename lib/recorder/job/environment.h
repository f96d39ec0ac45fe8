/* SPDX-License-Identifier: MIT */
/*
 * Owns what batch systems and launchers say about a process in its environment: one row for each,
 * with the names of its variables; and the view of that environment that detection takes:
 * variables, host name and files.  Variables are outside text: an empty one is not set, and a
 * number is digits and nothing else.
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
    RM_JOB_NODE_MEGABYTES, /* of 2^20 bytes, as batch systems have them */
    RM_JOB_CPU_MEGABYTES,  /* of each CPU */
    RM_JOB_START,          /* s since 1970 */
    RM_JOB_END,            /* when it would be ended */
    RM_JOB_TIME_LIMIT,     /* s */
    RM_JOB_FIELDS
};

/* In which form a variable names the hosts. */
enum rm_host_form { RM_HOSTS_SLURM, RM_HOSTS_FILE, RM_HOSTS_PAIRS, RM_HOSTS_WORDS };

struct rm_host_variable {
    enum rm_host_form form;
    const char *name; /* NULL: the row has no more */
};

#define RM_JOB_GROUPS       2
#define RM_JOB_ALTERNATIVES 3

struct rm_job_system {
    const char *name;
    /* It is there if of each group one holds: "NAME" is set, "NAME=START" is set to what starts so,
     * "NAME!START" is not. */
    const char *detect[RM_JOB_GROUPS][RM_JOB_ALTERNATIVES];
    /* The first that is set counts, from left to right. */
    const char *fields[RM_JOB_FIELDS][RM_JOB_ALTERNATIVES];
    struct rm_host_variable hosts[RM_JOB_ALTERNATIVES];
    const char *tasks_of_nodes[RM_JOB_ALTERNATIVES]; /* "2(x3),1" */
    const char *step_prefix;                         /* of variables that are about the step only */
    bool counts_slots;         /* the file of hosts has a line for each task */
    bool counts_arrays_from_1; /* array index 0: no array */
    bool has_even_nodes;       /* as many ranks on every node */
    /* Of a launcher inside a batch system: whether the process still has the variables that the
     * batch system gave to its node, to its step. */
    bool keeps_node, keeps_step;
};

/** Batch systems, then NULL: the first that is there has the job. */
extern const struct rm_job_system *const rm_job_batches[];

/** Launchers, nearest to the process first, then NULL. */
extern const struct rm_job_system *const rm_job_launchers[];

/** Whether one of them, or rm_job_overrides, looks at a variable of this name, of which all
 * processes of a job have the same; a value may stand behind it. */
bool rm_job_is_shared_variable(const char *name);

/** The variables RESMON_*, which win over all. */
extern const struct rm_job_system rm_job_overrides;

struct rm_job_environment {
    const char *(*get)(void *context, const char *name); /* NULL: not set */
    void *context;
    const char *root;      /* node files are looked for below this directory; NULL: "/" */
    const char *host_name; /* NULL: the machine's */
};

/** The environment of this process; of a set-user-id program, none. */
RM_SHARED extern const struct rm_job_environment rm_job_own_environment;

/** A variable, or NULL when it is not set or empty. */
RM_SHARED const char *rm_job_variable(const struct rm_job_environment *environment,
                                      const char *name);

/** The host name in `name`; "" when it is not known. */
void rm_job_host_name(const struct rm_job_environment *environment, char *name, size_t capacity);

/** The first variable of `names` that is set; those that start with `skipped` do not count. */
const char *rm_job_text(const struct rm_job_environment *environment,
                        const char *const names[RM_JOB_ALTERNATIVES], const char *skipped);

/** The first that is a number, 0 to INT64_MAX; -1: none. */
int64_t rm_job_number(const struct rm_job_environment *environment,
                      const char *const names[RM_JOB_ALTERNATIVES], const char *skipped);

/** Whether the variables that give `system` away are there. */
bool rm_job_system_is_there(const struct rm_job_environment *environment,
                            const struct rm_job_system *system);

#endif
