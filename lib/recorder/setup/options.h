/* SPDX-License-Identifier: MIT */
/*
 * Owns where a run takes place, and what a kilowatt-hour costs there: options over environment over
 * the site's file.
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
    double cpu_watts, ram_watts;      /* of the site; NaN: not said */
    char unknown[RM_SITE_TEXT_BYTES]; /* a place that was named and is in no table; or "" */
};

/**
 * `given` NULL: all from environment and site.  RESMON_EINVAL, RESMON_EFORMAT as for
 * resmon_carbon_find(); `ret_terms` then has what could be told without.  RESMON_ENOTSUP: the
 * library was built without energy; all is NaN or "" then.
 */
resmon_status rm_place_find(const resmon_carbon_options *given,
                            const struct rm_job_environment *environment,
                            struct rm_terms_of_place *ret_terms);

/* 1 << number.  None: there is no signal 0. */
#define RM_SIGNAL_BIT(number) (UINT64_C(1) << (number))
#define RM_SIGNALS_NONE       UINT64_C(1)
#define RM_SIGNALS_DEFAULT                                                    \
    (RM_SIGNAL_BIT(SIGHUP) | RM_SIGNAL_BIT(SIGINT) | RM_SIGNAL_BIT(SIGTERM) | \
     RM_SIGNAL_BIT(SIGXCPU))

#define RM_ENVIRONMENT_SUMMARY UINT64_C(1)
#define RM_ENVIRONMENT_LOG     UINT64_C(2)
#define RM_ENVIRONMENT_HELP    UINT64_C(4)
#define RM_ENVIRONMENT_FULL    UINT64_C(8) /* the summary, in full */

/* What only the environment variable RESMON says. */
struct rm_environment {
    uint64_t flags;    /* RM_ENVIRONMENT_* */
    const char *lines; /* of this function, or of the hot ones: ""; NULL: not wanted */
    uint64_t signals;  /* 0: not said; RM_SIGNALS_NONE */
};

RM_SHARED extern const struct rm_option_set rm_monitor_options; /* resmon_monitor_options */
extern const struct rm_option_set rm_carbon_options;            /* resmon_carbon_options */
extern const struct rm_option_set rm_environment_options;       /* struct rm_environment */

struct rm_options {
    resmon_monitor_options values; /* name and texts are copies; without carbon */
    int64_t interval_ns;
    uint64_t meters;   /* of scopes; with that of the wall clock */
    bool wants_scopes; /* takes them if they are free */
    bool needs_scopes; /* fails if they are not */
    char *run_record;  /* file below RESMON_RUN, kept if it can be, or with `record` a link to that;
                          NULL: none */
    char *energy_root; /* where the energy counters are looked for; NULL: with all else */
    struct rm_terms_of_place place; /* only with RESMON_DOMAIN_ENERGY */
    char place_remark[256];         /* what cannot be read of it */
    resmon_monitor_options said;    /* as they were given: only whether members are 0 */
    struct rm_counters_wanted counters, scope_counters; /* of the process tree, and of scopes */
};

/** Checks and completes; RESMON_EINVAL or RESMON_ERANGE names the option. */
resmon_status rm_options_read(const resmon_monitor_options *given, struct rm_options *ret_options);

void rm_options_free(struct rm_options *options);

#define RM_ASKED_BYTES 256

struct rm_asked {
    char directory[RM_ASKED_BYTES];
    const char *options; /* in the environment; "": none */
};

/** False: nothing is asked, or the directory is gone, is not this user's alone, or has so little
 * room that the program may need it itself. */
bool rm_asked_find(struct rm_asked *ret_asked);

struct rm_needs {
    uint64_t stacks, events;
};

/** See rm_monitor_need(). */
resmon_status rm_needs_add(struct rm_needs *needs, const struct rm_options *options,
                           const char *what, uint64_t stacks, uint64_t events);

/** Writes the needs into options that say nothing. */
void rm_needs_settle(const struct rm_needs *needs, struct rm_options *options);

/** What was asked for and has no effect, or takes much memory, a line each.  `row_bytes`: what a
 * row of the table takes. */
void rm_needs_remark(const struct rm_needs *needs, const struct rm_options *options,
                     uint64_t row_bytes, char *text, size_t room);

#endif
