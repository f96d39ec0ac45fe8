/* SPDX-License-Identifier: MIT */
/* <resmon/job.h>: checks arguments and calls lower layers. */
#include <resmon/job.h>

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "job/detect.h"
#include "job/environment.h"
#include "job/hosts.h"
#include "job/job_cgroup.h"

struct resmon_hostlist {
    struct rm_hosts hosts;
};

resmon_status resmon_job_detect(resmon_job **ret_job)
{
    RM_KEEP_ERRNO;
    return ret_job != NULL ? rm_job_detect(&rm_job_own_environment, ret_job)
                           : rm_error(RESMON_EINVAL, "resmon_job_detect: an argument is NULL");
}

void resmon_job_free(resmon_job *job)
{
    RM_KEEP_ERRNO;
    rm_job_free(job);
}

resmon_status resmon_job_get_info(const resmon_job *job, resmon_job_info *ret_info)
{
    return job != NULL ? rm_struct_give(&job->info, RM_STRUCT_SIZE(resmon_job_info), ret_info)
                       : rm_error(RESMON_EINVAL, "the job is NULL");
}

size_t resmon_job_host_count(const resmon_job *job)
{
    return job != NULL ? job->hosts.count : 0;
}

const char *resmon_job_host(const resmon_job *job, size_t index)
{
    return index < resmon_job_host_count(job) ? rm_hosts_name(&job->hosts, index) : NULL;
}

resmon_status resmon_job_cgroup(const char *id, char **ret_path)
{
    RM_KEEP_ERRNO;
    char path[RM_FILE_PATH_BYTES];
    if (id == NULL || ret_path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_job_cgroup: an argument is NULL");
    }
    resmon_status status = rm_job_cgroup(NULL, id, path);
    if (status == RESMON_OK) {
        *ret_path = rm_strdup(path);
        status =
            *ret_path != NULL ? RESMON_OK : rm_error(RESMON_ENOMEM, "out of memory for a path");
    }
    return status;
}

bool resmon_job_is_shared_variable(const char *name)
{
    return name != NULL && rm_job_is_shared_variable(name);
}

resmon_status resmon_hostlist_expand(const char *text, resmon_hostlist **ret_list)
{
    RM_KEEP_ERRNO;
    if (text == NULL || ret_list == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_hostlist_expand: an argument is NULL");
    }
    resmon_hostlist *list = rm_alloc(1, sizeof *list);
    if (list == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a host list");
    }
    rm_hosts_init(&list->hosts, false);
    resmon_status status = rm_hostlist_add_slurm(&list->hosts, rm_text_of(text, strlen(text)));
    if (status != RESMON_OK) {
        resmon_hostlist_free(list);
        return status;
    }
    *ret_list = list;
    return RESMON_OK;
}

size_t resmon_hostlist_count(const resmon_hostlist *list)
{
    return list != NULL ? list->hosts.count : 0;
}

const char *resmon_hostlist_name(const resmon_hostlist *list, size_t index)
{
    return index < resmon_hostlist_count(list) ? rm_hosts_name(&list->hosts, index) : NULL;
}

void resmon_hostlist_free(resmon_hostlist *list)
{
    RM_KEEP_ERRNO;
    if (list != NULL) {
        rm_hosts_free(&list->hosts);
        rm_free(list);
    }
}
