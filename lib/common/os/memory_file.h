/* SPDX-License-Identifier: MIT */
/*
 * Owns files that are memory (/dev/shm) and outlive their process: pages that a program writes to
 * without ever waiting for a disk or a server, and that another process finds by their name.
 *
 * Who made one holds a lock of its first byte for as long as it writes: so others know that it
 * lives, in whatever namespace.  Where the program could close the descriptor that has the lock
 * (os/kept: no table of its own), the name says so, and the identity of the process, which the
 * name has too, decides.  Who takes over what a dead one left holds a lock of the second byte.
 */
#ifndef RM_OS_MEMORY_FILE_H
#define RM_OS_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "os/file.h"
#include "os/mapping.h"

#define RM_MEMORY_NAME_BYTES 160

/** Where they are; tests have another place. */
extern const char *rm_memory_directory;

/* Stays where it was opened: `content` points into it. */
struct rm_memory_file {
    struct rm_infile content;
    char name[RM_MEMORY_NAME_BYTES];
    char path[2 * RM_MEMORY_NAME_BYTES];
};

/**
 * A new one of `bytes` zeroes, reserved in full, mapped shared, mode 0600, and open as its writer.
 * RESMON_ENOTSUP: there is no such directory, it is no memory, or what is left of it or of the
 * process's limits is too little; the text says which.
 */
resmon_status rm_memory_file_make(struct rm_memory_file *file, uint64_t bytes,
                                  struct rm_mapping *ret_mapping);

/** For its writer: opens it again if the program has closed it. */
resmon_status rm_memory_file_revive(struct rm_memory_file *file);

/** For its writer, now and then: it is in use. */
void rm_memory_file_touch(const struct rm_memory_file *file);

/** Opens one of user `owner`, of `bound` bytes at most: no link, no other user's. */
resmon_status rm_memory_file_open(struct rm_memory_file *file, const char *name, uid_t owner,
                                  uint64_t bound);

/** Whether the process that writes the file lives. */
bool rm_memory_file_is_written(const struct rm_memory_file *file);

/** Takes over what its writer left: false unless that is gone for certain, and nobody else has, or
 * has done so.  Until close. */
bool rm_memory_file_seize(const struct rm_memory_file *file);

/** Seconds since it was made or touched. */
double rm_memory_file_age(const struct rm_memory_file *file);

void rm_memory_file_close(struct rm_memory_file *file);

void rm_memory_file_remove(const char *name);

/** The names of this user's; free with rm_free().  NULL: there are none. */
char (*rm_memory_file_list(size_t *ret_count))[RM_MEMORY_NAME_BYTES];

#endif
