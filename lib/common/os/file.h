/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of kernel text files below a root directory ("/" or a fixture tree): opened once
 * with openat, re-read with pread to the end of the file.
 * Called by collect, and by the other files of sys.
 */
#ifndef RM_OS_FILE_H
#define RM_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "os/kept.h"

/** The directory that all paths are relative to. */
struct rm_root {
    struct rm_kept kept;
    dev_t device; /* what it was at first */
    ino_t inode;
    const char *path;    /* the caller's, until close */
    bool is_live;        /* the machine's own "/": files agree with system calls */
    uint32_t generation; /* how often it had to be opened again */
};

/** Opens `path` (NULL: "/") as a root. */
RM_SHARED resmon_status rm_root_open(struct rm_root *root, const char *path);
RM_SHARED void rm_root_close(struct rm_root *root);

/**
 * Opens the root again where the program has closed the descriptors that it does not know; files
 * below it then do so at their next read.  Such programs close all from some number on, and the
 * root is the first that is opened, so one look at it tells of nearly all.
 */
void rm_root_revive(struct rm_root *root);

/** Where files are read into: grows when a file outgrows it (rare), up to a bound. */
struct rm_scratch {
    char *bytes;
    size_t capacity;
};

#define RM_SCRATCH_BOUND ((size_t)8 * 1024 * 1024)

RM_SHARED resmon_status rm_scratch_init(struct rm_scratch *scratch);
RM_SHARED void rm_scratch_free(struct rm_scratch *scratch);

#define RM_FILE_PATH_BYTES 512

/** A kept-open text file.  Zeroed: closed. */
struct rm_file {
    const struct rm_root *root; /* NULL: closed */
    struct rm_kept kept;
    uint32_t generation; /* of the root when it was opened */
    char path[RM_FILE_PATH_BYTES];
};

/** Opens `root`/`path` read-only; the root stays where it is until the file is closed. */
resmon_status rm_file_open(struct rm_file *file, const struct rm_root *root, const char *path);
void rm_file_close(struct rm_file *file);

/** Opens the file that has the path now: a driver that was loaded anew makes new ones. */
resmon_status rm_file_reopen(struct rm_file *file);

static inline bool rm_file_is_open(const struct rm_file *file)
{
    return file->root != NULL;
}

/**
 * Reads the whole file from its start.  `ret_text` points into the scratch and lives until the
 * next read.  RESMON_ESRCH when the process behind the file has ended, RESMON_EFORMAT when the
 * file is empty or larger than the bound.
 */
resmon_status rm_file_read(struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text);

/** Reads `length` bytes at `offset`: of files that are no text.  RESMON_EFORMAT: there are fewer.
 */
resmon_status rm_file_read_at(struct rm_file *file, uint64_t offset, void *bytes, size_t length);

/** Reads a descriptor as rm_file_read() does a file; `path` is for messages. */
resmon_status rm_fd_read(int fd, const char *path, struct rm_scratch *scratch,
                         struct rm_text *ret_text);

/** Opens `root`/`path` read-only and close-on-exec; a descriptor in `ret_fd`. */
resmon_status rm_fd_open(const struct rm_root *root, const char *path, int *ret_fd);

/** Opens, reads and closes: for files that are read once. */
RM_SHARED resmon_status rm_file_read_once(const struct rm_root *root, const char *path,
                                          struct rm_scratch *scratch, struct rm_text *ret_text);

/** Reads the first record, to an empty line, or 4 KiB, once: of long files whose rest is slow to
 * make (/proc/cpuinfo).  What follows may be in the text, too. */
resmon_status rm_file_read_first(const struct rm_root *root, const char *path,
                                 struct rm_scratch *scratch, struct rm_text *ret_text);

/** Reads the number that is all of a file, once; "max" reads as UINT64_MAX. */
RM_SHARED resmon_status rm_file_read_u64(const struct rm_root *root, const char *path,
                                         struct rm_scratch *scratch, uint64_t *ret_value);

/** Whether `root`/`path` exists; a symbolic link does, whatever it leads to. */
RM_SHARED bool rm_file_exists(const struct rm_root *root, const char *path);

#endif
