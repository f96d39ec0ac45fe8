/* SPDX-License-Identifier: MIT */
#include "job/detect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "job/hosts.h"

#define VALUE_BYTES     256 /* bound of a variable's value, which is cut */
#define RAW_KEY_BYTES   (5 * VALUE_BYTES)
#define HASH_TEXT_BYTES 17 /* "#" and 16 digits */

/* The detected systems. */
struct detection {
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

static const char *keep(struct detection *detection, const char *value)
{
    char clean[VALUE_BYTES];
    size_t length = rm_text_set(clean, sizeof clean, value);
    const char *copy = rm_arena_text(&detection->job->strings, clean, length);
    if (copy == NULL) {
        detection->status = rm_error(RESMON_ENOMEM, "out of memory for the facts of a job");
        return "";
    }
    return copy;
}

static const char *raw_text(const struct detection *detection, const struct rm_job_system *system,
                            enum rm_job_field field)
{
    return rm_job_text(detection->environment, system->fields[field],
                       field == RM_JOB_STEP ? NULL : detection->skipped);
}

static const char *text(struct detection *detection, enum rm_job_field field)
{
    return keep(detection, raw_text(detection, detection->base, field));
}

static int64_t number(const struct detection *detection, const struct rm_job_system *system,
                      enum rm_job_field field)
{
    return rm_job_number(detection->environment, system->fields[field], detection->skipped);
}

static int64_t override(const struct detection *detection, enum rm_job_field field)
{
    return number(detection, &rm_job_overrides, field);
}

/* ---- the systems ------------------------------------------------------------------------ */

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

static void detect_systems(struct detection *detection)
{
    const struct rm_job_environment *environment = detection->environment;
    resmon_job_info *info = &detection->job->info;
    const struct rm_job_system *batch = find_batch(environment);
    const struct rm_job_system *launcher = find_launcher(environment, batch);
    detection->is_batch = batch != &nobody;
    detection->is_nested = detection->is_batch && launcher != &nobody;
    detection->base = detection->is_batch ? batch : launcher;
    detection->over = detection->is_nested ? launcher : &nobody;
    if (detection->base == &nobody && rm_job_system_is_there(environment, &rm_job_overrides)) {
        detection->base = &rm_job_overrides;
    }
    info->system = detection->base->name;
    info->launcher = launcher->name;
    if (detection->base->step_prefix != NULL) {
        bool is_in_step = raw_text(detection, detection->base, RM_JOB_STEP) != NULL;
        bool is_of_step = is_in_step && (!detection->is_nested || detection->over->keeps_step);
        detection->skipped = is_of_step ? NULL : detection->base->step_prefix;
        detection->is_script = !is_in_step && !detection->is_nested;
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

static void read_limits(struct detection *detection)
{
    resmon_job_info *info = &detection->job->info;
    int64_t start = number(detection, detection->base, RM_JOB_START);
    int64_t end = number(detection, detection->base, RM_JOB_END);
    info->node_cpus = number(detection, detection->base, RM_JOB_NODE_CPUS);
    info->node_memory_bytes =
        memory_of(number(detection, detection->base, RM_JOB_NODE_MEGABYTES), 1);
    if (info->node_memory_bytes < 0) {
        info->node_memory_bytes =
            memory_of(number(detection, detection->base, RM_JOB_CPU_MEGABYTES), info->node_cpus);
    }
    info->time_limit_s = start > 0 && end > start
                             ? end - start
                             : number(detection, detection->base, RM_JOB_TIME_LIMIT);
}

/* ---- the job ---------------------------------------------------------------------------- */

static void read_job(struct detection *detection)
{
    resmon_job_info *info = &detection->job->info;
    const char *given = raw_text(detection, &rm_job_overrides, RM_JOB_ID);
    info->id = given != NULL ? keep(detection, given) : text(detection, RM_JOB_ID);
    /* The daemons of mpirun may be in a step on the other nodes only, and ranks inherit its
     * variables. */
    info->step = detection->skipped == NULL ? text(detection, RM_JOB_STEP) : "";
    info->array_id = text(detection, RM_JOB_ARRAY_ID);
    info->name = text(detection, RM_JOB_NAME);
    info->queue = text(detection, RM_JOB_QUEUE);
    info->cluster = text(detection, RM_JOB_CLUSTER);
    info->user = text(detection, RM_JOB_USER);
    info->array_index = number(detection, detection->base, RM_JOB_ARRAY_INDEX);
    if (info->array_index == 0 && detection->base->counts_arrays_from_1) {
        info->array_index = -1;
    }
    info->restarts = number(detection, detection->base, RM_JOB_RESTARTS);
    if (info->restarts < 0) {
        info->restarts = number(detection, detection->over, RM_JOB_RESTARTS);
    }
}

/* ---- hosts ------------------------------------------------------------------------------ */

static resmon_status add_hosts(const struct detection *detection,
                               const struct rm_host_variable *variable, const char *value)
{
    static resmon_status (*const forms[])(struct rm_hosts * hosts, struct rm_text value) = {
        [RM_HOSTS_SLURM] = rm_hostlist_add_slurm,
        [RM_HOSTS_PAIRS] = rm_hostlist_add_pairs,
        [RM_HOSTS_WORDS] = rm_hostlist_add_words,
    };
    struct rm_hosts *hosts = &detection->job->hosts;
    return variable->form == RM_HOSTS_FILE
               ? rm_hostlist_add_file(hosts, detection->environment->root, value)
               : forms[variable->form](hosts, rm_text_of(value, strlen(value)));
}

/* Reads the first variable that is set and readable; an error of an earlier one is kept. */
static void read_hosts(struct detection *detection)
{
    for (size_t i = 0; i < RM_JOB_ALTERNATIVES && detection->base->hosts[i].name != NULL; i++) {
        const struct rm_host_variable *variable = &detection->base->hosts[i];
        const char *names[RM_JOB_ALTERNATIVES] = {variable->name};
        const char *value = rm_job_text(detection->environment, names, detection->skipped);
        if (value == NULL) {
            continue;
        }
        resmon_status status = add_hosts(detection, variable, value);
        if (status == RESMON_OK && detection->job->hosts.count > 0) {
            detection->job->info.remark = "";
            return;
        }
        if (status == RESMON_ENOMEM) {
            detection->status = status;
            return;
        }
        char remark[VALUE_BYTES];
        (void)snprintf(remark, sizeof remark, "the hosts of the job are not known: %s: %.200s",
                       variable->name, status == RESMON_OK ? "it names none" : resmon_last_error());
        detection->job->info.remark = keep(detection, remark);
        rm_hosts_free(&detection->job->hosts);
    }
    if (detection->job->info.remark[0] != '\0') {
        rm_log(RESMON_LOG_WARNING, "%s", detection->job->info.remark);
    }
}

/* ---- the node --------------------------------------------------------------------------- */

/*
 * If a launcher passes one environment to all nodes, the variable is right on one node only.
 * Then the host name selects the entry of the list.
 */
static const char *find_node_name(struct detection *detection, const char *host_name)
{
    const struct rm_hosts *hosts = &detection->job->hosts;
    const char *of_base = raw_text(detection, detection->base, RM_JOB_NODE_NAME);
    const char *of_over = raw_text(detection, detection->over, RM_JOB_NODE_NAME);
    if (!detection->is_nested || detection->over->keeps_node) {
        return of_base != NULL ? of_base : of_over != NULL ? of_over : host_name;
    }
    int64_t index = of_base != NULL ? rm_hosts_find(hosts, host_name) : -1;
    return index >= 0 ? rm_hosts_name(hosts, (size_t)index) : host_name;
}

static void read_node_name(struct detection *detection)
{
    char host_name[VALUE_BYTES];
    const char *given = raw_text(detection, &rm_job_overrides, RM_JOB_NODE_NAME);
    rm_job_host_name(detection->environment, host_name, sizeof host_name);
    detection->job->info.node_name =
        keep(detection, given != NULL ? given : find_node_name(detection, host_name));
}

static int64_t find_node_index(const struct detection *detection)
{
    const struct rm_hosts *hosts = &detection->job->hosts;
    const resmon_job_info *info = &detection->job->info;
    bool is_of_step = !detection->is_nested || detection->over->keeps_step;
    int64_t index = is_of_step ? number(detection, detection->base, RM_JOB_NODE_INDEX) : -1;
    if (index < 0) {
        index = number(detection, detection->over, RM_JOB_NODE_INDEX);
    }
    if (index < 0) {
        int64_t found = rm_hosts_find(hosts, info->node_name);
        index = found >= 0 ? rm_hosts_sorted_position(hosts, (size_t)found) : -1;
    }
    if (index < 0 && info->node_count == 1 && info->rank >= 0 && !detection->is_script) {
        index = 0; /* the job has one node, also if no list has its name */
    }
    return index;
}

static int64_t find_node_count(const struct detection *detection)
{
    const resmon_job_info *info = &detection->job->info;
    int64_t count = number(detection, detection->base, RM_JOB_NODE_COUNT);
    if (count < 0 && detection->job->hosts.count > 0) {
        count = (int64_t)detection->job->hosts.count;
    }
    if (count < 0 && detection->base->has_even_nodes && info->local_rank_count > 0 &&
        info->rank_count % info->local_rank_count == 0) {
        count = info->rank_count / info->local_rank_count;
    }
    if (count < 0 && info->rank_count > 0 && info->rank_count == info->local_rank_count) {
        count = 1;
    }
    return count;
}

static void read_node(struct detection *detection)
{
    resmon_job_info *info = &detection->job->info;
    int64_t index = override(detection, RM_JOB_NODE_INDEX);
    int64_t count = override(detection, RM_JOB_NODE_COUNT);
    info->node_count = count >= 0 ? count : find_node_count(detection);
    info->node_index = index >= 0 ? index : find_node_index(detection);
}

/* ---- the rank --------------------------------------------------------------------------- */

static int64_t tasks_of_this_node(const struct detection *detection)
{
    const char *list =
        rm_job_text(detection->environment, detection->base->tasks_of_nodes, detection->skipped);
    int64_t index = number(detection, detection->base, RM_JOB_NODE_INDEX);
    return list != NULL ? rm_hostlist_tasks_of_node(rm_text_of(list, strlen(list)), index) : -1;
}

static void find_rank(struct detection *detection)
{
    resmon_job_info *info = &detection->job->info;
    const struct rm_job_system *system = detection->is_nested ? detection->over : detection->base;
    if (detection->is_script) {
        info->rank = info->local_rank = 0;
        info->rank_count = info->local_rank_count = 1;
        return;
    }
    info->rank = number(detection, system, RM_JOB_RANK);
    info->rank_count = number(detection, system, RM_JOB_RANK_COUNT);
    info->local_rank = number(detection, system, RM_JOB_LOCAL_RANK);
    info->local_rank_count = number(detection, system, RM_JOB_LOCAL_RANK_COUNT);
    if (info->rank_count < 0 && system->counts_slots && detection->job->hosts.added > 0) {
        info->rank_count = (int64_t)detection->job->hosts.added;
    }
    if (info->local_rank_count < 0 && !detection->is_nested) {
        info->local_rank_count = tasks_of_this_node(detection);
    }
}

static void override_rank(struct detection *detection)
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
        int64_t given = override(detection, numbers[i].field);
        if (given >= 0) {
            memcpy((char *)&detection->job->info + numbers[i].offset, &given, sizeof given);
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
static void write_key(const struct detection *detection, char key[RAW_KEY_BYTES])
{
    const resmon_job_info *info = &detection->job->info;
    const char *over_id = raw_text(detection, detection->over, RM_JOB_ID);
    add_part(key, "", info->system);
    add_part(key, ":", info->cluster);
    add_part(key, ":", info->id);
    /* PBS has "123[4].server" */
    if (info->array_index >= 0 && strchr(info->id, '[') == NULL) {
        add_number(key, "_", info->array_index);
    }
    if (over_id == NULL || detection->over->keeps_step) {
        add_part(key, ".", info->step);
    }
    if (detection->is_batch && number(detection, detection->base, RM_JOB_RESTARTS) > 0) {
        add_number(key, "+", info->restarts);
    }
    if (over_id != NULL) {
        char clean[VALUE_BYTES];
        (void)rm_text_set(clean, sizeof clean, over_id);
        add_part(key, "/", detection->over->name);
        add_part(key, ":", clean);
    }
}

static const char *make_key(struct detection *detection)
{
    const resmon_job_info *info = &detection->job->info;
    char key[RAW_KEY_BYTES] = "";
    if (info->id[0] == '\0') {
        return "";
    }
    if (raw_text(detection, &rm_job_overrides, RM_JOB_ID) != NULL) {
        add_part(key, rm_job_overrides.name, ":");
        add_part(key, "", info->id);
    } else {
        write_key(detection, key);
    }
    size_t length = strlen(key);
    if (length >= VALUE_BYTES) { /* the cut part is kept as a hash */
        uint64_t hash = rm_hash_bytes(RM_HASH_START, key, length);
        char cut[VALUE_BYTES - HASH_TEXT_BYTES];
        (void)rm_text_set(cut, sizeof cut, key);
        (void)snprintf(key, sizeof key, "%s#%016" PRIx64, cut, hash);
    }
    return keep(detection, key);
}

/* ---- the detection ---------------------------------------------------------------------- */

static void read_all(struct detection *detection)
{
    resmon_job_info *info = &detection->job->info;
    detect_systems(detection);
    read_job(detection);
    read_limits(detection);
    read_hosts(detection);
    find_rank(detection);
    override_rank(detection);
    read_node_name(detection);
    read_node(detection);
    drop_contradictions(info);
    info->key = make_key(detection);
}

resmon_status rm_job_detect(const struct rm_job_environment *environment,
                            struct resmon_job **ret_job)
{
    struct resmon_job *job = rm_alloc(1, sizeof *job);
    if (job == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the facts of a job");
    }
    struct detection detection = {.environment = environment, .job = job, .status = RESMON_OK};
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
    read_all(&detection);
    if (detection.status != RESMON_OK) {
        rm_job_free(job);
        return detection.status;
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
