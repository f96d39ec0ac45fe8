/* SPDX-License-Identifier: MIT */
#include "job/detect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "job/hosts.h"

#define VALUE_BYTES     256 /* bound of a variable's value, which is cut */
#define RAW_KEY_BYTES   (5 * VALUE_BYTES)
#define HASH_TEXT_BYTES 17 /* "#" and 16 digits */

/* The detected systems. */
struct scene {
    const struct rm_job_environment *environment;
    const struct rm_job_system *base; /* the batch system, or a launcher without one */
    const struct rm_job_system *over; /* a launcher inside the batch system */
    bool is_nested;                   /* `over` is set */
    const char *skipped;              /* prefix of variables that belong to another step */
    bool is_batch;                    /* `base` is a batch system */
    bool is_script;                   /* in the job, but in no step of it */
    struct resmon_job *job;
    resmon_status status; /* RESMON_ENOMEM is kept */
};

static const struct rm_job_system nobody = {.name = ""};

/* ---- values ----------------------------------------------------------------------------- */

static const char *keep(struct scene *scene, const char *value)
{
    char clean[VALUE_BYTES];
    size_t length = rm_text_set(clean, sizeof clean, value);
    const char *copy = rm_arena_text(&scene->job->strings, clean, length);
    if (copy == NULL) {
        scene->status = rm_error(RESMON_ENOMEM, "out of memory for the facts of a job");
        return "";
    }
    return copy;
}

static const char *raw_text(const struct scene *scene, const struct rm_job_system *system,
                            enum rm_job_field field)
{
    return rm_job_text(scene->environment, system->fields[field],
                       field == RM_JOB_STEP ? NULL : scene->skipped);
}

static const char *text(struct scene *scene, enum rm_job_field field)
{
    return keep(scene, raw_text(scene, scene->base, field));
}

static int64_t number(const struct scene *scene, const struct rm_job_system *system,
                      enum rm_job_field field)
{
    return rm_job_number(scene->environment, system->fields[field], scene->skipped);
}

static int64_t override(const struct scene *scene, enum rm_job_field field)
{
    return number(scene, &rm_job_overrides, field);
}

/* ---- who is there ----------------------------------------------------------------------- */

static const struct rm_job_system *find_batch(const struct rm_job_environment *environment)
{
    for (size_t i = 0; rm_job_batches[i] != NULL; i++) {
        if (rm_job_system_is_there(environment, rm_job_batches[i])) {
            return rm_job_batches[i];
        }
    }
    return &nobody;
}

/* The nearest launcher with a rank: without one, it has no information about this process. */
static const struct rm_job_system *find_launcher(const struct rm_job_environment *environment,
                                                 const struct rm_job_system *batch)
{
    for (size_t i = 0; rm_job_launchers[i] != NULL; i++) {
        const struct rm_job_system *launcher = rm_job_launchers[i];
        if (launcher != batch && rm_job_system_is_there(environment, launcher) &&
            rm_job_number(environment, launcher->fields[RM_JOB_RANK], NULL) >= 0) {
            return launcher;
        }
    }
    return &nobody;
}

static void look_round(struct scene *scene)
{
    const struct rm_job_environment *environment = scene->environment;
    resmon_job_info *info = &scene->job->info;
    const struct rm_job_system *batch = find_batch(environment);
    const struct rm_job_system *launcher = find_launcher(environment, batch);
    scene->is_batch = batch != &nobody;
    scene->is_nested = scene->is_batch && launcher != &nobody;
    scene->base = scene->is_batch ? batch : launcher;
    scene->over = scene->is_nested ? launcher : &nobody;
    if (scene->base == &nobody && rm_job_system_is_there(environment, &rm_job_overrides)) {
        scene->base = &rm_job_overrides;
    }
    info->system = scene->base->name;
    info->launcher = launcher->name;
    if (scene->base->step_prefix != NULL) {
        bool is_in_step = raw_text(scene, scene->base, RM_JOB_STEP) != NULL;
        bool is_of_step = is_in_step && (!scene->is_nested || scene->over->keeps_step);
        scene->skipped = is_of_step ? NULL : scene->base->step_prefix;
        scene->is_script = !is_in_step && !scene->is_nested;
    }
}

/* ---- what the job may use ------------------------------------------------------------------- */

#define MEGABYTE   INT64_C(1048576)
#define MOST_BYTES (INT64_MAX / MEGABYTE)

static int64_t memory_of(int64_t megabytes, int64_t times)
{
    return megabytes > 0 && times > 0 && megabytes < MOST_BYTES / times
               ? megabytes * times * MEGABYTE
               : -1;
}

