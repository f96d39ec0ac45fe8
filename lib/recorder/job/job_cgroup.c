/* SPDX-License-Identifier: MIT */
#include "job/job_cgroup.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"
#include "os/file.h"

#define MOST_DEPTH   6U /* depth of a job's cgroup below the mount point */
#define LONGEST_ID   128U
#define LONGEST_NAME 192U

/*
 * Names of groups of jobs, with %s for the id:
 *
 *   Slurm   system.slice/slurmstepd.scope/job_7 (version 2), memory/slurm/uid_0/job_7 (version 1):
 *           slurm.schedmd.com/cgroup_v2.html, cgroups.html
 *   PBS     pbs_jobs.service/jobid/7.server: hook pbs_cgroups of OpenPBS
 *   LSF     lsf/CLUSTER/job.7.1234.1700000000: LSF_PROCESS_TRACKING
 *   OAR     oar/USER_7, in each hierarchy: job_resource_manager_cgroups of OAR 2.5
 */
static const struct pattern {
    const char *format;
    enum { WHOLE, BEGIN, END } part; /* of a name */
} patterns[] = {{"job_%s", WHOLE}, {"job.%s.", BEGIN}, {"%s.", BEGIN}, {"%s", WHOLE}, {"_%s", END}};

typedef char job_names[RM_ARRAY_LEN(patterns)][LONGEST_NAME];

struct search {
    const struct rm_root *root;
    job_names names;
    char path[RM_FILE_PATH_BYTES];
    unsigned depth;
    bool is_found;
};

static void make_names(job_names names, const char *id)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(patterns); i++) {
        const char *mark = strstr(patterns[i].format, "%s");
        (void)snprintf(names[i], LONGEST_NAME, "%.*s%s%s", (int)(mark - patterns[i].format),
                       patterns[i].format, id, mark + 2);
    }
}

static bool is_id(const char *id)
{
    return id[0] != '\0' && strlen(id) <= LONGEST_ID && strchr(id, '/') == NULL;
}

#define OAR "/oar/"

/* Ids of LSF and PBS are plain numbers, as other cgroups' names may be.  So the path must also have
 * a name of the batch system. */
static bool is_of_batch_system(const char *path)
{
    static const char *const words[] = {"/slurm", "_slurmstepd.scope", "/pbs_jobs", "/lsf/", OAR};
    for (size_t i = 0; i < RM_ARRAY_LEN(words); i++) {
        if (strstr(path, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether `name`, the end of `path`, is the name of the job's cgroup.  Step 7 of another job is not
 * the job 7 of OAR. */
static bool is_of_job(job_names names, const char *path, const char *name)
{
    bool is_of_oar = strstr(path, OAR) != NULL;
    if (!is_of_batch_system(path)) {
        return false;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(patterns); i++) {
        size_t length = strlen(names[i]), room = strlen(name);
        size_t from = patterns[i].part == END && room > length ? room - length : 0;
        bool is_possible = patterns[i].part != END || is_of_oar;
        bool is_here = is_possible && strncmp(name + from, names[i], length) == 0;
        if (is_here && (patterns[i].part == BEGIN || name[from + length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* ---- of a process --------------------------------------------------------------------------- */

#define SLURM_JOB "job_"

static bool is_any_slurm_job(const char *name)
{
    const char *digits = name + sizeof SLURM_JOB - 1;
    return strncmp(name, SLURM_JOB, sizeof SLURM_JOB - 1) == 0 && digits[0] != '\0' &&
           digits[strspn(digits, "0123456789")] == '\0';
}

/* Cuts a path after the name of a job's cgroup; false: no job's cgroup is in the path. */
static bool cut(struct rm_cgroup_place *place, job_names names, bool is_any_good)
{
    char part[RM_CGROUP_PATH_BYTES];
    size_t end = place->mount_length;
    while (place->path[end] != '\0') {
        size_t begin = end + (place->path[end] == '/' ? 1 : 0);
        end = begin + strcspn(place->path + begin, "/");
        (void)snprintf(part, sizeof part, "%.*s", (int)end, place->path);
        const char *name = part + begin;
        bool is_any = is_any_good && is_of_batch_system(part) && is_any_slurm_job(name);
        if (is_any || is_of_job(names, part, name)) {
            place->path[end] = '\0';
            return true;
        }
    }
    return false;
}

bool rm_job_cgroup_around(const struct rm_cgroup *own, const char *id, struct rm_cgroup *ret_group)
{
    job_names names;
    bool is_any = false;
    *ret_group = *own;
    make_names(names, is_id(id) ? id : "none");
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS; i++) {
        struct rm_cgroup_place *place = &ret_group->places[i];
        is_any |= place->version != 0 && !place->is_outside && cut(place, names, true);
    }
    return is_any;
}

/* ---- on this node --------------------------------------------------------------------------- */

static bool look_at(void *context, const char *name)
{
    struct search *search = context;
    size_t length = strlen(search->path);
    size_t room = sizeof search->path - length;
    int added = snprintf(search->path + length, room, "/%s", name);
    if (added < 0 || (size_t)added >= room) {
        search->path[length] = '\0';
        return true;
    }
    search->is_found = is_of_job(search->names, search->path, name);
    if (!search->is_found && search->depth < MOST_DEPTH) {
        search->depth++;
        (void)rm_dir_visit_below(search->root, search->path, look_at, search);
        search->depth--;
    }
    if (!search->is_found) {
        search->path[length] = '\0';
    }
    return !search->is_found;
}

/* If we are in the job's cgroup, it is ours, even if several nodes are one machine. */
static bool is_within(struct search *search, const struct rm_cgroup_place *own)
{
    struct rm_cgroup_place place = *own;
    if (place.version == 0 || place.is_outside || !cut(&place, search->names, false)) {
        return false;
    }
    (void)snprintf(search->path, sizeof search->path, "%s", place.path);
    return true;
}

static resmon_status find(struct search *search, struct rm_scratch *scratch, const char *id)
{
    struct rm_cgroup own;
    resmon_status status = rm_cgroup_find(&own, search->root, scratch, "proc/self");
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS && !search->is_found; i++) {
        search->is_found = is_within(search, &own.places[i]);
    }
    for (size_t i = 0; i < RM_CGROUP_CONTROLLERS && !search->is_found; i++) {
        const struct rm_cgroup_place *place = &own.places[i];
        if (place->version != 0) {
            (void)snprintf(search->path, sizeof search->path, "%.*s", (int)place->mount_length,
                           place->path);
            (void)rm_dir_visit_below(search->root, search->path, look_at, search);
        }
    }
    return search->is_found
               ? RESMON_OK
               : rm_error(RESMON_ENOENT,
                          "there is no cgroup of a job %s on this node (Slurm, PBS, LSF, OAR)", id);
}

resmon_status rm_job_cgroup(const char *fs_root, const char *id, char ret_path[RM_FILE_PATH_BYTES])
{
    struct rm_root root;
    struct rm_scratch scratch = {0};
    struct search search = {.root = &root};
    if (!is_id(id)) {
        return rm_error(RESMON_EINVAL, "'%.64s' is not the id of a job", id);
    }
    make_names(search.names, id);
    resmon_status status = rm_root_open(&root, fs_root);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_scratch_init(&scratch);
    status = status == RESMON_OK ? find(&search, &scratch, id) : status;
    if (status == RESMON_OK) {
        (void)snprintf(ret_path, RM_FILE_PATH_BYTES, "/%.*s", RM_FILE_PATH_BYTES - 2, search.path);
    }
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    return status;
}
