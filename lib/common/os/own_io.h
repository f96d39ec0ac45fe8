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

/* What the calling thread has had of storage before a part of the library's work. */
struct rm_own_io_part {
    bool is_known;
    uint64_t read_bytes, write_bytes;
};

/** Around work of the library that reads from storage or writes to it, as a recording: what it was
 * is known when it is done, some 16 us for both. */
void rm_own_io_begin(struct rm_own_io_part *part);
void rm_own_io_end(const struct rm_own_io_part *part);

/* What the library has read and written so far. */
struct rm_own_io {
    uint64_t numbers[RM_IO_FIELDS];
    uint64_t parts;  /* that have begun */
    bool is_settled; /* none was under way: those of storage are whole */
};

/** Before the kernel's figures are read, which then have all of it; a call of another thread may be
 * in them only, for a moment.  Waits 5 ms at most for parts that are under way. */
void rm_own_io_before(struct rm_own_io *ours);

/** After they were read: whether storage is settled still. */
void rm_own_io_after(struct rm_own_io *ours);

/** What was not the library's of what was found in a field, by then at least; where that is not
 * known yet, what it was `before`. */
uint64_t rm_own_io_rest(const struct rm_own_io *ours, enum rm_io_field field, uint64_t found,
                        uint64_t before);

/** Opens the file of this process, whatever fs_root its monitor reads; false with errno. */
bool rm_own_io_open(struct rm_kept *kept);

/** Reads all fields, on any thread; false when one is missing: another file by now, for one. */
bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS]);

#endif
