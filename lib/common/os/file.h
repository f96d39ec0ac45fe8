/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of files: text files of the kernel below a root directory ("/" or a fixture tree),
 * once or repeatedly; directories below the root; files that users name, up to a bound.  Also the
 * kind of file system of a path.  Called by every layer that reads files.
 */
#ifndef RM_OS_FILE_H
#define RM_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "os/kept.h"

/* ---- the root ---------------------------------------------------------------------------- */

/** The directory that all paths are relative to. */
struct rm_root {
    struct rm_kept kept;
    dev_t device; /* of the first opened directory */
    ino_t inode;
    const char *path;    /* the caller's, until close */
    bool is_live;        /* the machine's own "/": files agree with system calls */
    uint32_t generation; /* number of times the root was reopened */
};

/** Opens `path` (NULL: "/") as a root. */
RM_SHARED resmon_status rm_root_open(struct rm_root *root, const char *path);
RM_SHARED void rm_root_close(struct rm_root *root);

/**
 * Opens the root again if the program has closed unknown descriptors.  Each file below it is then
 * reopened at its next read.  Such programs close all descriptors from some number on.  The root is
 * opened first, so a check of the root alone finds nearly all such cases.
 */
void rm_root_revive(struct rm_root *root);

/* ---- files below the root ---------------------------------------------------------------- */

/** The buffer that files are read into.  It grows for a larger file (rare), up to a bound. */
struct rm_scratch {
    char *bytes;
    size_t capacity;
};

#define RM_SCRATCH_BOUND ((size_t)8 * 1024 * 1024)

RM_SHARED resmon_status rm_scratch_init(struct rm_scratch *scratch);
RM_SHARED void rm_scratch_free(struct rm_scratch *scratch);

#define RM_FILE_PATH_BYTES 512

/** A text file that stays open.  Zeroed: closed. */
struct rm_file {
    const struct rm_root *root; /* NULL: closed */
    struct rm_kept kept;
    uint32_t generation; /* of the root when the file was opened */
    char path[RM_FILE_PATH_BYTES];
};

/** Opens `root`/`path` read-only; the root stays at its address until the file is closed. */
resmon_status rm_file_open(struct rm_file *file, const struct rm_root *root, const char *path);
void rm_file_close(struct rm_file *file);

/** Opens the path again: a reloaded driver has new files under the old paths. */
resmon_status rm_file_reopen(struct rm_file *file);

static inline bool rm_file_is_open(const struct rm_file *file)
{
    return file->root != NULL;
}

/**
 * Reads the whole file from its start.  `ret_text` points into the scratch, and is valid until the
 * next read.  RESMON_ESRCH: the process of the file has ended; RESMON_EFORMAT: the file is empty or
 * larger than the bound.
 */
resmon_status rm_file_read(struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text);

/** Reads `length` bytes at `offset` of a binary file.  RESMON_EFORMAT: there are fewer. */
resmon_status rm_file_read_at(struct rm_file *file, uint64_t offset, void *bytes, size_t length);

/** Reads a descriptor as rm_file_read() does a file; `path` is for messages. */
resmon_status rm_fd_read(int fd, const char *path, struct rm_scratch *scratch,
                         struct rm_text *ret_text);

/** pread(2), repeated when a signal interrupts it, and counted as a read of the library. */
ssize_t rm_fd_read_at(int fd, void *bytes, size_t capacity, uint64_t offset);

/** Opens `root`/`path` read-only and close-on-exec; a descriptor in `ret_fd`. */
resmon_status rm_fd_open(const struct rm_root *root, const char *path, int *ret_fd);

/** Opens, reads and closes: for files that are read once. */
RM_SHARED resmon_status rm_file_read_once(const struct rm_root *root, const char *path,
                                          struct rm_scratch *scratch, struct rm_text *ret_text);

/** Reads the first record, up to an empty line, or 4 KiB.  For long files with many records that
 * are slow in the kernel (/proc/cpuinfo).  The text may contain more than the first record. */
resmon_status rm_file_read_first(const struct rm_root *root, const char *path,
                                 struct rm_scratch *scratch, struct rm_text *ret_text);

/** Reads the beginning of a short file into `bytes`, which the text points to; an empty text when
 * the file cannot be read.  Without a root (NULL), `path` is absolute. */
