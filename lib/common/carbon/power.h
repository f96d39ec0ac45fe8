/* SPDX-License-Identifier: MIT */
/*
 * Owns models of the power of processors and memory, for machines that do not measure it: thermal
 * design power by model name, its part by load, power of a virtual CPU by microarchitecture; power
 * of memory by the number of modules, as in codecarbon since 3.0, and the likely number of modules.
 * Pure.
 */
#ifndef RM_CARBON_POWER_H
#define RM_CARBON_POWER_H

#include <stdbool.h>

#define RM_CPU_NAME_BYTES 64

/**
 * Thermal design power in W of a processor with the "model name" of /proc/cpuinfo; NaN when the
 * table has none, or more than one that could be meant.  `ret_name` gets the row's name.
 */
double rm_cpu_tdp(const char *model_name, char ret_name[RM_CPU_NAME_BYTES]);

/* W of processors, idle and at full load.  In between, power goes with the CPU time in use: so
 * energy does not depend on the steps in which it is reckoned, as it would with a curve. */
struct rm_cpu_power {
    double idle, full;
};

/** Powers of processors of `tdp` W together: the ends of codecarbon 3.3.0's curve, 0.1 and 1.0 of
 * that. */
struct rm_cpu_power rm_cpu_power_of_tdp(double tdp);

/**
 * One virtual CPU of a microarchitecture ("Cascade Lake"): the median hardware thread of the
 * servers in SPECpower_ssj2008, or, of the families that are not in there, what Cloud Carbon
 * Footprint has made of it.  `provider` is "aws", "azure", "gcp" or NULL for the one that draws
 * most; the medians are of all.  False when the table has none.
 */
bool rm_vcpu_power_find(const char *microarchitecture, const char *provider,
                        struct rm_cpu_power *ret_power);

/* Who made a processor, as /proc/cpuinfo numbers it. */
struct rm_cpu_kind {
    char vendor[16]; /* GenuineIntel, AuthenticAMD, ARM */
    int family;      /* ARM: the part */
    int model;
    int stepping;
};

/** Its microarchitecture by the names of the table above; NULL when that is not known. */
const char *rm_cpu_microarchitecture(const struct rm_cpu_kind *kind);

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
