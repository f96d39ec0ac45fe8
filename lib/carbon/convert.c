/* SPDX-License-Identifier: MIT */
#include "carbon/convert.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "carbon/intensity.h"

static double kg_of_fuel(const char *wanted, double kwh)
{
    const char *name;
    double g_per_kwh;
    for (unsigned i = 0; rm_fuel_at(i, &name, &g_per_kwh); i++) {
        if (strcmp(name, wanted) == 0) {
            return kwh * g_per_kwh / 1000.0;
        }
    }
    return RM_NAN;
}

resmon_carbon_cost rm_carbon_cost(double joules, double pue, double wue, double g_per_kwh)
{
    double it_kwh = joules / RM_JOULES_PER_KWH;
    double facility_kwh = it_kwh * pue;
    return (resmon_carbon_cost){
        .it_kwh = it_kwh,
        .facility_kwh = facility_kwh,
        .gco2eq = facility_kwh * g_per_kwh,
        .water_l = it_kwh * wue,
        .coal_kg = kg_of_fuel("coal", facility_kwh),
        .natural_gas_kg = kg_of_fuel("natural_gas", facility_kwh),
        .petroleum_kg = kg_of_fuel("petroleum", facility_kwh),
    };
}
