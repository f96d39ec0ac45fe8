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
 * Thermal design power (W) of a processor with this "model name" of /proc/cpuinfo; NaN: no match
 * in the table, or several.  `ret_name` gets the row's name.
 */
double rm_cpu_tdp(const char *model_name, char ret_name[RM_CPU_NAME_BYTES]);

/* Power (W) of processors when idle and at full load.  In between, power is linear in CPU time, so
 * that energy does not depend on the sampling interval, as it would with a curve. */
struct rm_cpu_power {
    double idle, full;
};

/** Power of processors with a total TDP of `tdp` W: the ends of codecarbon 3.3.0's curve, 0.1 and
 * 1.0 of it. */
struct rm_cpu_power rm_cpu_power_of_tdp(double tdp);

/**
 * Power of a virtual CPU of a microarchitecture ("Cascade Lake"): the median hardware thread of
 * the servers in SPECpower_ssj2008, or, for families that are not in it, the value of Cloud
 * Carbon Footprint.  `provider` is "aws", "azure", "gcp", or NULL for the one with the highest
 * power; medians are over all.  False: not in the table.
 */
bool rm_vcpu_power_find(const char *microarchitecture, const char *provider,
                        struct rm_cpu_power *ret_power);

/* Maker and model of a processor, as numbered in /proc/cpuinfo. */
struct rm_cpu_kind {
    char vendor[16]; /* GenuineIntel, AuthenticAMD, ARM */
    int family;      /* ARM: the part number */
    int model;
    int stepping;
};

/** Microarchitecture, as named in the table of rm_vcpu_power_find(); NULL: not known. */
const char *rm_cpu_microarchitecture(const struct rm_cpu_kind *kind);

/** Number of modules that codecarbon 3.3.0 assumes for `gib` GiB. */
unsigned rm_ram_modules(double gib);

/** Power (W) of memory modules: 5 W each (ARM: 1.5 W), less for further ones; at least 10 W (3 W).
 */
double rm_ram_watts(unsigned modules, bool is_arm);

/**
 * Installed memory of a machine whose kernel reports `gib` GiB, which is less: the next multiple
 * of 2, 4, 8, 16 ... GiB that is at most 4 % higher.
 */
double rm_ram_installed(double gib);

#endif
