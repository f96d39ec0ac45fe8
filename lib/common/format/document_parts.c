/* SPDX-License-Identifier: MIT */
#include "format/document_parts.h"

#include <string.h>

#include "base/compiler.h"

void rm_document_event_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_EVENT_COLUMNS])
{
    const double names = (double)run->event_name_count;
    const double threads = (double)run->thread_count;
    const struct rm_column_of all[RM_EVENT_COLUMNS] = {
        RM_COLUMN_OF(struct rm_run_event, name, "name", 0.0, names),
        RM_COLUMN_OF(struct rm_run_event, thread, "thread", 0.0, threads),
        RM_COLUMN_OF(struct rm_run_event, start_ns, "start_ns", 0.0, 0x1p54),
        RM_COLUMN_OF(struct rm_run_event, duration_ns, "duration_ns", 0.0, 0x1p54),
        RM_COLUMN_OF(struct rm_run_event, depth, "depth", 0.0, RM_MAX_DEPTH),
        RM_COLUMN_OF(struct rm_run_event, is_open, "open", 0.0, 2.0),
    };
    memcpy(columns, all, sizeof all);
}

void rm_document_stack_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_STACK_COLUMNS])
{
    const double scopes = (double)run->scope_count;
    const struct rm_column_of all[RM_STACK_COLUMNS] = {
        RM_COLUMN_OF(struct rm_run_stack, scope, "scope", -1.0, scopes),
        RM_COLUMN_OF(struct rm_run_stack, is_cut, "cut", 0.0, 2.0),
    };
    memcpy(columns, all, sizeof all);
}

void rm_document_place_columns(size_t texts, size_t modules,
                               struct rm_column_of columns[RM_PLACE_COLUMNS])
{
    const struct rm_column_of all[RM_PLACE_COLUMNS] = {
        RM_COLUMN_OF(struct rm_place_row, function, "function", 0.0, (double)texts),
        RM_COLUMN_OF(struct rm_place_row, file, "file", 0.0, (double)texts),
        RM_COLUMN_OF(struct rm_place_row, line, "line", 0.0, 0x1p32),
        RM_COLUMN_OF(struct rm_place_row, is_inlined, "inlined", 0.0, 2.0),
        RM_COLUMN_OF(struct rm_place_row, module, "module", -1.0, (double)modules),
    };
    memcpy(columns, all, sizeof all);
}

#define WEIGHTS(member, is_real, bound)                                                   \
    {                                                                                     \
#member,                                                                          \
        {                                                                                 \
            NULL, (uint16_t)offsetof(struct rm_run_stack, member), 8, is_real, 0.0, bound \
        }                                                                                 \
    }

const struct rm_weight_column rm_document_weights[RM_WEIGHT_COLUMNS] = {
    WEIGHTS(samples, false, RM_DOCUMENT_EXACT),
    WEIGHTS(weight, true, RM_DOCUMENT_HEAVIEST),
    WEIGHTS(error, true, RM_DOCUMENT_HEAVIEST),
};
