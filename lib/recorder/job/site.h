/* SPDX-License-Identifier: MIT */
/*
 * Owns what the environment and the administrator say of the site that a machine stands in: place,
 * carbon intensity, PUE, and powers for machines that cannot measure theirs.  The environment is
 * over the file; RESMON_* is over CODECARBON_*.
 * Called by setup/place and doctor/sources.
 */
#ifndef RM_JOB_SITE_H
#define RM_JOB_SITE_H

#include <resmon/status.h>

#include "base/compiler.h"
#include "job/environment.h"

#define RM_SITE_TEXT_BYTES 64

/* Bounds of numbers, wherever they come from. */
#define RM_SITE_MOST_G_PER_KWH 1e5
#define RM_SITE_LEAST_PUE      1
#define RM_SITE_MOST_PUE       100
#define RM_SITE_MOST_WUE       1e4

/* "" and NaN: not said. */
struct rm_site {
    char country[RM_SITE_TEXT_BYTES];
    char region[RM_SITE_TEXT_BYTES];
    char cloud_provider[RM_SITE_TEXT_BYTES];
    char cloud_region[RM_SITE_TEXT_BYTES];
    double g_per_kwh;
    double pue, wue;
    double cpu_watts; /* thermal design power of all processors together */
    double ram_watts;
};

/** Nothing is said. */
void rm_site_clear(struct rm_site *site);

/**
 * RESMON_EFORMAT names the first line of the file, or variable, that is wrong, and what it should
 * be; no file is fine.  `ret_site` has all that is right.
 */
RM_SHARED resmon_status rm_site_read(const struct rm_job_environment *environment,
                                     struct rm_site *ret_site);

/** Checks numbers, wherever they come from: a PUE below 1, say; `where` begins the error text. */
resmon_status rm_site_check(const struct rm_site *site, const char *where);

#endif
