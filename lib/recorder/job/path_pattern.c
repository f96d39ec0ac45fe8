/* SPDX-License-Identifier: MIT */
#include "job/path_pattern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/status.h"
#include "job/detect.h"

#define VALUE_BYTES 256

static bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._+=-", c) != NULL);
}

void rm_file_name_clean(char *name, size_t capacity, const char *text)
{
    size_t length = strlen(text);
    size_t shown = length < capacity ? length : capacity - 1;
    bool is_dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
    for (size_t i = 0; i < shown; i++) {
        name[i] = is_plain(text[i]) && !is_dots ? text[i] : '_';
    }
    if (length == 0 && capacity > 1) {
        name[shown++] = '_';
    }
    name[shown] = '\0';
}

/* The job is detected at the first letter that needs it. */
struct expansion {
    const struct rm_job_environment *environment;
    struct resmon_job *job;
    char *path;
    size_t length;
};

typedef void (*value_fn)(const struct expansion *expansion, char value[VALUE_BYTES]);

static void process_id(const struct expansion *expansion, char value[VALUE_BYTES])
{
    (void)expansion;
    (void)snprintf(value, VALUE_BYTES, "%ld", (long)getpid());
}

static void host_name(const struct expansion *expansion, char value[VALUE_BYTES])
{
    rm_job_host_name(expansion->environment, value, VALUE_BYTES);
}

static void job_id(const struct expansion *expansion, char value[VALUE_BYTES])
{
    const char *id = expansion->job->info.id;
    (void)snprintf(value, VALUE_BYTES, "%s", id[0] != '\0' ? id : "nojob");
}

static void node_name(const struct expansion *expansion, char value[VALUE_BYTES])
{
    (void)snprintf(value, VALUE_BYTES, "%s", expansion->job->info.node_name);
}

static void rank(const struct expansion *expansion, char value[VALUE_BYTES])
{
    int64_t number = expansion->job->info.rank;
    (void)snprintf(value, VALUE_BYTES, "%" PRId64, number >= 0 ? number : 0);
}

static const struct letter {
    char letter;
    bool is_of_job;
    value_fn value;
} letters[] = {
    {'p', false, process_id}, {'h', false, host_name}, {'j', true, job_id},
    {'n', true, node_name},   {'r', true, rank},
};

static resmon_status add(struct expansion *expansion, const char *bytes, size_t length)
{
    if (expansion->length + length >= RM_PATH_BYTES) {
        return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 1);
    }
    memcpy(expansion->path + expansion->length, bytes, length);
    expansion->length += length;
    return RESMON_OK;
}

static resmon_status add_value(struct expansion *expansion, const struct letter *letter)
{
    char value[VALUE_BYTES], clean[VALUE_BYTES];
    resmon_status status = letter->is_of_job && expansion->job == NULL
                               ? rm_job_detect(expansion->environment, &expansion->job)
                               : RESMON_OK;
    if (status != RESMON_OK) {
        return status;
    }
    letter->value(expansion, value);
    rm_file_name_clean(clean, sizeof clean, value);
    return add(expansion, clean, strlen(clean));
}

static resmon_status add_letter(struct expansion *expansion, const char *pattern, char wanted)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(letters); i++) {
        if (letters[i].letter == wanted) {
            return add_value(expansion, &letters[i]);
        }
    }
    if (wanted == '%') {
        return add(expansion, "%", 1);
    }
    if (wanted == '\0') {
        return rm_error(RESMON_EINVAL, "the path '%s' ends in '%%'; a '%%' is written '%%%%'",
                        pattern);
    }
    return rm_error(RESMON_EINVAL,
                    "'%%%c' in the path '%s': only %%p (process id), %%h (host name), %%j (job), "
                    "%%n (node), %%r (rank) and %%%% are known",
                    wanted, pattern);
}

static resmon_status expand(struct expansion *expansion, const char *pattern)
{
    resmon_status status = RESMON_OK;
    for (const char *p = pattern; status == RESMON_OK && *p != '\0';) {
        size_t plain = strcspn(p, "%");
        status = add(expansion, p, plain);
        p += plain;
        if (status == RESMON_OK && *p == '%') {
            status = add_letter(expansion, pattern, p[1]);
            p += 2; /* a '%' at the end is an error, and the end */
        }
    }
    if (status == RESMON_OK && expansion->length == 0) {
        return rm_error(RESMON_EINVAL, "the path is empty");
    }
    return status;
}

resmon_status rm_path_expand_in(const struct rm_job_environment *environment, const char *pattern,
                                char path[RM_PATH_BYTES])
{
    struct expansion expansion = {.environment = environment, .path = path};
    resmon_status status = expand(&expansion, pattern);
    path[expansion.length] = '\0';
    rm_job_free(expansion.job);
    return status;
}

resmon_status rm_path_expand(const char *pattern, char path[RM_PATH_BYTES])
{
    return rm_path_expand_in(&rm_job_own_environment, pattern, path);
}
