/* SPDX-License-Identifier: MIT */
/*
 * Owns NVIDIA's management library (NVML).  It is loaded with dlopen(), so that the build and
 * machines without GPUs do not need it.  It is initialised once and kept open.  Its declarations
 * are our own, after nvml.h of driver 560.  A function that another driver version lacks is not
 * called again.
 *
 * A call may take long, and very long with a lost GPU.  NVML keeps descriptors in the descriptor
 * table of the thread that initialised it.  So one thread makes all calls from rm_nvml_open() on.
 * That thread (engine/gpus) shares the program's table, and all waits for it are bounded.
 */
#ifndef RM_OS_NVML_H
#define RM_OS_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#define RM_MOST_GPUS          64 /* includes slices of GPUs (MIG) */
#define RM_MOST_GPU_PROCESSES 128

/* Parts of a reading.  The driver answers from its own memory in microseconds; a query to the GPU's
 * firmware takes milliseconds. */
enum {
    RM_NVML_NOW = 1,    /* memory in use, utilization, clocks, power, processes */
    RM_NVML_TOTALS = 2, /* counters, and values that rarely change */
    RM_NVML_JOULES = 4, /* energy and power */
    RM_NVML_USE = 8, /* use of the multiprocessors by each process: queried if unknown for a process
                        or about 1 s old; later readings with processes include the result */
    RM_NVML_ALL = 15
};

enum rm_nvml_figure {
    /* Of RM_NVML_NOW; some are also in other parts: */
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
    /* Of RM_NVML_NOW, but not a metric: */
    RM_NVML_POWER_NOW, /* present power, where RM_NVML_POWER is the mean over a second */
    RM_NVML_FIGURES
};

struct rm_gpu_info {
    char name[96]; /* "NVIDIA H100 80GB HBM3" */
    char uuid[96];
    char instance[16]; /* "0"; "0:1" for a slice (MIG) */
    bool is_slice;     /* its power is included in the power of its GPU */
};

/* A process on a GPU.  The pid is from the driver: a number of the host's pid namespace. */
struct rm_gpu_process {
    int64_t pid;
    double sm;    /* mean % of use in the samples since the last query; NaN: not known */
    double bytes; /* of GPU memory; NaN: not known */
};

/* SI units; NaN: not available.  Counters start at an arbitrary time. */
struct rm_gpu_reading {
    double figures[RM_NVML_FIGURES];
    int64_t t_ns; /* CLOCK_MONOTONIC; the time of energy and power */
    bool is_lost;
    bool is_closed; /* permanent: the program closed NVML's descriptors */
    size_t process_count;
    struct rm_gpu_process processes[RM_MOST_GPU_PROCESSES];
};

struct rm_nvml;

/** Whether NVML is worth trying: a device or a file of a driver exists. */
bool rm_nvml_may_be_here(void);

/**
 * Loads `library` (NULL: libnvidia-ml.so.1), and calls none of its functions.  Called by the thread
 * that starts the NVML thread.  The program may be inside dlopen() (RESMON, in a library that is
 * being loaded); then only the program's own thread can load another library.  RESMON_ENODEV: no
 * such library; RESMON_ENOTSUP: a function is missing that every version has.
 */
resmon_status rm_nvml_load(const char *library, struct rm_nvml **ret_nvml);

/**
 * Initialises the loaded library and finds the GPUs.  RESMON_ENODEV: no driver or no GPU;
 * RESMON_EIO, RESMON_EACCES: the error text contains NVML's message.
 */
resmon_status rm_nvml_open(struct rm_nvml *nvml);

/** If the program has closed NVML's descriptors, NVML is not shut down: its descriptor numbers may
 * be the program's files. */
void rm_nvml_close(struct rm_nvml *nvml);

size_t rm_nvml_count(const struct rm_nvml *nvml);
const struct rm_gpu_info *rm_nvml_info(const struct rm_nvml *nvml, size_t index);
const char *rm_nvml_driver(const struct rm_nvml *nvml);

/**
 * Reads the given parts (RM_NVML_*, or-ed) of a GPU.  Never fails: unreadable values and values of
 * other parts are NaN.  `is_lost` is set until a lost GPU is back.
 */
void rm_nvml_read(struct rm_nvml *nvml, size_t index, unsigned parts,
                  struct rm_gpu_reading *ret_reading);

#endif
