/* SPDX-License-Identifier: MIT */
/*
 * Owns writing of files that are either there as a whole or not at all: a temporary file in the
 * same directory, synced and renamed over the target.
 */
#ifndef RM_OS_OUTFILE_H
#define RM_OS_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/output.h"
#include "os/kept.h"

#define RM_PATH_BYTES 4096

struct rm_outfile {
    struct rm_kept kept;
    char path[RM_PATH_BYTES];
    char temporary[RM_PATH_BYTES + 32];
};

/**
 * The path `given` made absolute in `path`.  Says already what would stand against writing it: what
 * is there is no regular file, or there is no such directory, or none that we may write to.
 */
resmon_status rm_outfile_settle(const char *given, char path[RM_PATH_BYTES]);

/** Makes the directories of the file `path` that are not there, as umask says, but for the first
 * `there` bytes of it, which name one that is. */
resmon_status rm_outfile_make_directories(const char *path, size_t there);

/** Whether two paths, as settled, are of one file, which need not be there. */
bool rm_outfile_is_same(const char *a, const char *b);

/** Creates the temporary file; never follows a link that somebody planted.  `mode` 0: as umask
 * says. */
resmon_status rm_outfile_open(struct rm_outfile *file, const char *path, mode_t mode);

/** Writes all bytes; RESMON_EIO when the program has closed the descriptor meanwhile. */
resmon_status rm_outfile_write(struct rm_outfile *file, const char *bytes, size_t length);

/** Syncs, closes and renames; on failure the temporary file is gone and the target as before. */
resmon_status rm_outfile_commit(struct rm_outfile *file);

/** Closes and renames without a sync. */
resmon_status rm_outfile_rename(struct rm_outfile *file);

/** Gives the file the first free name of `path`.1, .2, ... as well, so that another can take its
 * place.  RESMON_EBUSY: 99 are there; RESMON_EACCES and the like. */
resmon_status rm_outfile_set_aside(const char *path);

/** Closes and removes the temporary file. */
void rm_outfile_abandon(struct rm_outfile *file);

/** An output that writes to `file`. */
struct rm_output rm_outfile_output(struct rm_outfile *file);

/** All of the above for one file: opens it, has `write` say `what` there, and commits or abandons.
 */
RM_SHARED resmon_status rm_outfile_save(const char *path, mode_t mode,
                                        resmon_status (*write)(const struct rm_output *output,
                                                               const void *what),
                                        const void *what);

#endif
