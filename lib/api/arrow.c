/* SPDX-License-Identifier: MIT */
#include <resmon/arrow.h>

#include "base/keep_errno.h"
#include "base/status.h"
#include "format/arrow.h"

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
