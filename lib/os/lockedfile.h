/* SPDX-License-Identifier: MIT */
/*
 * Owns a file that one process at a time works through, changing single bytes of it in place.
 */
#ifndef RM_OS_LOCKEDFILE_H
#define RM_OS_LOCKEDFILE_H

#include <stdint.h>
#include <sys/types.h>

#include <resmon/status.h>

#include "os/kept.h"

struct rm_lockedfile {
    struct rm_kept kept;
    const char *path; /* the caller's, until close */
    uint64_t bytes;
    uid_t owner;
};

/**
 * Opens and locks it.  RESMON_EBUSY: another process has it; RESMON_EFORMAT: no regular file,
 * empty, or larger than `bound`; never through a link.
 */
resmon_status rm_lockedfile_open(struct rm_lockedfile *file, const char *path, uint64_t bound);

/** All of it, into `bytes` of file->bytes bytes. */
resmon_status rm_lockedfile_read(const struct rm_lockedfile *file, char *bytes);

/** Changes the byte at `offset`, on the disk before it returns. */
resmon_status rm_lockedfile_put(const struct rm_lockedfile *file, uint64_t offset, char byte);

/** Removes it from its directory. */
resmon_status rm_lockedfile_remove(const struct rm_lockedfile *file);

void rm_lockedfile_close(struct rm_lockedfile *file);

#endif
