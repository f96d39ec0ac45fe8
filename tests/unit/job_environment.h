/* SPDX-License-Identifier: MIT */
/*
 * An environment made of "NAME=VALUE" texts, for tests of lib/job.
 */
#ifndef RESMON_TESTS_JOB_ENVIRONMENT_H
#define RESMON_TESTS_JOB_ENVIRONMENT_H

#include <string.h>

#include "job/detect.h"

#define MOST_VARIABLES 24

struct made_environment {
    const char *const *variables; /* the last is NULL, or there are MOST_VARIABLES */
    struct rm_job_environment view;
};

static inline const char *made_variable(void *context, const char *name)
{
    const struct made_environment *made = context;
    size_t length = strlen(name);
    for (size_t i = 0; i < MOST_VARIABLES && made->variables[i] != NULL; i++) {
        if (strncmp(made->variables[i], name, length) == 0 && made->variables[i][length] == '=') {
            return made->variables[i] + length + 1;
        }
    }
    return NULL;
}

static inline const struct rm_job_environment *
make_environment(struct made_environment *made, const char *const *variables, const char *host_name)
{
    made->variables = variables;
    made->view =
        (struct rm_job_environment){.get = made_variable, .context = made, .host_name = host_name};
    return &made->view;
}

#endif
