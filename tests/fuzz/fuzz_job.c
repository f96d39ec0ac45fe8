/* SPDX-License-Identifier: MIT */
/*
 * What batch systems say: host lists, node files, and a whole environment.  The first byte chooses.
 */
#include "fuzz.h"

#include <stdbool.h>

#include "base/compiler.h"
#include "base/text.h"
#include "job/detect.h"
#include "job/hosts.h"

#define MOST_VARIABLES 64

static void check_hosts(const struct rm_hosts *hosts)
{
    PROMISE(hosts->count <= RM_MAX_HOSTS && hosts->names.length <= RM_MAX_HOSTS_BYTES);
    for (size_t i = 0; i < hosts->count; i++) {
        size_t length = strlen(rm_hosts_name(hosts, i));
        PROMISE(length > 0 && length < RM_HOST_NAME_BYTES);
    }
}

static void check_unique(const struct rm_hosts *hosts)
{
    size_t step = hosts->count / 8 + 1;
    for (size_t i = 0; i < hosts->count; i += step) {
        int64_t position = rm_hosts_sorted_position(hosts, i);
        PROMISE(rm_hosts_find(hosts, rm_hosts_name(hosts, i)) == (int64_t)i);
        PROMISE(position >= 0 && (size_t)position < hosts->count);
    }
}

static void add_to_list(resmon_status (*add)(struct rm_hosts *hosts, struct rm_text text),
                        struct rm_text text)
{
    for (int is_unique = 0; is_unique < 2; is_unique++) {
        struct rm_hosts hosts;
        rm_hosts_init(&hosts, is_unique != 0);
        resmon_status status = add(&hosts, text);
        PROMISE(status == RESMON_OK || status == RESMON_EFORMAT || status == RESMON_ERANGE);
        PROMISE(status == RESMON_OK || resmon_last_error()[0] != '\0');
        check_hosts(&hosts);
        if (is_unique) {
            check_unique(&hosts);
        }
        rm_hosts_free(&hosts);
    }
}

static void slurm(struct rm_text text)
{
    add_to_list(rm_hostlist_add_slurm, text);
}

static void pairs(struct rm_text text)
{
    add_to_list(rm_hostlist_add_pairs, text);
}

static void words(struct rm_text text)
{
    add_to_list(rm_hostlist_add_words, text);
}

static void lines(struct rm_text text)
{
    add_to_list(rm_hostlist_add_lines, text);
}

static void tasks(struct rm_text text)
{
    for (int64_t index = 0; index < 70000; index = 2 * index + 1) {
        PROMISE(rm_hostlist_tasks_of_node(text, index) >= -1);
    }
}

/* ---- an environment: "NAME=VALUE" lines ------------------------------------------------- */

struct variables {
    char *lines[MOST_VARIABLES];
    size_t count;
};

static const char *variable(void *context, const char *name)
{
    const struct variables *variables = context;
    size_t length = strlen(name);
    for (size_t i = 0; i < variables->count; i++) {
        if (strncmp(variables->lines[i], name, length) == 0 && variables->lines[i][length] == '=') {
            return variables->lines[i] + length + 1;
        }
    }
    return NULL;
}

static void check_info(const resmon_job_info *info)
{
    const char *const texts[] = {info->system,    info->launcher, info->id,     info->step,
                                 info->array_id,  info->name,     info->queue,  info->cluster,
                                 info->node_name, info->key,      info->remark, info->user};
    const int64_t numbers[] = {
        info->array_index, info->restarts,          info->node_index,  info->rank,
        info->local_rank,  info->node_count,        info->rank_count,  info->local_rank_count,
        info->node_cpus,   info->node_memory_bytes, info->time_limit_s};
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        char clean[256];
        PROMISE(texts[i] != NULL && rm_text_set(clean, sizeof clean, texts[i]) < sizeof clean);
        PROMISE(strcmp(clean, texts[i]) == 0);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        PROMISE(numbers[i] >= -1);
    }
    PROMISE(info->key[0] == '\0' || (info->system[0] != '\0' && info->id[0] != '\0'));
    PROMISE(info->rank_count == -1 || info->rank_count > info->rank);
    PROMISE(info->node_count == -1 || info->node_count > info->node_index);
}

static void environment(struct rm_text text)
{
    struct variables variables = {.count = 0};
    const struct rm_job_environment view = {
        .get = variable, .context = &variables, .root = "/nonexistent", .host_name = "n1"};
    struct rm_text line;
    struct resmon_job *job = NULL;
    while (variables.count < MOST_VARIABLES && rm_parse_line(&text, &line)) {
        char *copy = calloc(rm_text_left(&line) + 1, 1);
        PROMISE(copy != NULL);
        memcpy(copy, line.at, rm_text_left(&line));
        variables.lines[variables.count++] = copy;
    }
    PROMISE(rm_job_detect(&view, &job) == RESMON_OK);
    check_info(&job->info);
    check_hosts(&job->hosts);
    rm_job_free(job);
    for (size_t i = 0; i < variables.count; i++) {
        free(variables.lines[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(struct rm_text text) = {
        slurm, pairs, words, lines, tasks, environment,
    };
    if (size > 0) {
        parsers[data[0] % RM_ARRAY_LEN(parsers)](rm_text_of((const char *)data + 1, size - 1));
    }
    return 0;
}
