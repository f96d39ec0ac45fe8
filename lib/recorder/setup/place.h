/* SPDX-License-Identifier: MIT */
/*
 * Owns where a run takes place, and what a kilowatt-hour costs there: options over environment over
 * the site's file.
 */
#ifndef RM_SETUP_PLACE_H
#define RM_SETUP_PLACE_H

#include <resmon/carbon.h>

#include "carbon/intensity.h"
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

#endif
