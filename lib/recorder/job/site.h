/* SPDX-License-Identifier: MIT */
/*
 * Owns the settings of the site: place, carbon intensity, PUE, and power of machines that cannot
 * measure it, from the environment and the administrator's file.  The environment takes
 * precedence over the file, and RESMON_* over CODECARBON_*.
 *
 * Called by setup/options and doctor/sources.
 */
#ifndef RM_JOB_SITE_H
#define RM_JOB_SITE_H

#include <resmon/status.h>

#include "base/compiler.h"
#include "job/environment.h"

#define RM_SITE_TEXT_BYTES 64

/* Bounds of numbers from all sources. */
#define RM_SITE_MOST_G_PER_KWH 1e5
#define RM_SITE_LEAST_PUE      1
#define RM_SITE_MOST_PUE       100
#define RM_SITE_MOST_WUE       1e4

/* "" and NaN: not set. */
struct rm_site {
    char country[RM_SITE_TEXT_BYTES];
    char region[RM_SITE_TEXT_BYTES];
    char cloud_provider[RM_SITE_TEXT_BYTES];
    char cloud_region[RM_SITE_TEXT_BYTES];
    double g_per_kwh;
    double pue, wue;
    double cpu_watts; /* TDP of all processors together */
    double ram_watts;
};

/** Sets nothing. */
void rm_site_clear(struct rm_site *site);

/**
 * Reads the settings.  RESMON_EFORMAT names the first bad line of the file, or variable, and
 * what is valid; a missing file is no error.  `ret_site` has all valid settings.
 */
RM_SHARED resmon_status rm_site_read(const struct rm_job_environment *environment,
                                     struct rm_site *ret_site);

/** Checks numbers, such as a PUE below 1; `where` is the prefix of the error text. */
resmon_status rm_site_check(const struct rm_site *site, const char *where);

#endif
