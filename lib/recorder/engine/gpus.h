/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread that talks to NVML (os/nvml.h): GPUs may answer late or never, and NVML's
 * descriptors are in the program's table, in which the sampling thread has no part.  The sampling
 * thread asks for a reading and waits a moment for it; a thread that hangs in the driver is left
 * behind at the end.
 */
#ifndef RM_ENGINE_GPUS_H
#define RM_ENGINE_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "os/nvml.h"

struct rm_gpus;

/**
 * Starts it on a thread with the program's descriptors, and waits until the GPUs are known.
 * RESMON_ENODEV: there are none; others as rm_nvml_load() and rm_nvml_open(), and RESMON_ETIMEDOUT.
 * RESMON_NVML in the environment names another library.
 */
resmon_status rm_gpus_start(struct rm_gpus **ret_gpus);

/** Waits for its end, not for long; NULL is fine. */
void rm_gpus_stop(struct rm_gpus *gpus);

size_t rm_gpus_count(const struct rm_gpus *gpus);
const struct rm_gpu_info *rm_gpus_infos(const struct rm_gpus *gpus); /* an array */
const char *rm_gpus_driver(const struct rm_gpus *gpus);

/**
 * Fills one reading for each GPU, of those parts (RM_NVML_*), in the time that all readings of a
 * sample have since `since_ns`; false: it took longer, and a call for the same parts within a
 * second may get it.  `ret_cpu_ns` has the CPU time that it took there.
 */
bool rm_gpus_read(struct rm_gpus *gpus, unsigned parts, int64_t since_ns,
                  struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns);

/** CPU time of its thread so far; 0 for NULL.  Any thread. */
uint64_t rm_gpus_cpu_ns(const struct rm_gpus *gpus);

#endif
