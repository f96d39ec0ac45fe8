/* SPDX-License-Identifier: MIT */
/*
 * The sink that keeps a run document up to date: checkpoints that replace each other, and the final
 * one.
 */
#include <stdbool.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "job/path_pattern.h"
#include "sink/document.h"
#include "sys/outfile.h"

#define CHECKPOINT_MS 60000
#define FLAGS         (RESMON_JSON_FINAL_ONLY | RESMON_JSON_LATE)

static resmon_status save(void *path, const resmon_run *run)
{
    return rm_document_save(run, path);
}

static void close_sink(void *path)
{
    rm_free(path);
}

/* Looked at now, as the end of a program is late for bad news. */
static resmon_status settle(const resmon_json_options *options, char path[RM_PATH_BYTES])
{
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_document_check();
    if (status == RESMON_OK) {
        status = rm_path_expand(options->path, expanded);
    }
    if (status == RESMON_OK) {
        status = rm_outfile_settle(expanded, path);
    }
    bool may_come = status == RESMON_ENOENT || status == RESMON_EACCES;
    return may_come && (options->flags & RESMON_JSON_LATE) != 0 ? RESMON_OK : status;
}

resmon_status rm_json_sink_new(const resmon_json_options *options, struct rm_sink *ret_sink)
{
    resmon_json_options known;
    resmon_status status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_json_options), &known);
    if (status != RESMON_OK) {
        return status;
    }
    if (known.path == NULL || (known.flags & ~FLAGS) != 0) {
        return rm_error(RESMON_EINVAL, "options of a JSON sink: %s",
                        known.path == NULL ? "path is NULL" : "unknown flags");
    }
    char *path = rm_alloc(1, RM_PATH_BYTES);
    if (path == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sink");
    }
    status = settle(&known, path);
    if (status != RESMON_OK) {
        rm_free(path);
        return status;
    }
    bool has_checkpoints = (known.flags & RESMON_JSON_FINAL_ONLY) == 0;
    uint64_t interval_ms = known.interval_ms != 0 ? known.interval_ms : CHECKPOINT_MS;
    *ret_sink = (struct rm_sink){
        .ops = {.name = "json",
                .stop = save,
                .close = close_sink,
                .snapshot = save,
                .snapshot_interval_ms = has_checkpoints ? interval_ms : 0},
        .context = path,
    };
    return RESMON_OK;
}
