/* SPDX-License-Identifier: MIT */
/*
 * Owns what the environment variable RESMON says: its text, as a plan.  Pure; api/autorun.c acts.
 */
#ifndef RM_ENGINE_AUTORUN_H
#define RM_ENGINE_AUTORUN_H

#include <stdbool.h>

#include <resmon/monitor.h>

#include "sys/outfile.h"

#define RM_AUTORUN_TEXT_BYTES 1024

struct rm_autorun {
    resmon_monitor_options options; /* its texts point into this struct */
    bool wants_summary;             /* on stderr */
    bool wants_log;
    char json[RM_PATH_BYTES]; /* "": none */
    char record[RM_AUTORUN_TEXT_BYTES];
    char name[RM_AUTORUN_TEXT_BYTES];
};

/**
 * Reads "key=value,key,..."; RESMON_EINVAL or RESMON_ERANGE names the part that is wrong, and lists
 * what is known.  "" is a plan with a summary only.
 */
resmon_status rm_autorun_parse(const char *text, struct rm_autorun *ret_plan);

#endif
