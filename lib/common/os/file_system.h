/* SPDX-License-Identifier: MIT */
/*
 * Owns the kinds of file systems: which of them is memory and never waits for a device or a server,
 * and which of them waits for a server.
 */
#ifndef RM_OS_FILE_SYSTEM_H
#define RM_OS_FILE_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

struct rm_file_system {
    const char *name; /* "nfs", "ext4"; static */
    bool is_memory;   /* a file there is memory */
    bool is_remote;   /* it is on another machine: many write to it, and a mapping of it may die */
    bool is_fuse;     /* a program answers for it (fuse(4)) */
};

/** Of a file or a directory; "an unknown file system" where there is none of that number. */
struct rm_file_system rm_file_system_of(const char *path);

#ifdef RM_FAULT_INJECTION
/** In tests, the number of all file systems that are on disks; 0: as they are. */
extern uint32_t rm_file_system_number;
extern bool rm_file_system_is_all; /* and of those in memory */
#endif

#endif
