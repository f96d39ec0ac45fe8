/* SPDX-License-Identifier: MIT */
/* In place of setup/place.c when the library is built without energy. */
#include "setup/place.h"

#include "base/compiler.h"
#include "base/feature.h"

resmon_status rm_place_find(const resmon_carbon_options *given,
                            const struct rm_job_environment *environment,
                            struct rm_terms_of_place *ret_terms)
{
    (void)given, (void)environment;
    *ret_terms = (struct rm_terms_of_place){
        .intensity = {.g_per_kwh = RM_NAN, .place = "", .iso3 = "", .country = "", .source = ""},
        .pue = RM_NAN,
        .wue = RM_NAN,
        .cpu_watts = RM_NAN,
        .ram_watts = RM_NAN,
    };
    return rm_feature_need(RM_FEATURE_ENERGY);
}
