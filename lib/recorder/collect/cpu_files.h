/* SPDX-License-Identifier: MIT */
/*
 * Owns files of numbers that sysfs has of each logical CPU.
 * Called by the collectors node_frequency and node_throttle.
 */
#ifndef RM_COLLECT_CPU_FILES_H
#define RM_COLLECT_CPU_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"

/* Of more CPUs than this, as many are read, evenly spread over all. */
#define RM_MOST_CPU_FILES 64

/* Zeroed: none. */
struct rm_cpu_files {
    const char *name; /* below the CPU's directory */
    struct rm_file *files;
    size_t count;
};

/** Opens "cpuN/`name`" of CPUs that are online and have it.  RESMON_ENODEV: none has. */
resmon_status rm_cpu_files_open(struct rm_cpu_files *files, const struct rm_root *root,
                                const char *name);

/** The number in a file.  False: none can be read now, as of a CPU that went offline. */
bool rm_cpu_files_read(struct rm_cpu_files *files, size_t index, struct rm_scratch *scratch,
                       uint64_t *ret_number);

void rm_cpu_files_close(struct rm_cpu_files *files);

#endif
