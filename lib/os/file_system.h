/* SPDX-License-Identifier: MIT */
/*
 * Owns the kinds of file systems: which of them is memory and never waits for a device or a server.
 */
#ifndef RM_OS_FILE_SYSTEM_H
#define RM_OS_FILE_SYSTEM_H

#include <stdbool.h>

/** Its name ("nfs", "ext4"), or "an unknown file system" where there is none of that number;
 * static. `path` is of the file or a directory; *ret_is_memory: a file there is memory. */
const char *rm_file_system_of(const char *path, bool *ret_is_memory);

#endif
