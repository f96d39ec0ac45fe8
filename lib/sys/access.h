/* SPDX-License-Identifier: MIT */
/*
 * Owns whether this process may read a file, without reading it.
 */
#ifndef RM_SYS_ACCESS_H
#define RM_SYS_ACCESS_H

#include <stdbool.h>

#include "sys/file.h"

/**
 * Whether `root`/`path` can be opened to be read; RESMON_ENOENT, RESMON_EACCES and so on.  A device
 * is not opened, which might wake it: whether it may be read and written decides.
 */
resmon_status rm_access_read(const struct rm_root *root, const char *path);

/** Whether the mode of `root`/`path` lets its group, which is not root's, read it. */
bool rm_access_is_of_group(const struct rm_root *root, const char *path);

#endif
