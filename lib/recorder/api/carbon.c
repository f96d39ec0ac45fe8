/* SPDX-License-Identifier: MIT */
/* <resmon/carbon.h>: checks arguments and calls down. */
#include <resmon/carbon.h>

#include <math.h>

#include "base/keep_errno.h"
#include "base/status.h"
#include "base/struct_size.h"
#include "carbon/intensity.h"
#include "job/environment.h"
#include "setup/options.h"

static resmon_status find(const resmon_carbon_options *options, struct rm_terms_of_place *ret_terms)
{
    resmon_carbon_options known;
    resmon_status status = RESMON_OK;
    if (options != NULL) {
        status = rm_struct_take(options, RM_STRUCT_SIZE(resmon_carbon_options), &known);
    }
    return status == RESMON_OK
               ? rm_place_find(options != NULL ? &known : NULL, &rm_job_own_environment, ret_terms)
               : status;
}

resmon_status resmon_carbon_find(const resmon_carbon_options *options,
                                 resmon_carbon_intensity *ret_intensity)
{
    RM_KEEP_ERRNO;
    struct rm_terms_of_place terms;
    resmon_status status = find(options, &terms);
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_carbon_intensity result = {
        .g_per_kwh = terms.intensity.g_per_kwh,
        .pue = terms.pue,
        .wue = terms.wue,
        .basis = terms.intensity.basis,
        .year = terms.intensity.year,
        .place = terms.intensity.place,
        .iso3 = terms.intensity.iso3,
        .country = terms.intensity.country,
        .source = terms.intensity.source,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_carbon_intensity), ret_intensity);
}

resmon_status resmon_carbon_convert(double joules, const resmon_carbon_options *options,
                                    resmon_carbon_cost *ret_cost)
{
    RM_KEEP_ERRNO;
    struct rm_terms_of_place terms;
    if (!(joules >= 0.0) || isinf(joules)) {
        return rm_error(RESMON_EINVAL,
                        "resmon_carbon_convert: %g J: the energy must be finite and not negative",
                        joules);
    }
    resmon_status status = find(options, &terms);
    if (status != RESMON_OK) {
        return status;
    }
    const resmon_carbon_cost cost =
        rm_carbon_cost(joules, terms.pue, terms.wue, terms.intensity.g_per_kwh);
    return rm_struct_give(&cost, RM_STRUCT_SIZE(resmon_carbon_cost), ret_cost);
}
