/* SPDX-License-Identifier: MIT */
/*
 * Owns the carbon intensity of electricity: how many grams of CO2eq a kilowatt-hour costs at a
 * place, from tables made of data/ at build time.  Pure.
 *
 * Two sets: the newest figures, and those of codecarbon 3.3.0 for comparison with it.
 */
#ifndef RM_CARBON_INTENSITY_H
#define RM_CARBON_INTENSITY_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/carbon.h>

#include "base/compiler.h"

/* Where the machine stands.  Texts in any case; NULL or "": not known. */
struct rm_place {
    const char *country;        /* ISO 3166: FR, FRA; or the English name */
    const char *region;         /* code or name, of the country: CA, california, SE4 */
    const char *cloud_provider; /* aws, azure, gcp */
    const char *cloud_region;
    double given; /* g/kWh, over all look-ups; NaN: not given */
    bool is_codecarbon;
};

struct rm_intensity {
    double g_per_kwh;
    int32_t basis;        /* RESMON_CARBON_BASIS_* */
    int32_t year;         /* that the figure is of; 0: its source does not say */
    const char *place;    /* "France", "california", "us-east1", "world average"; static */
    const char *iso3;     /* of the country it lies in, or ""; static */
    const char *country;  /* its name, or ""; static */
    const char *source;   /* whom to credit; static */
    const char *provider; /* of the cloud whose region it is; or NULL; static */
    double pue, wue;      /* of the cloud's region; NaN: not known */
};

/**
 * The most exact figure for the place: given, cloud region, region, country, world.  The basis
 * tells which; what was named but not found is passed over.
 */
RM_SHARED struct rm_intensity rm_intensity_find(const struct rm_place *place);

#define RM_JOULES_PER_KWH 3.6e6

/** What `joules` of machines cost. */
resmon_carbon_cost rm_carbon_cost(double joules, double pue, double wue, double g_per_kwh);

#endif
