/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of our own process's I/O counters inside scopes: /proc/self/io, kept open.
 */
#ifndef RM_SYS_OWN_IO_H
#define RM_SYS_OWN_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/kept.h"

/* In the order of the file: rchar, wchar, syscr, syscw, read_bytes, write_bytes. */
#define RM_OWN_IO_FIELDS 6

/** Opens the file of this process, whatever fs_root its monitor reads; false with errno. */
bool rm_own_io_open(struct rm_kept *kept);

/** Reads all fields, on any thread; false when one is missing: another file by now, for one. */
bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_OWN_IO_FIELDS]);

#endif
