/* SPDX-License-Identifier: MIT */
/*
 * Owns counting the open file descriptors of a process.
 */
#ifndef RM_SYS_FD_COUNT_H
#define RM_SYS_FD_COUNT_H

#include <stdint.h>

#include "sys/file.h"

/** Entries of "`proc_dir`/fd".  Kernels from 6.2 on tell by stat(); older ones list them. */
resmon_status rm_fd_count(const struct rm_root *root, const char *proc_dir, uint64_t *ret_count);

#endif
