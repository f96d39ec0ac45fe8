/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread that calls NVML (os/nvml.h).  GPUs may respond late or never, and NVML's
 * descriptors are in the program's table, which the sampling thread does not share.  The
 * sampling thread requests a reading and waits for a bounded time.  A thread that hangs in the
 * driver is abandoned at the end.
 */
#ifndef RM_ENGINE_GPUS_H
#define RM_ENGINE_GPUS_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "os/nvml.h"

struct rm_gpus;

/**
 * Starts the thread, with the program's descriptors, and waits until the GPUs are known.
 * RESMON_ENODEV: no GPU; others as rm_nvml_load() and rm_nvml_open(), and RESMON_ETIMEDOUT.
 * RESMON_NVML in the environment names another library.
 */
resmon_status rm_gpus_start(struct rm_gpus **ret_gpus);

/** Waits for the thread's end for a short time; NULL is fine. */
void rm_gpus_stop(struct rm_gpus *gpus);

size_t rm_gpus_count(const struct rm_gpus *gpus);
const struct rm_gpu_info *rm_gpus_infos(const struct rm_gpus *gpus); /* an array */
const char *rm_gpus_driver(const struct rm_gpus *gpus);

/**
 * Fills a reading for each GPU, of the parts RM_NVML_*, within the time that all readings of a
 * sample have since `since_ns`.  False: the deadline has passed; a call for the same parts
 * within a second may get the result.  `ret_cpu_ns`: CPU time used by the thread.
 */
bool rm_gpus_read(struct rm_gpus *gpus, unsigned parts, int64_t since_ns,
                  struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns);

/** CPU time of the thread so far; 0 for NULL.  Any thread. */
uint64_t rm_gpus_cpu_ns(const struct rm_gpus *gpus);

#endif
