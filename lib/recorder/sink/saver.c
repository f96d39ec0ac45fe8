/* SPDX-License-Identifier: MIT */
#include "sink/saver.h"

#include "base/alloc.h"
#include "base/status.h"
#include "job/path_pattern.h"
#include "os/outfile.h"

struct target {
    resmon_status (*begin)(const char *path); /* NULL: done */
    resmon_status (*save)(const resmon_run *run, const char *path);
    char path[RM_PATH_BYTES];
};

static resmon_status save(void *context, const resmon_run *run)
{
    struct target *target = context;
    resmon_status status = target->begin != NULL ? target->begin(target->path) : RESMON_OK;
    if (status == RESMON_OK) {
        target->begin = NULL;
        status = target->save(run, target->path);
    }
    return status;
}

static void close_sink(void *target)
{
    rm_free(target);
}

static resmon_status settle(const struct rm_saver *saver, char path[RM_PATH_BYTES])
{
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_path_expand(saver->pattern, expanded);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_outfile_settle(expanded, path);
    bool may_come = status == RESMON_ENOENT || status == RESMON_EACCES;
    return may_come && saver->is_late ? RESMON_OK : status;
}

resmon_status rm_saver_new(const struct rm_saver *saver, struct rm_sink *ret_sink)
{
    struct target *target = rm_alloc(1, sizeof *target);
    if (target == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    target->begin = saver->begin;
    target->save = saver->save;
    resmon_status status = settle(saver, target->path);
    if (status != RESMON_OK) {
        rm_free(target);
        return status;
    }
    *ret_sink = (struct rm_sink){
        .ops = {.name = saver->name,
                .stop = save,
                .close = close_sink,
                .snapshot = save,
                .snapshot_interval_ms = saver->interval_ms},
        .context = target,
        .file = target->path,
        .wants_draft = true,
    };
    return RESMON_OK;
}
