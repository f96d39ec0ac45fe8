/* SPDX-License-Identifier: MIT */
#include "group.h"

#include <math.h>
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

/* What a metric had last; NaN: nobody knows. */
static double last_of(const resmon_run *run, const char *metric)
{
    size_t index;
    resmon_column column = {.struct_size = sizeof column};
    bool is_known = resmon_run_find_column(run, metric, NULL, &index) == RESMON_OK &&
                    resmon_run_get_column(run, index, &column) == RESMON_OK && column.n > 0;
    return is_known ? column.last : (double)NAN;
}

bool cli_group_is_empty(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    if (resmon_monitor_summary(monitor, &run) != RESMON_OK) {
        return false;
    }
    bool is_empty = last_of(run, "tree.processes") == 0.0 || is_gone(run);
    resmon_run_free(run);
    return is_empty;
}

bool cli_group_out_of_memory(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    if (resmon_monitor_summary(monitor, &run) != RESMON_OK) {
        return false;
    }
    bool is_out = last_of(run, "cg.mem.events.oom_kill") > 0.0;
    resmon_run_free(run);
    return is_out;
}