static void read_limits(struct scene *scene)
{
    resmon_job_info *info = &scene->job->info;
    int64_t start = number(scene, scene->base, RM_JOB_START);
    int64_t end = number(scene, scene->base, RM_JOB_END);
    info->node_cpus = number(scene, scene->base, RM_JOB_NODE_CPUS);
    info->node_memory_bytes = memory_of(number(scene, scene->base, RM_JOB_NODE_MEGABYTES), 1);
    if (info->node_memory_bytes < 0) {
        info->node_memory_bytes =
            memory_of(number(scene, scene->base, RM_JOB_CPU_MEGABYTES), info->node_cpus);
    }
    info->time_limit_s =
        start > 0 && end > start ? end - start : number(scene, scene->base, RM_JOB_TIME_LIMIT);
}

/* ---- the job ---------------------------------------------------------------------------- */

static void read_job(struct scene *scene)
{
    resmon_job_info *info = &scene->job->info;
    const char *given = raw_text(scene, &rm_job_overrides, RM_JOB_ID);
    info->id = given != NULL ? keep(scene, given) : text(scene, RM_JOB_ID);
    /* The daemons of mpirun may be in a step on the other nodes only, and ranks inherit its
     * variables. */
    info->step = scene->skipped == NULL ? text(scene, RM_JOB_STEP) : "";
    info->array_id = text(scene, RM_JOB_ARRAY_ID);
    info->name = text(scene, RM_JOB_NAME);
    info->queue = text(scene, RM_JOB_QUEUE);
    info->cluster = text(scene, RM_JOB_CLUSTER);
    info->user = text(scene, RM_JOB_USER);
    info->array_index = number(scene, scene->base, RM_JOB_ARRAY_INDEX);
    if (info->array_index == 0 && scene->base->counts_arrays_from_1) {
        info->array_index = -1;
    }
    info->restarts = number(scene, scene->base, RM_JOB_RESTARTS);
    if (info->restarts < 0) {
        info->restarts = number(scene, scene->over, RM_JOB_RESTARTS);
    }
}

/* ---- hosts ------------------------------------------------------------------------------ */

static resmon_status add_hosts(const struct scene *scene, const struct rm_host_variable *variable,
                               const char *value)
{
    static resmon_status (*const forms[])(struct rm_hosts * hosts, struct rm_text value) = {
        [RM_HOSTS_SLURM] = rm_hostlist_add_slurm,
        [RM_HOSTS_PAIRS] = rm_hostlist_add_pairs,
        [RM_HOSTS_WORDS] = rm_hostlist_add_words,
    };
    struct rm_hosts *hosts = &scene->job->hosts;
    return variable->form == RM_HOSTS_FILE
               ? rm_hostlist_add_file(hosts, scene->environment->root, value)
               : forms[variable->form](hosts, rm_text_of(value, strlen(value)));
}

/* Reads the first variable that is set and readable; an error of an earlier one is kept. */
static void read_hosts(struct scene *scene)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && scene->base->hosts[i].name != NULL; i++) {
        const struct rm_host_variable *variable = &scene->base->hosts[i];
        const char *names[RM_JOB_ALTERNATIVES] = {variable->name};
        const char *value = rm_job_text(scene->environment, names, scene->skipped);
        if (value == NULL) {
            continue;
        }
        resmon_status status = add_hosts(scene, variable, value);
        if (status == RESMON_OK && scene->job->hosts.count > 0) {
            scene->job->info.remark = "";
            return;
        }
        if (status == RESMON_ENOMEM) {
            scene->status = status;
            return;
        }
        char remark[VALUE_BYTES];
        (void)snprintf(remark, sizeof remark, "the hosts of the job are not known: %s: %.200s",
                       variable->name, status == RESMON_OK ? "it names none" : resmon_last_error());
        scene->job->info.remark = keep(scene, remark);
        rm_hosts_free(&scene->job->hosts);
    }
    if (scene->job->info.remark[0] != '\0') {
        rm_log(RESMON_LOG_WARNING, "%s", scene->job->info.remark);
    }
}

/* ---- the node --------------------------------------------------------------------------- */

/*
 * If a launcher passes one environment to all nodes, the variable is right on one node only.
 * Then the host name selects the entry of the list.
 */
static const char *find_node_name(struct scene *scene, const char *host_name)
{
    const struct rm_hosts *hosts = &scene->job->hosts;
    const char *of_base = raw_text(scene, scene->base, RM_JOB_NODE_NAME);
    const char *of_over = raw_text(scene, scene->over, RM_JOB_NODE_NAME);
    if (!scene->is_nested || scene->over->keeps_node) {
        return of_base != NULL ? of_base : of_over != NULL ? of_over : host_name;
    }
    int64_t index = of_base != NULL ? rm_hosts_find(hosts, host_name) : -1;
    return index >= 0 ? rm_hosts_name(hosts, (size_t)index) : host_name;
}

