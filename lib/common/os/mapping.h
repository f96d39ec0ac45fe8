/* SPDX-License-Identifier: MIT */
/*
 * Owns mapped memory, such as that of run blocks: anonymous, or of a file that was allocated in
 * full first, so that a full disk is an error at the start and never a SIGBUS later; and files in
 * memory, which outlive their process.
 */
#ifndef RM_OS_MAPPING_H
#define RM_OS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <resmon/status.h>

#include "os/file.h"
#include "os/kept.h"

struct rm_outfile;

struct rm_mapping {
    void *memory;
    uint64_t bytes;
    struct rm_outfile *pending; /* its file, which has only a temporary name yet */
};

/** Zeroed private memory. */
resmon_status rm_mapping_anonymous(struct rm_mapping *mapping, uint64_t bytes);

/** Reserves the blocks of `bytes` of an open file.  0, or an errno: EBADF when the program has
 * closed the descriptor. */
int rm_mapping_reserve(const struct rm_kept *kept, uint64_t bytes);

/** Reserves and maps them, shared.  0, or an errno. */
int rm_mapping_of(struct rm_mapping *mapping, const struct rm_kept *kept, uint64_t bytes);

/**
 * A new file of `bytes` zeroes (mode 0600), mapped shared, which rm_mapping_publish() renames to
 * `path` once its content is complete: an existing recording, which another process may have
 * mapped, stays whole for that process.
 */
resmon_status rm_mapping_file(struct rm_mapping *mapping, const char *path, uint64_t bytes);

/** Gives the file its name; does nothing for memory without a file. */
resmon_status rm_mapping_publish(struct rm_mapping *mapping);

/** How many of its bytes are resident; 0: not known. */
uint64_t rm_mapping_resident(const struct rm_mapping *mapping);

void rm_mapping_free(struct rm_mapping *mapping);

/* ---- memory files ------------------------------------------------------------------------ */

/*
 * Files in memory (/dev/shm), which outlive their process: the program never waits for a disk or a
 * server when it writes to their pages, and another process finds them by name.
 *
 * The writer locks the first byte for as long as it writes, so that other processes, in whatever
 * namespace, know that it lives.  Where the program could close the locked descriptor (os/kept: no
 * table of its own), the name of the file says so, and the identity of the process, which is in the
 * name too, decides.  A process that takes over a file of a dead one locks the second byte.
 */

#define RM_MEMORY_NAME_BYTES 160

/** Their directory, which tests set. */
extern const char *rm_memory_directory;

/* Does not move while it is open: `content` points into it. */
struct rm_memory_file {
    struct rm_infile content;
    char name[RM_MEMORY_NAME_BYTES];
    char path[2 * RM_MEMORY_NAME_BYTES];
};

/**
 * A new file of `bytes` zeroes, reserved in full, mapped shared, mode 0600, and open as its writer.
 * RESMON_ENOTSUP: the directory does not exist or is not in memory, or too little memory is left in
 * it or below the limits of the process; the text has the reason.
 */
resmon_status rm_memory_file_make(struct rm_memory_file *file, uint64_t bytes,
                                  struct rm_mapping *ret_mapping);

/** For the writer: opens it again if the program has closed it. */
resmon_status rm_memory_file_revive(struct rm_memory_file *file);

/** For the writer, now and then: sets its time, so that it counts as used. */
void rm_memory_file_touch(const struct rm_memory_file *file);

/** Opens a file of user `owner` and of at most `bound` bytes; never through a link. */
resmon_status rm_memory_file_open(struct rm_memory_file *file, const char *name, uid_t owner,
                                  uint64_t bound);

/** Whether the process that writes the file lives. */
bool rm_memory_file_is_written(const struct rm_memory_file *file);

/** Takes over a file that its writer has left, until close: false unless that process is gone for
 * certain, and no other process has taken it over. */
bool rm_memory_file_seize(const struct rm_memory_file *file);

/** Seconds since it was made or touched. */
double rm_memory_file_age(const struct rm_memory_file *file);

void rm_memory_file_close(struct rm_memory_file *file);

void rm_memory_file_remove(const char *name);

/** The names of this user's files; free with rm_free().  NULL: there are none. */
char (*rm_memory_file_list(size_t *ret_count))[RM_MEMORY_NAME_BYTES];

#endif
