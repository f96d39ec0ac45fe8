/* SPDX-License-Identifier: MIT */
/*
 * resmon/carbon.h - energy as kilowatt-hours, grams of CO2 equivalent and litres of water.
 *
 * A conversion needs to know where the machine stands.  It is told by options, else by the
 * environment, else by the site's file, in this order for each setting by itself:
 *
 *   setting         RESMON_...      CODECARBON_...                      /etc/resmon/site.conf
 *   country         COUNTRY         COUNTRY_ISO_CODE                    country = FR
 *   region          REGION          REGION                              region = california
 *   cloud_provider  CLOUD_PROVIDER  CLOUD_PROVIDER                      cloud_provider = gcp
 *   cloud_region    CLOUD_REGION    CLOUD_REGION                        cloud_region = us-east1
 *   g_per_kwh       G_PER_KWH       FORCE_CARBON_INTENSITY_G_CO2E_KWH   g_per_kwh = 56
 *   pue             PUE             PUE                                 pue = 1.25
 *   wue             WUE             WUE                                 wue = 0.2
 *
 *   cpu_watts       CPU_WATTS       FORCE_CPU_POWER                     cpu_watts = 280
 *   ram_watts       RAM_WATTS       FORCE_RAM_POWER                     ram_watts = 35
 *
 * The last two are for machines that cannot measure: the thermal design power of all processors
 * together, of which a model takes a share by load, and what all memory draws.
 * RESMON_SITE_CONF names another file.  A line of it that begins with '#' or ';' is a remark.
 * Nothing is asked of a network, and no place is guessed: an unknown one is the world average,
 * which says so.  The tables are in the library; whom their figures are from is in each result.
 */
#ifndef RESMON_CARBON_H
#define RESMON_CARBON_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_CARBON_BASIS_GIVEN   1 /**< g_per_kwh was given */
#define RESMON_CARBON_BASIS_CLOUD   2 /**< of the cloud's region */
#define RESMON_CARBON_BASIS_REGION  3 /**< of the region of the country */
#define RESMON_CARBON_BASIS_COUNTRY 4 /**< of the country */
#define RESMON_CARBON_BASIS_WORLD   5 /**< the world's average: the place is not known */

#define RESMON_CARBON_CODECARBON UINT64_C(1) /**< the figures of codecarbon 3.3.0, to compare */
#define RESMON_CARBON_NO_SITE    UINT64_C(2) /**< neither environment nor site's file */
#define RESMON_CARBON_ZERO       UINT64_C(4) /**< a g_per_kwh of 0 is meant, and not "not given" */

/** Where a machine stands.  Zero or NULL: not given here.  Since 0.1. */
typedef struct resmon_carbon_options {
    size_t struct_size;
    const char *country;        /**< ISO 3166 "FR" or "FRA", or its English name; any case */
    const char *region;         /**< of the country, code or name: "CA", "california", "SE4" */
    const char *cloud_provider; /**< "aws", "azure", "gcp" */
    const char *cloud_region;   /**< "us-east-1" */
    double g_per_kwh;           /**< gCO2eq per kWh of electricity, over all look-ups */
    double pue;                 /**< power usage effectiveness: energy of the site over energy of
                                     its machines, 1 or more; default: the cloud region's, else 1 */
    double wue;                 /**< water usage effectiveness, litres per kWh of the machines;
                                     default: the cloud region's, else 0 */
    uint64_t flags;             /**< RESMON_CARBON_* */
} resmon_carbon_options;

/** What is known of a place.  Texts are static.  Since 0.1. */
typedef struct resmon_carbon_intensity {
    size_t struct_size;
    double g_per_kwh;    /**< gCO2eq per kWh */
    double pue;          /**< 1 or more */
    double wue;          /**< litres per kWh */
    int32_t basis;       /**< RESMON_CARBON_BASIS_* */
    int32_t year;        /**< that the figure is of; 0: its source does not say */
    const char *place;   /**< what the figure is of: "France", "us-east1", "world average" */
    const char *iso3;    /**< "FRA"; "": not known */
    const char *country; /**< "France"; "": not known */
    const char *source;  /**< whom to credit for the figure; "": it was given */
} resmon_carbon_intensity;

/**
 * The carbon intensity at a place, of which the most exact figure counts: given, cloud region,
 * region, country, world.  `options` NULL: all from environment and site.  What was named but is
 * not in the tables is passed over, and said in the log; once per process also that it is the
 * world's average.
 * RESMON_ENOTSUP: this build has no energy; RESMON_EINVAL: a number that cannot be, or an unknown
 * flag; RESMON_EFORMAT: the environment or the site's file holds something else than it should, the
 * text says where.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_carbon_find(const resmon_carbon_options *options,
                                            resmon_carbon_intensity *ret_intensity);

/** What an amount of energy costs.  Since 0.1. */
typedef struct resmon_carbon_cost {
    size_t struct_size;
    double it_kwh;         /**< of the machines: J / 3.6e6 */
    double facility_kwh;   /**< of the site: it_kwh * PUE */
    double gco2eq;         /**< facility_kwh * g_per_kwh */
    double water_l;        /**< it_kwh * WUE (The Green Grid: per kWh of the machines) */
    double coal_kg;        /**< CO2 if all of facility_kwh were made of coal, */
    double natural_gas_kg; /**< or of natural gas, */
    double petroleum_kg;   /**< or of petroleum: alternatives, never to be summed.  Combustion
                                alone, 2.23, 0.91, 2.13 lb/kWh (US EIA FAQ 74, as Kepler's
                                dashboards have it) */
} resmon_carbon_cost;

/**
 * The cost of `joules` at a place.  RESMON_EINVAL: joules is negative or not finite; and as
 * resmon_carbon_find().  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_carbon_convert(double joules, const resmon_carbon_options *options,
                                               resmon_carbon_cost *ret_cost);

RESMON_END_DECLS

#endif
