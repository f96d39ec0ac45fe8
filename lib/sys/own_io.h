/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of our own process's I/O counters inside scopes: /proc/self/io, kept open.
 */
#ifndef RM_SYS_OWN_IO_H
#define RM_SYS_OWN_IO_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of the file: rchar, wchar, syscr, syscw, read_bytes, write_bytes. */
#define RM_OWN_IO_FIELDS 6

/** A descriptor, or -1.  Of this process, whatever fs_root its monitor reads. */
int rm_own_io_open(void);

/** Reads all fields; false when one is missing. */
bool rm_own_io_read(int fd, uint64_t numbers[RM_OWN_IO_FIELDS]);

#endif
