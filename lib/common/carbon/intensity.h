/* SPDX-License-Identifier: MIT */
/*
 * Owns the carbon intensity of electricity, in grams of CO2eq per kilowatt-hour at a place, from
 * tables generated from data/ at build time; and the conversion of joules to kilowatt-hours,
 * CO2eq and water.  Pure.
 *
 * There are two sets: the newest values, and those of codecarbon 3.3.0 for comparison.
 */
#ifndef RM_CARBON_INTENSITY_H
#define RM_CARBON_INTENSITY_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/carbon.h>

#include "base/compiler.h"

/* Location of the machine.  Case is ignored; NULL or "": not known. */
struct rm_place {
    const char *country;        /* ISO 3166 (FR, FRA) or English name */
    const char *region;         /* code or name in the country: CA, california, SE4 */
    const char *cloud_provider; /* aws, azure, gcp */
    const char *cloud_region;
    double given; /* g/kWh, takes precedence; NaN: not given */
    bool is_codecarbon;
};

struct rm_intensity {
    double g_per_kwh;
    int32_t basis;        /* RESMON_CARBON_BASIS_* */
    int32_t year;         /* year of the value; 0: not known */
    const char *place;    /* "France", "california", "us-east1", "world average"; static */
    const char *iso3;     /* of its country, or ""; static */
    const char *country;  /* country name, or ""; static */
    const char *source;   /* source to credit; static */
    const char *provider; /* cloud provider of the region, or NULL; static */
    double pue, wue;      /* of the cloud region; NaN: not known */
};

/**
 * The most specific value for the place: given, cloud region, region, country, world; `basis`
 * has which.  Names that are not found are ignored.
 */
RM_SHARED struct rm_intensity rm_intensity_find(const struct rm_place *place);

#define RM_JOULES_PER_KWH 3.6e6

/** The cost of `joules` of IT equipment. */
resmon_carbon_cost rm_carbon_cost(double joules, double pue, double wue, double g_per_kwh);

#endif
