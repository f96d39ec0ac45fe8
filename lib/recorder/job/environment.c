/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* secure_getenv */
#include "job/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/text.h"

#define NAME_BYTES 64

/* secure_getenv: a set-user-id program does not read a file because its caller says so. */
static const char *own_variable(void *context, const char *name)
{
    (void)context;
    return secure_getenv(name);
}

const struct rm_job_environment rm_job_own_environment = {.get = own_variable};

const char *rm_job_variable(const struct rm_job_environment *environment, const char *name)
{
    const char *value = environment->get(environment->context, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void rm_job_host_name(const struct rm_job_environment *environment, char *name, size_t capacity)
{
    char own[256] = "";
    const char *given = environment->host_name;
    if (given == NULL && gethostname(own, sizeof own - 1) == 0) {
        given = own;
    }
    (void)rm_text_set(name, capacity, given);
}

static bool is_skipped(const char *name, const char *skipped)
{
    return skipped != NULL && strncmp(name, skipped, strlen(skipped)) == 0;
}

const char *rm_job_text(const struct rm_job_environment *environment,
                        const char *const names[RM_JOB_ALTERNATIVES], const char *skipped)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && names[i] != NULL; i++) {
        const char *value =
            is_skipped(names[i], skipped) ? NULL : rm_job_variable(environment, names[i]);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static int64_t number_of(const char *value)
{
    struct rm_text text = rm_text_of(value, strlen(value));
    uint64_t number;
    bool is_number = value[0] >= '0' && value[0] <= '9' && rm_parse_u64(&text, &number) &&
                     text.at == text.end && number <= INT64_MAX;
    return is_number ? (int64_t)number : -1;
}

int64_t rm_job_number(const struct rm_job_environment *environment,
                      const char *const names[RM_JOB_ALTERNATIVES], const char *skipped)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && names[i] != NULL; i++) {
        const char *value =
            is_skipped(names[i], skipped) ? NULL : rm_job_variable(environment, names[i]);
        int64_t number = value != NULL ? number_of(value) : -1;
        if (number >= 0) {
            return number;
        }
    }
    return -1;
}

/* "NAME", "NAME=START", "NAME!START". */
static bool holds(const struct rm_job_environment *environment, const char *condition)
{
    char name[NAME_BYTES];
    size_t length = strcspn(condition, "=!");
    (void)rm_text_copy(name, sizeof name, condition, length);
    const char *value = rm_job_variable(environment, name);
    if (condition[length] == '\0') {
        return value != NULL;
    }
    const char *start = condition + length + 1;
    bool starts_so = value != NULL && strncmp(value, start, strlen(start)) == 0;
    return starts_so == (condition[length] == '=');
}

bool rm_job_system_is_there(const struct rm_job_environment *environment,
                            const struct rm_job_system *system)
{
    for (size_t group = 0; group < RM_JOB_GROUPS && system->detect[group][0] != NULL; group++) {
        bool is_met = false;
        for (size_t i = 0; i < RM_JOB_ALTERNATIVES && system->detect[group][i] != NULL; i++) {
            is_met = is_met || holds(environment, system->detect[group][i]);
        }
        if (!is_met) {
            return false;
        }
    }
    return true;
}
