/* SPDX-License-Identifier: MIT */
/*
 * Owns what a text says of a monitor and its sinks, such as the environment variable RESMON: keys
 * of options.def, names of sinks, and "SINK.KEY" of their options.  Pure; whoever asks acts.
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
    resmon_carbon_options carbon;   /* that of the options, if it is said */
    struct rm_environment environment;
    bool wants_summary; /* on stderr */
    struct {
        const struct rm_option_set *set;
        bool is_wanted;
        struct rm_buffer text; /* its options, for resmon_monitor_add(); text NULL: none */
    } sinks[RM_PLAN_SINKS];
    size_t sink_count;
    char *room;
    bool has_secret;          /* among what was read so far */
    struct rm_buffer refused; /* of an environment: why parts of it were left out, a line each */
};

/* What a text may say. */
struct rm_plan_terms {
    const struct rm_option_set *const *sinks;
    size_t sink_count;   /* RM_PLAN_SINKS at most */
    bool is_environment; /* also keys of the environment variable alone */
};

/**
 * Reads "key=value,key,sink=value,sink.key=value,..."; RESMON_EINVAL or RESMON_ERANGE names the
 * part that is wrong, and what may be meant; RESMON_ENOMEM.  "" is a plan with a summary only.  The
 * options of sinks are read by their sinks, but for their keys.  Of an environment, parts that are
 * wrong are left out, and `refused` says why: the others are worth having.
 */
resmon_status rm_plan_parse(const char *text, const struct rm_plan_terms *terms,
                            struct rm_plan *ret_plan);

/** Also after a failure, and twice. */
void rm_plan_free(struct rm_plan *plan);

#endif
