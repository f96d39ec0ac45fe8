/* SPDX-License-Identifier: MIT */
/*
 * Owns NVIDIA's management library (NVML): found with dlopen, so that neither the build nor a
 * machine without GPUs knows of it, initialised once and kept open.  Its declarations are our own,
 * after nvml.h of driver 560; what an older or newer one lacks is not asked for again.
 *
 * A call may take long, and with a lost GPU very long; the library keeps descriptors in the table
 * of the thread that initialised it.  So all calls from rm_nvml_open() on are made by one thread,
 * which shares the program's table and for which nobody waits without a bound: engine/gpus.
 */
#ifndef RM_OS_NVML_H
#define RM_OS_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#define RM_MOST_GPUS          64 /* slices of GPUs included */
#define RM_MOST_GPU_PROCESSES 128

/* Parts of a reading: drivers answer from what they have at hand in microseconds, and ask the GPU's
 * firmware in milliseconds. */
enum {
    RM_NVML_NOW = 1,    /* what is in use, clocks, power, processes and their memory */
    RM_NVML_TOTALS = 2, /* counters, and what hardly changes */
    RM_NVML_JOULES = 4, /* energy and power */
    RM_NVML_USE = 8,    /* of the multiprocessors by processes: asked for where that of one is not
                           known, or a second old; told, too, in later readings that have processes */
    RM_NVML_ALL = 15
};

enum rm_nvml_figure {
    /* Of RM_NVML_NOW, some of others too: */
    RM_NVML_UTIL, /* % of the last sample period with a kernel running */
    RM_NVML_MEM_UTIL,
    RM_NVML_MEM_USED,
    RM_NVML_MEM_TOTAL,
    RM_NVML_MEM_RESERVED,
    RM_NVML_CLOCK_GRAPHICS,
    RM_NVML_CLOCK_SM,
    RM_NVML_CLOCK_MEM,
    RM_NVML_CLOCK_VIDEO,
    RM_NVML_TEMP,
    RM_NVML_MEM_TEMP,
    RM_NVML_POWER,
    RM_NVML_POWER_LIMIT,
    RM_NVML_THROTTLE_REASONS,
    RM_NVML_ENC,
    RM_NVML_DEC,
    RM_NVML_PCIE_SENT, /* modulo 2^32 */
    RM_NVML_PCIE_RECV,
    RM_NVML_PROCESSES,
    /* of RM_NVML_TOTALS: */
    RM_NVML_FIRST_TOTAL,
    RM_NVML_BAR1_USED = RM_NVML_FIRST_TOTAL,
    RM_NVML_FAN,
    RM_NVML_ENERGY,
    RM_NVML_THROTTLE_ANY,
    RM_NVML_THROTTLE_POWER,
    RM_NVML_THROTTLE_SYNC_BOOST,
    RM_NVML_THROTTLE_THERMAL_SW,
    RM_NVML_THROTTLE_THERMAL_HW,
    RM_NVML_THROTTLE_BRAKE,
    RM_NVML_ECC_CORRECTED,
    RM_NVML_ECC_UNCORRECTED,
    /* and of RM_NVML_NOW, but no metric: */
    RM_NVML_POWER_NOW, /* where RM_NVML_POWER is the mean of a second */
    RM_NVML_FIGURES
};

struct rm_gpu_info {
    char name[96]; /* "NVIDIA H100 80GB HBM3" */
    char uuid[96];
    char instance[16]; /* "0"; a slice (MIG) of it "0:1" */
    bool is_slice;     /* its power is a part of its GPU's, and not told apart */
};

/* A process on a GPU, by the number that the driver gives, which is the host's. */
struct rm_gpu_process {
    int64_t pid;
    double sm;    /* % of its samples before it was asked for last; NaN: not known */
    double bytes; /* of GPU memory; NaN: not known */
};

/* SI units; NaN: not told.  Counters since whenever. */
struct rm_gpu_reading {
    double figures[RM_NVML_FIGURES];
    int64_t t_ns; /* CLOCK_MONOTONIC, of energy and power */
    bool is_lost;
    bool is_closed; /* for good: the program closed the descriptors of NVML */
    size_t process_count;
    struct rm_gpu_process processes[RM_MOST_GPU_PROCESSES];
};

struct rm_nvml;

/** Where it should be asked for at all: a driver's device or file is there. */
bool rm_nvml_may_be_here(void);

/**
 * Loads `library` (NULL: libnvidia-ml.so.1), and calls nothing of it.  By whoever starts the
 * thread that makes the calls: the program may be inside dlopen() meanwhile (RESMON, in a library
 * that is being loaded), when only its own thread can load another.  RESMON_ENODEV: there is none;
 * RESMON_ENOTSUP: it lacks what every version has.
 */
resmon_status rm_nvml_load(const char *library, struct rm_nvml **ret_nvml);

/**
 * Initialises what was loaded and finds the GPUs.  RESMON_ENODEV: there is no driver or no GPU;
 * RESMON_EIO, RESMON_EACCES: the text has NVML's own words.
 */
resmon_status rm_nvml_open(struct rm_nvml *nvml);

/** A program that closed NVML's descriptors is left alone with what NVML keeps. */
void rm_nvml_close(struct rm_nvml *nvml);

size_t rm_nvml_count(const struct rm_nvml *nvml);
const struct rm_gpu_info *rm_nvml_info(const struct rm_nvml *nvml, size_t index);
const char *rm_nvml_driver(const struct rm_nvml *nvml);

/**
 * Reads those parts (RM_NVML_*, or-ed) of a GPU.  Never fails: what cannot be read is NaN, as the
 * figures of other parts are, and a GPU that is lost says so until it is back.
 */
void rm_nvml_read(struct rm_nvml *nvml, size_t index, unsigned parts,
                  struct rm_gpu_reading *ret_reading);

#endif
