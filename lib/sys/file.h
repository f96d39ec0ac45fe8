/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of kernel text files below a root directory ("/" or a fixture tree): opened once
 * with openat, re-read with pread to the end of the file.
 * Called by collect, and by the other files of sys.
 */
#ifndef RM_SYS_FILE_H
#define RM_SYS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/parse.h"

/** The directory that all paths are relative to. */
struct rm_root {
    int fd;
    bool is_live; /* the machine's own "/": files agree with system calls */
};

/** Opens `path` (NULL: "/") as a root. */
resmon_status rm_root_open(struct rm_root *root, const char *path);
void rm_root_close(struct rm_root *root);

/** Where files are read into: grows when a file outgrows it (rare), up to a bound. */
struct rm_scratch {
    char *bytes;
    size_t capacity;
};

#define RM_SCRATCH_BOUND ((size_t)8 * 1024 * 1024)

resmon_status rm_scratch_init(struct rm_scratch *scratch);
void rm_scratch_free(struct rm_scratch *scratch);

#define RM_FILE_PATH_BYTES 512

/** A kept-open text file. */
struct rm_file {
    int fd;                        /* -1: not open */
    char path[RM_FILE_PATH_BYTES]; /* for messages */
};

#define RM_FILE_CLOSED \
    {                  \
        .fd = -1       \
    }

/** Opens `root`/`path` read-only and close-on-exec. */
resmon_status rm_file_open(struct rm_file *file, const struct rm_root *root, const char *path);
void rm_file_close(struct rm_file *file);

/**
 * Reads the whole file from its start.  `ret_text` points into the scratch and lives until the
 * next read.  RESMON_ESRCH when the process behind the file has ended, RESMON_EFORMAT when the
 * file is empty or larger than the bound.
 */
resmon_status rm_file_read(const struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text);

/** The same for a bare descriptor; `path` is for messages. */
resmon_status rm_fd_read(int fd, const char *path, struct rm_scratch *scratch,
                         struct rm_text *ret_text);

/** Opens `root`/`path` read-only and close-on-exec; a descriptor in `ret_fd`. */
resmon_status rm_fd_open(const struct rm_root *root, const char *path, int *ret_fd);

/** Opens, reads and closes: for files that are read once. */
resmon_status rm_file_read_once(const struct rm_root *root, const char *path,
                                struct rm_scratch *scratch, struct rm_text *ret_text);

/** The same for the first 4 KiB: of long files whose rest is slow to make (/proc/cpuinfo). */
resmon_status rm_file_read_head(const struct rm_root *root, const char *path,
                                struct rm_scratch *scratch, struct rm_text *ret_text);

/** The same for a file that holds one number; "max" reads as UINT64_MAX. */
resmon_status rm_file_read_u64(const struct rm_root *root, const char *path,
                               struct rm_scratch *scratch, uint64_t *ret_value);

/** Whether `root`/`path` exists. */
bool rm_file_exists(const struct rm_root *root, const char *path);

#endif
