/* SPDX-License-Identifier: MIT */
/* <resmon/trace.h>, <resmon/arrow.h>, and the functions of <resmon/stack.h> that write files. */
#include <resmon/arrow.h>
#include <resmon/stack.h>
#include <resmon/trace.h>

#include "base/status.h"
#include "export/arrow.h"
#include "export/stacks.h"
#include "export/trace.h"
#include "job/path_pattern.h"

resmon_status resmon_trace_save(const resmon_run *const *runs, size_t count, const char *path)
{
    RM_KEEP_ERRNO;
    char expanded[RM_PATH_BYTES];
    if (runs == NULL || count == 0 || path == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_trace_save: %s",
                        runs != NULL && path != NULL ? "no run" : "an argument is NULL");
    }
    for (size_t i = 0; i < count; i++) {
        if (runs[i] == NULL) {
            return rm_error(RESMON_EINVAL, "resmon_trace_save: run %zu is NULL", i);
        }
    }
    resmon_status status = rm_path_expand(path, expanded);
    return status == RESMON_OK ? rm_trace_save(runs, count, expanded) : status;
}

static resmon_status expand(const resmon_run *run, const char *path, char expanded[RM_PATH_BYTES],
                            const char *function)
{
    return run != NULL && path != NULL
               ? rm_path_expand(path, expanded)
               : rm_error(RESMON_EINVAL, "%s: an argument is NULL", function);
}

resmon_status resmon_run_save_folded(const resmon_run *run, int32_t kind, const char *path)
{
    RM_KEEP_ERRNO;
    char expanded[RM_PATH_BYTES];
    if (kind < 0 || kind >= RM_STACK_KINDS) {
        return rm_error(RESMON_EINVAL, "there is no kind %d of stacks", kind);
    }
    resmon_status status = expand(run, path, expanded, __func__);
    return status == RESMON_OK ? rm_folded_save(run, kind, expanded) : status;
}

resmon_status resmon_run_save_pprof(const resmon_run *run, const char *path)
{
    RM_KEEP_ERRNO;
    char expanded[RM_PATH_BYTES];
    resmon_status status = expand(run, path, expanded, __func__);
    return status == RESMON_OK ? rm_pprof_save(run, expanded) : status;
}

resmon_status resmon_run_export_arrow(const resmon_run *run, int32_t series,
                                      struct ArrowArrayStream *ret_stream)
{
    RM_KEEP_ERRNO;
    if (run == NULL || ret_stream == NULL) {
        return rm_error(RESMON_EINVAL, "resmon_run_export_arrow: an argument is NULL");
    }
    if (series < 0 || series > RESMON_SERIES_VALUE) {
        return rm_error(RESMON_EINVAL, "resmon_run_export_arrow: there is no series %d",
                        (int)series);
    }
    return rm_arrow_export(run, series, ret_stream);
}
