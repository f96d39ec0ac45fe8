/* SPDX-License-Identifier: MIT */
#include "sink/saver.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "format/document.h"
#include "job/path_pattern.h"
#include "os/identity.h"
#include "os/infile.h"
#include "os/outfile.h"
#include "os/reader.h"
#include "run/run.h"
#include "sink/sinks.h"
#include "store/run_records.h"

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

/* ---- the sinks of the formats --------------------------------------------------------------- */

#define HEAD_BYTES 4096 /* has the facts of the run in it */

/* ---- run documents ------------------------------------------------------------------------ */

/* The name of the fact stands in the document once, in its first part: in texts quotes are escaped.
 */
static bool find_writer(const char *head, struct rm_identity *ret_writer)
{
    char text[RM_IDENTITY_TEXT_BYTES];
    static const char key[] = "\"" RM_FACT_OBSERVER "\":";
    const char *found = strstr(head, key);
    const char *begin = found != NULL ? strchr(found + sizeof key - 1, '"') : NULL;
    const char *end = begin != NULL ? strchr(begin + 1, '"') : NULL;
    if (end == NULL) {
        return false;
    }
    (void)rm_text_copy(text, sizeof text, begin + 1, (size_t)(end - begin - 1));
    return rm_identity_parse(text, ret_writer);
}

/* What this process has written there before an exec keeps a name. */
static resmon_status set_aside(const char *path)
{
    struct rm_infile file;
    struct rm_identity writer;
    char head[HEAD_BYTES] = "";
    if (rm_infile_open(&file, path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return RESMON_OK;
    }
    size_t length = file.bytes < sizeof head - 1 ? (size_t)file.bytes : sizeof head - 1;
    bool is_read = rm_infile_read(&file, 0, head, length) == RESMON_OK;
    rm_infile_close(&file);
    return is_read && find_writer(head, &writer) && rm_identity_is_earlier_image(&writer)
               ? rm_outfile_set_aside(path)
               : RESMON_OK;
}

resmon_status rm_json_sink_new(const resmon_json_options *options, struct rm_sink *ret_sink)
{
    const struct rm_saver saver = {
        .name = "json",
        .pattern = options->path,
        .interval_ms = (options->flags & RESMON_JSON_FINAL_ONLY) != 0 ? 0 : options->interval_ms,
        .is_late = (options->flags & RESMON_JSON_LATE) != 0,
        .begin = set_aside,
        .save = rm_document_save,
    };
    return rm_saver_new(&saver, ret_sink);
}

/* ---- what the reader writes --------------------------------------------------------------- */

#define RM_SAVED(sink, options_of, what)                                                    \
    static resmon_status save_##sink(const resmon_run *run, const char *path)               \
    {                                                                                       \
        const struct rm_reader *reader = rm_reader();                                       \
        return reader != NULL ? reader->save(run, what, path) : RESMON_ENOTSUP;             \
    }                                                                                       \
    resmon_status rm_##sink##_sink_new(const options_of *options, struct rm_sink *ret_sink) \
    {                                                                                       \
        const struct rm_saver saver = {.name = #sink,                                       \
                                       .pattern = options->path,                            \
                                       .interval_ms = options->interval_ms,                 \
                                       .save = save_##sink};                                \
        resmon_status status = rm_reader_check();                                           \
        return status == RESMON_OK ? rm_saver_new(&saver, ret_sink) : status;               \
    }

RM_SAVED(trace, resmon_trace_options, RM_READER_TRACE)
RM_SAVED(html, resmon_page_file_options, RM_READER_HTML)
RM_SAVED(markdown, resmon_page_file_options, RM_READER_MARKDOWN)
RM_SAVED(pprof, resmon_stacks_options, RM_READER_PPROF)
RM_SAVED(folded, resmon_stacks_options, RM_READER_FOLDED_CPU)
RM_SAVED(folded_memory, resmon_stacks_options, RM_READER_FOLDED_MEMORY)
RM_SAVED(folded_file, resmon_stacks_options, RM_READER_FOLDED_FILE)
