/* SPDX-License-Identifier: MIT */
#include "carbon/convert.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* Each burnt for all of the electricity (Kepler's three dashboards): alternatives, never to be
 * summed. */
static const struct fuel {
    char name[16];
    double g_per_kwh;
} fuels[] = {
#define RM_ROW(name, g) {name, g},
#include "carbon/fuel.inc"
#undef RM_ROW
};

static double kg_of_fuel(const char *wanted, double kwh)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(fuels); i++) {
        if (strcmp(fuels[i].name, wanted) == 0) {
            return kwh * fuels[i].g_per_kwh / 1000.0;
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
