/* SPDX-License-Identifier: MIT */
#include "group.h"

#include <string.h>

#include <resmon/resmon.h>

/* Its source says that it has ended; what it said last stays in the column. */
static bool is_gone(const resmon_run *run)
{
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        if (resmon_run_get_source(run, i, &source) == RESMON_OK &&
            strcmp(source.name, "tree") == 0) {
            return source.status == RESMON_ESRCH;
        }
    }
    return false;
}

bool cli_group_is_empty(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    size_t index;
    if (resmon_monitor_summary(monitor, &run) != RESMON_OK) {
        return false;
    }
    resmon_column column = {.struct_size = sizeof column};
    bool is_known = resmon_run_find_column(run, "tree.processes", NULL, &index) == RESMON_OK &&
                    resmon_run_get_column(run, index, &column) == RESMON_OK;
    bool is_empty = (is_known && column.last == 0.0) || is_gone(run);
    resmon_run_free(run);
    return is_empty;
}