struct rm_text rm_file_read_short(const struct rm_root *root, const char *path, char *bytes,
                                  size_t capacity);

/** Reads a file that contains one number, once; "max" reads as UINT64_MAX. */
RM_SHARED resmon_status rm_file_read_u64(const struct rm_root *root, const char *path,
                                         struct rm_scratch *scratch, uint64_t *ret_value);

/** Whether `root`/`path` exists; a symbolic link does, whatever it leads to. */
RM_SHARED bool rm_file_exists(const struct rm_root *root, const char *path);

/**
 * Whether `root`/`path` can be opened to be read; RESMON_ENOENT, RESMON_EACCES and so on.  A device
 * is not opened, which might wake it: the permission to read and write it decides.
 */
RM_SHARED resmon_status rm_access_read(const struct rm_root *root, const char *path);

/** Whether the mode of `root`/`path` lets its group, which is not root's, read it. */
RM_SHARED bool rm_access_is_of_group(const struct rm_root *root, const char *path);

/* ---- directories below the root ---------------------------------------------------------- */

/** Calls `visit` for each entry but "." and ".."; a false return ends the listing early. */
typedef bool (*rm_dir_visit_fn)(void *context, const char *name);
RM_SHARED resmon_status rm_dir_visit(const struct rm_root *root, const char *path,
                                     rm_dir_visit_fn visit, void *context);

/** Calls `visit` for each directory in a directory; a false return ends the listing early. */
resmon_status rm_dir_visit_below(const struct rm_root *root, const char *path,
                                 rm_dir_visit_fn visit, void *context);

/** Counts the open descriptors of a process: the entries of "`proc_dir`/fd".  Kernels from 6.2 on
 * have the number in stat(); on older ones the directory is listed. */
resmon_status rm_fd_count(const struct rm_root *root, const char *proc_dir, uint64_t *ret_count);

/** Counts the same number through the process's directory "fd", which is kept open.  False: a
 * kernel before 6.2, or the process has ended. */
bool rm_fd_count_kept(const struct rm_kept *directory, uint64_t *ret_count);

/* ---- files that users name --------------------------------------------------------------- */

/** A regular file of bounded size, or the same content in memory. */
struct rm_infile {
    struct rm_kept kept;
    const char *path; /* the caller's, until close */
    uint64_t bytes;
    uint64_t base;      /* where in the file the content begins */
    const void *memory; /* the caller's content, instead of a file */
};

/** RESMON_EFORMAT: no regular file, or larger than `bound`. */
RM_SHARED resmon_status rm_infile_open(struct rm_infile *file, const char *path, uint64_t bound);

/** A file whose content is in memory already; `name` takes the place of the path in messages. */
resmon_status rm_infile_of_memory(struct rm_infile *file, const char *name, const void *memory,
                                  uint64_t bytes, uint64_t bound);

/** Reads `length` bytes at `offset`; beyond the end (the file shrank), they are 0. */
resmon_status rm_infile_read(const struct rm_infile *file, uint64_t offset, void *bytes,
                             uint64_t length);

/** The next offset with data, from `offset` on; a hole of zeroes is skipped.  `offset` itself if
 * the file system has no such information. */
uint64_t rm_infile_next_data(const struct rm_infile *file, uint64_t offset);

/** The whole content, which the caller frees (rm_free); NULL unless RESMON_OK. */
RM_SHARED resmon_status rm_infile_read_all(const struct rm_infile *file, char **ret_text);

RM_SHARED void rm_infile_close(struct rm_infile *file);

/* ---- file systems ------------------------------------------------------------------------ */

struct rm_file_system {
    const char *name; /* "nfs", "ext4"; static */
    bool is_memory;   /* its files are in memory: access never waits for a device or a server */
    bool is_remote;   /* on another machine: many write to it, and a mapping of it may fail */
    bool is_fuse;     /* implemented by a program (fuse(4)) */
};

/** The file system of a file or a directory; "an unknown file system" where its number is not
 * known. */
struct rm_file_system rm_file_system_of(const char *path);

#ifdef RM_FAULT_INJECTION
/** In tests, the number of all file systems that are on disks; 0: no change. */
extern uint32_t rm_file_system_number;
extern bool rm_file_system_is_all; /* that number also for file systems in memory */
#endif

#endif
