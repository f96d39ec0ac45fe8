/* SPDX-License-Identifier: MIT */
/*
 * The sink that keeps a run document up to date: checkpoints that replace each other, and the final
 * one.
 */
#include "base/status.h"
#include "base/struct_size.h"
#include "sink/document.h"
#include "sink/saver.h"

#define CHECKPOINT_MS 60000
#define FLAGS         (RESMON_JSON_FINAL_ONLY | RESMON_JSON_LATE)

resmon_status rm_json_sink_new(const resmon_json_options *options, struct rm_sink *ret_sink)
{
    resmon_json_options known;
    resmon_status status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_json_options), &known);
    if (status == RESMON_OK) {
        status = rm_document_check();
    }
    if (status != RESMON_OK) {
        return status;
    }
    if ((known.flags & ~FLAGS) != 0) {
        return rm_error(RESMON_EINVAL, "options of the sink json: unknown flags");
    }
    uint64_t interval_ms = known.interval_ms != 0 ? known.interval_ms : CHECKPOINT_MS;
    const struct rm_saver saver = {
        .name = "json",
        .pattern = known.path,
        .interval_ms = (known.flags & RESMON_JSON_FINAL_ONLY) != 0 ? 0 : interval_ms,
        .is_late = (known.flags & RESMON_JSON_LATE) != 0,
        .save = rm_document_save,
    };
    return rm_saver_new(&saver, ret_sink);
}
