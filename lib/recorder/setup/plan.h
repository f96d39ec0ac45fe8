/* SPDX-License-Identifier: MIT */
/*
 * Owns the parser of a text that configures a monitor and its sinks, such as the environment
 * variable RESMON: keys of options.def, names of sinks, and "SINK.KEY" of their options.  Pure;
 * callers act on the result.
 */
#ifndef RM_SETUP_PLAN_H
#define RM_SETUP_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/monitor.h>

#include "base/buffer.h"
#include "setup/options.h"

#define RM_PLAN_SINKS 32

struct rm_plan {
    resmon_monitor_options options; /* its texts are in `room` */
    resmon_label labels[RM_OPTION_LABELS_MOST];
    resmon_carbon_options carbon; /* carbon of the options, if given */
    struct rm_environment environment;
    bool wants_summary; /* on stderr */
    struct {
        const struct rm_option_set *set;
        bool is_wanted;
        struct rm_buffer text; /* sink's options, for resmon_monitor_add(); text NULL: none */
    } sinks[RM_PLAN_SINKS];
    size_t sink_count;
    char *room;
    bool has_secret;          /* among the parts read so far */
    struct rm_buffer refused; /* of an environment: reasons for parts left out, one per line */
};

/* What the text may contain. */
struct rm_plan_terms {
    const struct rm_option_set *const *sinks;
    size_t sink_count;   /* at most RM_PLAN_SINKS */
    bool is_environment; /* also keys that only the environment variable may use */
};

/**
 * Parses "key=value,key,sink=value,sink.key=value,...".  RESMON_EINVAL or RESMON_ERANGE names
 * the bad part, with a suggestion; RESMON_ENOMEM.  "" is a plan with a summary only.  Sinks
 * parse the values of their own options.  Bad parts of an environment are left out, with the
 * reason in `refused`, and the other parts are used.
 */
resmon_status rm_plan_parse(const char *text, const struct rm_plan_terms *terms,
                            struct rm_plan *ret_plan);

/** Frees a plan; also after a failure, and twice. */
void rm_plan_free(struct rm_plan *plan);

#endif
