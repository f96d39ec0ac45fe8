/* SPDX-License-Identifier: MIT */
/*
 * Owns the I/O of our own process as scopes see it: the counters of /proc/self/io, less what the
 * library itself has read and written through system calls that they count.
 */
#ifndef RM_OS_OWN_IO_H
#define RM_OS_OWN_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/io_field.h"
#include "os/kept.h"

/** After each read or write of the library: `got` is what the call returned. */
void rm_own_io_note_read(ssize_t got);

/** After several reads of the library at once. */
void rm_own_io_note_reads(uint64_t bytes, uint64_t calls);
void rm_own_io_note_write(ssize_t got);

/** What the library has read and written so far.  To be asked for before the kernel's figures are
 * read, which then have all of it; a call of another thread may be in them only, for a moment. */
void rm_own_io_ours(uint64_t numbers[RM_IO_FIELDS]);

/** Opens the file of this process, whatever fs_root its monitor reads; false with errno. */
bool rm_own_io_open(struct rm_kept *kept);

/** Reads all fields, on any thread; false when one is missing: another file by now, for one. */
bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS]);

#endif
