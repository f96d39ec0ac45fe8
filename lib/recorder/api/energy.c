/* SPDX-License-Identifier: MIT */
/* <resmon/energy.h> and <resmon/carbon.h>: checks arguments and calls lower layers. */
#include <resmon/carbon.h>
#include <resmon/energy.h>

#include <math.h>

#include "base/status.h"
#include "base/struct_size.h"
#include "carbon/intensity.h"
#include "job/environment.h"
#include "run/energy.h"
#include "setup/options.h"

/* ---- the energy of a run -------------------------------------------------------------------- */

resmon_status resmon_run_get_energy(const resmon_run *run, resmon_energy *ret_energy)
{
    if (run == NULL) {
        return rm_error(RESMON_EINVAL, "the run is NULL");
    }
    if (!rm_run_has_energy(run)) {
        return rm_error(RESMON_ENOENT, "%s", rm_run_energy_lack(run));
    }
    const resmon_energy energy = rm_run_energy(run);
    return rm_struct_give(&energy, RM_STRUCT_SIZE(resmon_energy), ret_energy);
}

size_t resmon_run_energy_part_count(const resmon_run *run)
{
    return run != NULL && rm_run_has_energy(run) ? RM_ENERGY_PARTS : 0;
}

resmon_status resmon_run_get_energy_part(const resmon_run *run, size_t index,
                                         resmon_energy_part *ret_part)
{
    if (index >= resmon_run_energy_part_count(run)) {
        return rm_error(RESMON_ENOENT, "the run has no energy component %zu", index);
    }
    const resmon_energy_part part = rm_run_energy_part(run, index);
    return rm_struct_give(&part, RM_STRUCT_SIZE(resmon_energy_part), ret_part);
}

/* ---- the emissions of energy ---------------------------------------------------------------- */

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
