/* SPDX-License-Identifier: MIT */
/*
 * resmon/carbon.h - converts energy to kWh, grams of CO2 equivalent and liters of water.
 *
 *     resmon_carbon_options options = {.struct_size = sizeof options, .country = "FR"};
 *     resmon_carbon_cost cost = {.struct_size = sizeof cost};
 *     resmon_carbon_convert(3.6e6, &options, &cost);
 *     printf("%.1f gCO2eq\n", cost.gco2eq);
 *
 * A conversion requires the location of the machine.  Each setting is taken from the first of these
 * that has it: options, environment (RESMON_..., then CODECARBON_...), site file:
 *
 *     setting         RESMON_...      CODECARBON_...                      /etc/resmon/site.conf
 *     country         COUNTRY         COUNTRY_ISO_CODE                    country = FR
 *     region          REGION          REGION                              region = california
 *     cloud_provider  CLOUD_PROVIDER  CLOUD_PROVIDER                      cloud_provider = gcp
 *     cloud_region    CLOUD_REGION    CLOUD_REGION                        cloud_region = us-east1
 *     g_per_kwh       G_PER_KWH       FORCE_CARBON_INTENSITY_G_CO2E_KWH   g_per_kwh = 56
 *     pue             PUE             PUE                                 pue = 1.25
 *     wue             WUE             WUE                                 wue = 0.2
 *     cpu_watts       CPU_WATTS       FORCE_CPU_POWER                     cpu_watts = 280
 *     ram_watts       RAM_WATTS       FORCE_RAM_POWER                     ram_watts = 35
 *
 * If the options have a country or a cloud_region, the region, the cloud and g_per_kwh of
 * environment and site file are ignored.  cpu_watts and ram_watts are for machines without energy
 * counters: the thermal design power of all processors together, of which a model takes a share by
 * CPU load, and the power of all memory.
 *
 * RESMON_SITE_CONF is the path of another site file.  A line that begins with '#' or ';' is a
 * comment.  The library sends no request and guesses no place.  If the place is unknown, the world
 * average is used, and the result says so.  The tables are part of the library; each result names
 * the source of its value.
 */
#ifndef RESMON_CARBON_H
#define RESMON_CARBON_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_CARBON_BASIS_GIVEN   1 /**< g_per_kwh was given */
#define RESMON_CARBON_BASIS_CLOUD   2 /**< of the cloud region */
#define RESMON_CARBON_BASIS_REGION  3 /**< of the region */
#define RESMON_CARBON_BASIS_COUNTRY 4 /**< of the country */
#define RESMON_CARBON_BASIS_WORLD   5 /**< world average: the place is unknown */

#define RESMON_CARBON_CODECARBON UINT64_C(1) /**< use the tables of codecarbon 3.3.0 */
#define RESMON_CARBON_NO_SITE    UINT64_C(2) /**< ignore environment and site file */
#define RESMON_CARBON_ZERO       UINT64_C(4) /**< g_per_kwh 0 means 0, not "not set" */

/** Location of a machine.  Zero or NULL means: not set here.  Since 0.1. */
typedef struct resmon_carbon_options {
    size_t struct_size;
    const char *country; /**< ISO 3166 "FR" or "FRA", or its English name; any case */
    const char *region;  /**< region of the country, code or name: "CA", "california", "SE4" */
    const char *cloud_provider; /**< "aws", "azure", "gcp" */
    const char *cloud_region;   /**< "us-east-1" */
    double g_per_kwh; /**< gCO2eq per kWh of electricity, instead of the tables; up to 1e5 */
    double pue;       /**< power usage effectiveness: energy of the site / energy of its
                           machines, 1 ... 100; default: of the cloud region, else 1 */
    double wue;       /**< water usage effectiveness, liters per kWh of the machines, up to 1e4;
                           default: of the cloud region, else 0 */
    uint64_t flags;   /**< RESMON_CARBON_* */
} resmon_carbon_options;

/** Carbon intensity of a place.  Strings are static.  Since 0.1. */
typedef struct resmon_carbon_intensity {
    size_t struct_size;
    double g_per_kwh;    /**< gCO2eq per kWh */
    double pue;          /**< 1 or more */
    double wue;          /**< liters per kWh */
    int32_t basis;       /**< RESMON_CARBON_BASIS_* */
    int32_t year;        /**< year of the value; 0: the source has none */
    const char *place;   /**< place of the value: "France", "us-east1", "world average" */
    const char *iso3;    /**< "FRA"; "": unknown */
    const char *country; /**< "France"; "": unknown */
    const char *source;  /**< source to credit for the value; "": g_per_kwh was given */
} resmon_carbon_intensity;

/**
 * Finds the carbon intensity of a place.  `options` NULL: all from environment and site file.
 * The most specific value is used: given, cloud region, region, country, world.  Names that are not
 * in the tables are skipped.  The first use of the world average in a process is logged.
 * RESMON_EINVAL: a number is out of range, or a flag is unknown; RESMON_EFORMAT: invalid content of
 * environment or site file, at the place in the error text.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_carbon_find(const resmon_carbon_options *options,
                                            resmon_carbon_intensity *ret_intensity);

/** Result of a conversion of energy.  Since 0.1. */
typedef struct resmon_carbon_cost {
    size_t struct_size;
    double it_kwh;         /**< energy of the machines: J / 3.6e6 */
    double facility_kwh;   /**< energy of the site: it_kwh * PUE */
    double gco2eq;         /**< facility_kwh * g_per_kwh */
    double water_l;        /**< it_kwh * WUE (The Green Grid: per kWh of the machines) */
    double coal_kg;        /**< CO2 if all of facility_kwh came from coal */
    double natural_gas_kg; /**< CO2 if it came from natural gas */
    double petroleum_kg;   /**< CO2 if it came from petroleum.  The three are alternatives: do not
                                sum them.  Combustion only, 2.23, 0.91, 2.13 lb/kWh (US EIA FAQ 74,
                                as in Kepler's dashboards) */
} resmon_carbon_cost;

/**
 * Converts `joules` at a place.
 * RESMON_EINVAL: `joules` is negative or not finite; and the errors of resmon_carbon_find().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_carbon_convert(double joules, const resmon_carbon_options *options,
                                               resmon_carbon_cost *ret_cost);

RESMON_END_DECLS

#endif
