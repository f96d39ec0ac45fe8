/* SPDX-License-Identifier: MIT */
/*
 * Owns writing of files.  There are three kinds: files that are written as a whole, or not at all;
 * a file to which records are appended; a file to which several processes append lines.  All of
 * them handle a program that closes their descriptor: nothing is written to another file with the
 * same number.
 */
#ifndef RM_OS_OUTFILE_H
#define RM_OS_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/text.h"
#include "os/kept.h"

#define RM_PATH_BYTES 4096

#define RM_AFTER_LAST_WRITE (-1) /* as an offset */

/** Writes all bytes at an offset, also when signals interrupt the write.  The program gets no
 * signal of a failed write.  Returns 0 or an errno; EBADF: the program has closed the descriptor.
 */
int rm_write_at(const struct rm_kept *kept, const void *bytes, size_t length, int64_t offset);

/* ---- whole files ------------------------------------------------------------------------- */

/** A temporary file in the same directory, which is synced and renamed over the target. */
struct rm_outfile {
    struct rm_kept kept;
    char path[RM_PATH_BYTES];
    char temporary[RM_PATH_BYTES + 32];
};

/**
 * Makes the path `given` absolute, in `path`.  Fails early if the file cannot be written: the
 * target is not a regular file, or its directory does not exist or is not writable.
 */
resmon_status rm_outfile_settle(const char *given, char path[RM_PATH_BYTES]);

/** Makes the missing directories above the file `path`, with the mode of umask.  The first `there`
 * bytes of the path are an existing directory. */
resmon_status rm_outfile_make_directories(const char *path, size_t there);

/** Whether two paths from rm_outfile_settle() lead to the same file, which need not exist. */
bool rm_outfile_is_same(const char *a, const char *b);

/** Creates the temporary file; never follows a planted link.  `mode` 0: that of umask. */
resmon_status rm_outfile_open(struct rm_outfile *file, const char *path, mode_t mode);

/** Writes all bytes; RESMON_EIO when the program has closed the descriptor meanwhile. */
resmon_status rm_outfile_write(struct rm_outfile *file, const char *bytes, size_t length);

/** Syncs, closes and renames.  On failure the temporary file is removed, and the target is
 * unchanged. */
resmon_status rm_outfile_commit(struct rm_outfile *file);

/** Closes and renames without a sync. */
resmon_status rm_outfile_rename(struct rm_outfile *file);

/** Links the file to the first free name of `path`.1, `path`.2, ..., so that another file can
 * replace `path`.  RESMON_EBUSY: all 99 names exist; RESMON_EACCES and other errors. */
resmon_status rm_outfile_set_aside(const char *path);

/** Closes and removes the temporary file. */
void rm_outfile_abandon(struct rm_outfile *file);

/** An output that writes to `file`. */
struct rm_output rm_outfile_output(struct rm_outfile *file);

/** All of the above for one file: opens it, calls `write` with `what`, and commits or abandons. */
RM_SHARED resmon_status rm_outfile_save(const char *path, mode_t mode,
                                        resmon_status (*write)(const struct rm_output *output,
                                                               const void *what),
                                        const void *what);

/* ---- files that are appended to ---------------------------------------------------------- */

/** A file to which records are appended while the program runs.  Each record is written as a whole
 * or not at all, also on a full disk. */
struct rm_appendfile {
    struct rm_kept file;
    uint64_t bytes; /* of complete records */
    char path[RM_PATH_BYTES];
};

/**
 * Creates the file, or empties an existing one.  RESMON_EINVAL when it is a link or not a regular
 * file; RESMON_EBUSY while another process or sink writes it.  Its mode is that of umask.
 */
resmon_status rm_appendfile_open(struct rm_appendfile *file, const char *path);

/** Appends a record.  After a failure (RESMON_ENOSPC, ...) the next record may be tried. */
resmon_status rm_appendfile_add(struct rm_appendfile *file, const char *bytes, size_t length);

resmon_status rm_appendfile_sync(struct rm_appendfile *file);

void rm_appendfile_close(struct rm_appendfile *file);

/**
 * For a table that several processes append to, one at a time: appends `line` (with its '\n') to
 * `path`, completely or not at all.  The file begins with `heading` (with its '\n'), and is created
 * if it does not exist.  A file with another heading stays unchanged: then the file is PATH.1,
 * PATH.2 and so on.  RESMON_EBUSY: another process holds the lock for seconds; RESMON_EINVAL: not a
 * regular file; and the errors of writing.
 */
resmon_status rm_sharedfile_append(const char *path, const char *heading, const char *line);

#endif
