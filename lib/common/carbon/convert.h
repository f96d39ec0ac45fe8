/* SPDX-License-Identifier: MIT */
/*
 * Owns what joules cost: kilowatt-hours, CO2eq, water.  Pure.
 */
#ifndef RM_CARBON_CONVERT_H
#define RM_CARBON_CONVERT_H

#include <resmon/carbon.h>

#define RM_JOULES_PER_KWH 3.6e6

/** What `joules` of machines cost. */
resmon_carbon_cost rm_carbon_cost(double joules, double pue, double wue, double g_per_kwh);

#endif
