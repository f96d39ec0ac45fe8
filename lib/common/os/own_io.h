/* SPDX-License-Identifier: MIT */
/*
 * Owns the I/O of our own process: the counters of /proc/self/io, minus the library's own reads and
 * writes through system calls that these counters include.  All files of os note theirs here.
 */
#ifndef RM_OS_OWN_IO_H
#define RM_OS_OWN_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/parse.h"
#include "os/kept.h"

/** Call after each read or write of the library; `got` is the return value of the call. */
void rm_own_io_note_read(ssize_t got);

/** Call after several reads of the library. */
void rm_own_io_note_reads(uint64_t bytes, uint64_t calls);
void rm_own_io_note_write(ssize_t got);

/* The storage I/O of the calling thread before a part of the library's work. */
struct rm_own_io_part {
    bool is_known;
    uint64_t read_bytes, write_bytes;
};

/** Call around work of the library that reads from storage or writes to storage, such as a
 * recording.  The bytes are known at the end of the work.  Both calls together take some 16 us. */
void rm_own_io_begin(struct rm_own_io_part *part);
void rm_own_io_end(const struct rm_own_io_part *part);

/* The library's own I/O so far. */
struct rm_own_io {
    uint64_t numbers[RM_IO_FIELDS];
    uint64_t parts;  /* number of parts that have begun */
    bool is_settled; /* no part was running: the storage counters are complete */
};

/** Call before the kernel's counters are read, so that those include all of `ours`.  For a moment,
 * the kernel's counters may also include a call of another thread that `ours` lacks.  Waits at
 * most 5 ms for running parts. */
void rm_own_io_before(struct rm_own_io *ours);

/** Call after the kernel's counters were read: updates `is_settled`. */
void rm_own_io_after(struct rm_own_io *ours);

/** The program's own part of the value `found` of a field.  Never less than `before`, the previous
 * result; equal to `before` while the storage counters are incomplete. */
uint64_t rm_own_io_rest(const struct rm_own_io *ours, enum rm_io_field field, uint64_t found,
                        uint64_t before);

/** Opens /proc/self/io, independent of a monitor's fs_root; false with errno. */
bool rm_own_io_open(struct rm_kept *kept);

/** Reads all fields, on any thread.  False: a field is missing, for example because the number is
 * another file's by now. */
bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS]);

#endif
