/* SPDX-License-Identifier: MIT */
/*
 * The full report of a run, after the brief one, which must not fail where that does not.
 */
#ifndef RESMON_TESTS_REPORT_IN_FULL_H
#define RESMON_TESTS_REPORT_IN_FULL_H

#include <stdint.h>

#include <resmon/resmon.h>

static inline resmon_status report_in_full(const resmon_run *run, char **ret_text)
{
    const resmon_report_options options = {.struct_size = sizeof options,
                                           .detail = RESMON_REPORT_FULL,
                                           .width = 1000}; /* lines as they are */
    char *brief = NULL;
    resmon_status status = resmon_report_text(run, NULL, &brief);
    resmon_text_free(brief);
    return status == RESMON_OK ? resmon_report_text(run, &options, ret_text) : status;
}

#endif
