/* SPDX-License-Identifier: MIT */
/* <resmon/merge.h>: checks arguments and calls down. */
#include <resmon/merge.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "export/jobstats.h"
#include "job/hosts.h"
#include "merge/merge.h"
#include "merge/steps.h"
#include "view/view.h"

#define LARGEST_TEXT ((size_t)64 << 20)

struct resmon_merge {
    struct rm_merge merge;
    char *hosts; /* the last list of expected nodes: all ranks of a job have the same list */
};

resmon_status resmon_merge_new(resmon_merge **ret_merge)
{
    RM_KEEP_ERRNO;
    if (ret_merge == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_merge_new: an argument is NULL");
    }
    resmon_merge *merge = rm_alloc(1, sizeof *merge);
    if (merge == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for merging runs");
    }
    rm_merge_begin(&merge->merge);
    *ret_merge = merge;
    return RESMON_OK;
}

void resmon_merge_free(resmon_merge *merge)
{
    RM_KEEP_ERRNO;
    if (merge != NULL) {
        rm_merge_free(&merge->merge);
        rm_free(merge->hosts);
        rm_free(merge);
    }
}

/* Adds the nodes of the job.  A list that cannot be read is ignored. */
static resmon_status expect_hosts(resmon_merge *merge, const char *text)
{
    struct rm_hosts hosts;
    if (text[0] == '\0' || (merge->hosts != NULL && strcmp(merge->hosts, text) == 0)) {
        return RESMON_OK;
    }
    char *said = rm_strdup(text);
    if (said == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the nodes of a job");
    }
    rm_free(merge->hosts);
    merge->hosts = said;
    rm_hosts_init(&hosts, true);
    resmon_status status = rm_hostlist_add_slurm(&hosts, rm_text_of(text, strlen(text)));
    bool is_list = status == RESMON_OK;
    for (size_t i = 0; i < hosts.count && status == RESMON_OK; i++) {
        status = rm_merge_expect(&merge->merge, rm_hosts_name(&hosts, i));
    }
    rm_hosts_free(&hosts);
    return is_list || status == RESMON_ENOMEM ? status : RESMON_OK;
}

resmon_status resmon_merge_add(resmon_merge *merge, const resmon_run *run)
{
    RM_KEEP_ERRNO;
    if (merge == NULL || run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_merge_add: an argument is NULL");
    }
    resmon_status status = rm_merge_add(&merge->merge, run);
    return status == RESMON_OK
               ? expect_hosts(merge, rm_run_fact_text(run, "job", RM_FACT_JOB_HOSTS))
               : status;
}

struct making {
    struct rm_merge *merge;
    resmon_run **ret_run;
};

static resmon_status make_here(void *making_)
{
    const struct making *making = making_;
    return rm_merge_make(making->merge, making->ret_run);
}

resmon_status resmon_merge_run(resmon_merge *merge, resmon_run **ret_run)
{
    RM_KEEP_ERRNO;
    if (merge == NULL || ret_run == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_merge_run: an argument is NULL");
    }
    struct making making = {&merge->merge, ret_run};
    return rm_thread_call(make_here, &making);
}

/* ---- formats of other tools ----------------------------------------------------------------- */

static resmon_status write_seff(struct rm_buffer *buffer, const struct resmon_run *run)
{
    rm_seff_write(buffer, run);
    return RESMON_OK;
}

static const struct form {
    const char *name;
    resmon_status (*write)(struct rm_buffer *buffer, const struct resmon_run *run);
} forms[] = {{"seff", write_seff}, {"jobstats", rm_jobstats_write}};

static const struct form *find_form(const char *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(forms); i++) {
        if (strcmp(forms[i].name, name) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

resmon_status resmon_job_text(const resmon_run *run, const char *form, char **ret_text)
{
    RM_KEEP_ERRNO;
    struct rm_buffer buffer;
    if (run == NULL || form == NULL || ret_text == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_job_text: an argument is NULL");
    }
    const struct form *found = find_form(form);
    if (found == NULL || run->node_count == 0) {
        return found == NULL
                   ? rm_error(RESMON_EINVAL,
                              "there is no format '%.32s'; use one of seff, jobstats", form)
                   : rm_error(RESMON_EINVAL,
                              "the run is not a merged one: create it with resmon merge");
    }
    rm_buffer_init(&buffer, LARGEST_TEXT);
    return rm_buffer_give(&buffer, found->write(&buffer, run), ret_text);
}