static void read_node_name(struct scene *scene)
{
    char host_name[VALUE_BYTES];
    const char *given = raw_text(scene, &rm_job_overrides, RM_JOB_NODE_NAME);
    rm_job_host_name(scene->environment, host_name, sizeof host_name);
    scene->job->info.node_name =
        keep(scene, given != NULL ? given : find_node_name(scene, host_name));
}

static int64_t find_node_index(const struct scene *scene)
{
    const struct rm_hosts *hosts = &scene->job->hosts;
    const resmon_job_info *info = &scene->job->info;
    bool is_of_step = !scene->is_nested || scene->over->keeps_step;
    int64_t index = is_of_step ? number(scene, scene->base, RM_JOB_NODE_INDEX) : -1;
    if (index < 0) {
        index = number(scene, scene->over, RM_JOB_NODE_INDEX);
    }
    if (index < 0) {
        int64_t found = rm_hosts_find(hosts, info->node_name);
        index = found >= 0 ? rm_hosts_sorted_position(hosts, (size_t)found) : -1;
    }
    if (index < 0 && info->node_count == 1 && info->rank >= 0 && !scene->is_script) {
        index = 0; /* a node that is not in a list: there is one */
    }
    return index;
}

static int64_t find_node_count(const struct scene *scene)
{
    const resmon_job_info *info = &scene->job->info;
    int64_t count = number(scene, scene->base, RM_JOB_NODE_COUNT);
    if (count < 0 && scene->job->hosts.count > 0) {
        count = (int64_t)scene->job->hosts.count;
    }
    if (count < 0 && scene->base->has_even_nodes && info->local_rank_count > 0 &&
        info->rank_count % info->local_rank_count == 0) {
        count = info->rank_count / info->local_rank_count;
    }
    if (count < 0 && info->rank_count > 0 && info->rank_count == info->local_rank_count) {
        count = 1;
    }
    return count;
}

static void read_node(struct scene *scene)
{
    resmon_job_info *info = &scene->job->info;
    int64_t index = override(scene, RM_JOB_NODE_INDEX);
    int64_t count = override(scene, RM_JOB_NODE_COUNT);
    info->node_count = count >= 0 ? count : find_node_count(scene);
    info->node_index = index >= 0 ? index : find_node_index(scene);
}

/* ---- the rank --------------------------------------------------------------------------- */

static int64_t tasks_of_this_node(const struct scene *scene)
{
    const char *list = rm_job_text(scene->environment, scene->base->tasks_of_nodes, scene->skipped);
    int64_t index = number(scene, scene->base, RM_JOB_NODE_INDEX);
    return list != NULL ? rm_hostlist_tasks_of_node(rm_text_of(list, strlen(list)), index) : -1;
}

static void find_rank(struct scene *scene)
{
    resmon_job_info *info = &scene->job->info;
    const struct rm_job_system *system = scene->is_nested ? scene->over : scene->base;
    if (scene->is_script) {
        info->rank = info->local_rank = 0;
        info->rank_count = info->local_rank_count = 1;
        return;
    }
    info->rank = number(scene, system, RM_JOB_RANK);
    info->rank_count = number(scene, system, RM_JOB_RANK_COUNT);
    info->local_rank = number(scene, system, RM_JOB_LOCAL_RANK);
    info->local_rank_count = number(scene, system, RM_JOB_LOCAL_RANK_COUNT);
    if (info->rank_count < 0 && system->counts_slots && scene->job->hosts.added > 0) {
        info->rank_count = (int64_t)scene->job->hosts.added;
    }
    if (info->local_rank_count < 0 && !scene->is_nested) {
        info->local_rank_count = tasks_of_this_node(scene);
    }
}

static void override_rank(struct scene *scene)
{
    static const struct {
        enum rm_job_field field;
        size_t offset;
    } numbers[] = {
        {RM_JOB_RANK, offsetof(resmon_job_info, rank)},
        {RM_JOB_RANK_COUNT, offsetof(resmon_job_info, rank_count)},
        {RM_JOB_LOCAL_RANK, offsetof(resmon_job_info, local_rank)},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        int64_t given = override(scene, numbers[i].field);
        if (given >= 0) {
            memcpy((char *)&scene->job->info + numbers[i].offset, &given, sizeof given);
        }
    }
}

/* Rank 7 of 4: one of them is wrong, and the count is dropped, since it is optional. */
static int64_t count_beside(int64_t count, int64_t index)
{
    return count > 0 && count > index ? count : -1;
}

