/* SPDX-License-Identifier: MIT */
/*
 * Owns a file that grows by whole records while the program runs: a record is in it as a whole or
 * not at all, also on a disk that is full, and none ever goes into another file that has got our
 * descriptor.
 */
#ifndef RM_OS_APPENDFILE_H
#define RM_OS_APPENDFILE_H

#include <stdint.h>

#include <resmon/status.h>

#include "os/kept.h"
#include "os/outfile.h"

struct rm_appendfile {
    struct rm_kept file;
    uint64_t bytes; /* of whole records */
    char path[RM_PATH_BYTES];
};

/**
 * Creates the file, or empties the one that is there; RESMON_EINVAL when there is something else
 * than a regular file, or a link; RESMON_EBUSY while another process or sink writes it.  Mode as
 * umask says.
 */
resmon_status rm_appendfile_open(struct rm_appendfile *file, const char *path);

/** Appends a record.  After a failure (RESMON_ENOSPC, ...) the next may be tried. */
resmon_status rm_appendfile_add(struct rm_appendfile *file, const char *bytes, size_t length);

resmon_status rm_appendfile_sync(struct rm_appendfile *file);

void rm_appendfile_close(struct rm_appendfile *file);

#endif
