/* SPDX-License-Identifier: MIT */
/*
 * Owns what not every libc has (glibc from 2.17 on, musl): system calls by their numbers.  Where a
 * kernel lacks one, it fails with ENOSYS; random bytes and renaming have a fallback.
 */
#ifndef RM_BASE_LIBC_H
#define RM_BASE_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

/** Random bytes; never waits.  False: there are none yet, early in the boot of the machine. */
bool rm_random(void *bytes, size_t length);

/** Overwrites a secret, also where nothing reads the memory afterwards. */
RM_SHARED void rm_wipe(void *bytes, size_t length);

/* An entry as getdents64(2) has it. */
struct rm_directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes; /* of the entry with its name */
    uint8_t type;   /* DT_* */
    char name[];
};

/** getdents64(2): the number of bytes with entries; 0: no more; -1 with errno. */
ssize_t rm_directory_read(int fd, void *bytes, size_t capacity);

/** memfd_create(2), closed at exec: a descriptor; -1 with errno. */
RM_SHARED int rm_memory_file(const char *name);

/** ioctl(2), whose request is an int in musl and an unsigned long in glibc. */
int rm_ioctl(int fd, unsigned long request, void *argument);

/** Renames; -1 with errno: EEXIST if there is `to`.  On kernels and file systems without
 * renameat2(2), another process may create `to` in between. */
int rm_rename_new(const char *from, const char *to);

#endif
