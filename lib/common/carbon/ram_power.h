/* SPDX-License-Identifier: MIT */
/*
 * Owns models of what memory draws: watts by the number of modules, as codecarbon has them since
 * 3.0, and how many modules a size is likely to be.  Pure.
 */
#ifndef RM_CARBON_RAM_POWER_H
#define RM_CARBON_RAM_POWER_H

#include <stdbool.h>

/** How many modules codecarbon 3.3.0 takes `gib` GiB for. */
unsigned rm_ram_modules(double gib);

/** W of so many modules: 5 W each (ARM: 1.5 W), the later ones less; 10 W (3 W) at least. */
double rm_ram_watts(unsigned modules, bool is_arm);

/**
 * What is installed on a machine whose kernel counts `gib` GiB, which is less: the next multiple of
 * 2, 4, 8, 16 ... GiB that is at most 4 % above.
 */
double rm_ram_installed(double gib);

#endif
