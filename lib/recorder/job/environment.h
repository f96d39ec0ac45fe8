/* SPDX-License-Identifier: MIT */
/*
 * Owns the view of a process's environment that detection takes: variables, host name and files.
 * Variables are outside text: an empty one is not set, and a number is digits and nothing else.
 * Called by job/detect, job/leader and job/path_pattern.
 */
#ifndef RM_JOB_ENVIRONMENT_H
#define RM_JOB_ENVIRONMENT_H

#include <stdint.h>

#include "base/compiler.h"
#include "job/systems.h"

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