static void drop_contradictions(resmon_job_info *info)
{
    info->node_count = count_beside(info->node_count, info->node_index);
    info->rank_count = count_beside(info->rank_count, info->rank);
    info->local_rank_count = count_beside(info->local_rank_count, info->local_rank);
}

/* ---- the key ---------------------------------------------------------------------------- */

static void add_part(char key[RAW_KEY_BYTES], const char *mark, const char *part)
{
    size_t length = strlen(key);
    if (part[0] != '\0') {
        (void)snprintf(key + length, RAW_KEY_BYTES - length, "%s%s", mark, part);
    }
}

static void add_number(char key[RAW_KEY_BYTES], const char *mark, int64_t value)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    add_part(key, mark, digits);
}

/*
 * The ranks of an mpirun are in one step, in several or in none, but have one name space.  The
 * number of torchrun's restarts may differ between nodes.
 */
static void write_key(const struct scene *scene, char key[RAW_KEY_BYTES])
{
    const resmon_job_info *info = &scene->job->info;
    const char *over_id = raw_text(scene, scene->over, RM_JOB_ID);
    add_part(key, "", info->system);
    add_part(key, ":", info->cluster);
    add_part(key, ":", info->id);
    /* PBS has "123[4].server" */
    if (info->array_index >= 0 && strchr(info->id, '[') == NULL) {
        add_number(key, "_", info->array_index);
    }
    if (over_id == NULL || scene->over->keeps_step) {
        add_part(key, ".", info->step);
    }
    if (scene->is_batch && number(scene, scene->base, RM_JOB_RESTARTS) > 0) {
        add_number(key, "+", info->restarts);
    }
    if (over_id != NULL) {
        char clean[VALUE_BYTES];
        (void)rm_text_set(clean, sizeof clean, over_id);
        add_part(key, "/", scene->over->name);
        add_part(key, ":", clean);
    }
}

static const char *make_key(struct scene *scene)
{
    const resmon_job_info *info = &scene->job->info;
    char key[RAW_KEY_BYTES] = "";
    if (info->id[0] == '\0') {
        return "";
    }
    if (raw_text(scene, &rm_job_overrides, RM_JOB_ID) != NULL) {
        add_part(key, rm_job_overrides.name, ":");
        add_part(key, "", info->id);
    } else {
        write_key(scene, key);
    }
    size_t length = strlen(key);
    if (length >= VALUE_BYTES) { /* the cut part is kept as a hash */
        uint64_t hash = rm_hash_bytes(RM_HASH_START, key, length);
        char cut[VALUE_BYTES - HASH_TEXT_BYTES];
        (void)rm_text_set(cut, sizeof cut, key);
        (void)snprintf(key, sizeof key, "%s#%016" PRIx64, cut, hash);
    }
    return keep(scene, key);
}

/* ---- all of it -------------------------------------------------------------------------- */

static void read_all(struct scene *scene)
{
    resmon_job_info *info = &scene->job->info;
    look_round(scene);
    read_job(scene);
    read_limits(scene);
    read_hosts(scene);
    find_rank(scene);
    override_rank(scene);
    read_node_name(scene);
    read_node(scene);
    drop_contradictions(info);
    info->key = make_key(scene);
}

resmon_status rm_job_detect(const struct rm_job_environment *environment,
                            struct resmon_job **ret_job)
{
    struct resmon_job *job = rm_alloc(1, sizeof *job);
    if (job == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the facts of a job");
    }
    struct scene scene = {.environment = environment, .job = job, .status = RESMON_OK};
    rm_hosts_init(&job->hosts, true);
    job->info = (resmon_job_info){
        .system = "",
        .launcher = "",
        .id = "",
        .step = "",
        .array_id = "",
        .name = "",
        .queue = "",
        .cluster = "",
        .user = "",
        .node_name = "",
        .key = "",
        .remark = "",
        .array_index = -1,
        .restarts = -1,
        .node_index = -1,
        .node_count = -1,
        .rank = -1,
        .rank_count = -1,
        .local_rank = -1,
        .local_rank_count = -1,
        .node_cpus = -1,
        .node_memory_bytes = -1,
        .time_limit_s = -1,
    };
    read_all(&scene);
    if (scene.status != RESMON_OK) {
        rm_job_free(job);
        return scene.status;
    }
    *ret_job = job;
    return RESMON_OK;
}

void rm_job_free(struct resmon_job *job)
{
    if (job != NULL) {
        rm_hosts_free(&job->hosts);
        rm_arena_free(&job->strings);
        rm_free(job);
    }
}
