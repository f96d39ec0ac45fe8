/* SPDX-License-Identifier: MIT */
/*
 * Owns what the environment variable RESMON says: its text, as a plan.  Pure; api/autorun.c acts.
 */
#ifndef RM_ENGINE_AUTORUN_H
#define RM_ENGINE_AUTORUN_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/monitor.h>

#define RM_AUTORUN_TEXT_BYTES 1024

/* Keys whose value is a text, kept as it is. */
enum rm_autorun_text {
    RM_AUTORUN_NAME,
    RM_AUTORUN_RECORD,
    RM_AUTORUN_JSON,
    RM_AUTORUN_CSV,
    RM_AUTORUN_MLFLOW, /* the tracking URI, or nothing */
    RM_AUTORUN_PROMETHEUS,
    RM_AUTORUN_PUSH,
    RM_AUTORUN_OPENMETRICS,
    RM_AUTORUN_TRACE,
    RM_AUTORUN_EMISSIONS,
    RM_AUTORUN_FOLDED,
    RM_AUTORUN_FOLDED_MEMORY,
    RM_AUTORUN_SPEEDSCOPE,
    RM_AUTORUN_PPROF,
    RM_AUTORUN_LINES, /* of this function, or nothing */
    RM_AUTORUN_COUNTERS,
    RM_AUTORUN_SCOPE_COUNTERS,
    RM_AUTORUN_TEXTS
};

struct rm_autorun {
    resmon_monitor_options options; /* its texts point into this struct */
    bool wants_summary;             /* on stderr */
    bool wants_log;
    uint64_t checkpoint_ms; /* 0: the default */
    bool has[RM_AUTORUN_TEXTS];
    char texts[RM_AUTORUN_TEXTS][RM_AUTORUN_TEXT_BYTES];
};

/**
 * Reads "key=value,key,..."; RESMON_EINVAL or RESMON_ERANGE names the part that is wrong, and lists
 * what is known.  "" is a plan with a summary only.
 */
resmon_status rm_autorun_parse(const char *text, struct rm_autorun *ret_plan);

/** The key of a text: "json". */
const char *rm_autorun_text_name(enum rm_autorun_text text);

#endif
