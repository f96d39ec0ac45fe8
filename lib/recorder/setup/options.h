/* SPDX-License-Identifier: MIT */
/*
 * Owns the options of a monitor: their table (options.def), and the checked options of one
 * monitor, with defaults and copied texts; the needs of outputs that the options leave open; and
 * remarks on options without effect or with a high cost.  The place of a run and its carbon
 * intensity: options take precedence over the environment, and the environment over the site's
 * file.
 *
 * And the variable RESMON_RUN, by which a parent command `resmon run` passes a directory for the
 * blocks of monitors with scopes, and, after a comma, options as in RESMON.
 */
#ifndef RM_SETUP_OPTIONS_H
#define RM_SETUP_OPTIONS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/carbon.h>
#include <resmon/monitor.h>
#include <resmon/status.h>

#include "base/compiler.h"
#include "base/option.h"
#include "carbon/intensity.h"
#include "counter/group.h"
#include "job/site.h"

struct rm_terms_of_place {
    struct rm_intensity intensity;
    double pue, wue;
    double cpu_watts, ram_watts;      /* of the site; NaN: not given */
    char unknown[RM_SITE_TEXT_BYTES]; /* a named place that is in no table; or "" */
};

/**
 * Finds the place and its values.  `given` NULL: by environment and site only.  RESMON_EINVAL,
 * RESMON_EFORMAT as for resmon_carbon_find(); `ret_terms` is then without the bad values.
 * RESMON_ENOTSUP: the library was built without energy; all values are NaN or "".
 */
resmon_status rm_place_find(const resmon_carbon_options *given,
                            const struct rm_job_environment *environment,
                            struct rm_terms_of_place *ret_terms);

/* 1 << number; RM_SIGNALS_NONE uses bit 0, as there is no signal 0. */
#define RM_SIGNAL_BIT(number) (UINT64_C(1) << (number))
#define RM_SIGNALS_NONE       UINT64_C(1)
#define RM_SIGNALS_DEFAULT                                                    \
    (RM_SIGNAL_BIT(SIGHUP) | RM_SIGNAL_BIT(SIGINT) | RM_SIGNAL_BIT(SIGTERM) | \
     RM_SIGNAL_BIT(SIGXCPU))

#define RM_ENVIRONMENT_SUMMARY UINT64_C(1)
#define RM_ENVIRONMENT_LOG     UINT64_C(2)
#define RM_ENVIRONMENT_HELP    UINT64_C(4)
#define RM_ENVIRONMENT_FULL    UINT64_C(8) /* the summary, in full */

/* Options of the environment variable RESMON only. */
struct rm_environment {
    uint64_t flags;    /* RM_ENVIRONMENT_* */
    const char *lines; /* function, or "" for the hot ones; NULL: not wanted */
    uint64_t signals;  /* 0: not given; RM_SIGNALS_NONE */
};

RM_SHARED extern const struct rm_option_set rm_monitor_options; /* resmon_monitor_options */
extern const struct rm_option_set rm_carbon_options;            /* resmon_carbon_options */
extern const struct rm_option_set rm_environment_options;       /* struct rm_environment */

struct rm_options {
    resmon_monitor_options values; /* name and texts are copies; carbon is not set */
    int64_t interval_ns;
    uint64_t meters;   /* of scopes, including wall */
    bool wants_scopes; /* takes the scopes if no other monitor has them */
    bool needs_scopes; /* fails if another monitor has them */
    /* file below RESMON_RUN that has the block, or with `record` a link to the recording; NULL:
     * none */
    char *run_record;
    char *energy_root;              /* root of the energy counters; NULL: root of all files */
    struct rm_terms_of_place place; /* only valid with RESMON_DOMAIN_ENERGY */
    char place_remark[256];         /* unreadable parts of the place */
    resmon_monitor_options given;   /* as given, to see which members are 0 */
    /* counters of the process tree, and of scopes */
    struct rm_counters_wanted counters, scope_counters;
};

/** Checks and completes the options.  RESMON_EINVAL or RESMON_ERANGE names the bad option. */
resmon_status rm_options_read(const resmon_monitor_options *given, struct rm_options *ret_options);

void rm_options_free(struct rm_options *options);

#define RM_ASKED_BYTES 256

struct rm_run_request {
    char directory[RM_ASKED_BYTES];
    const char *options; /* options in the variable; "": none */
};

/** Reads RESMON_RUN.  False: it is not set, or the directory does not exist, belongs to another
 * user, or has so little space that the program may need it itself. */
bool rm_run_request_read(struct rm_run_request *ret_request);

struct rm_needs {
    uint64_t stacks, events;
};

/** See rm_monitor_need(). */
resmon_status rm_needs_add(struct rm_needs *needs, const struct rm_options *options,
                           const char *what, uint64_t stacks, uint64_t events);

/** Sets options that are not given to what outputs need. */
void rm_needs_settle(const struct rm_needs *needs, struct rm_options *options);

/** Writes remarks, one per line, on options that have no effect or take much memory.  `row_bytes`:
 * size of a row of the table. */
void rm_needs_remark(const struct rm_needs *needs, const struct rm_options *options,
                     uint64_t row_bytes, char *text, size_t room);

#endif
