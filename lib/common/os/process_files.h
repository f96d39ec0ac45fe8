/* SPDX-License-Identifier: MIT */
/*
 * Owns looking at files as another process sees them: in a container, a path is another file there.
 */
#ifndef RM_OS_PROCESS_FILES_H
#define RM_OS_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that a process has mapped, as the kernel tells of it. */
struct rm_process_file {
    uint32_t pid;
    const char *path;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;
};

/** The path by which this process can open it: the same one, where that is the same file; that of
 * the program, which may be deleted or replaced, while it runs; else through the other's root, if
 * that may be looked into. */
void rm_process_file_path(const struct rm_process_file *file, char *path, size_t room);

/** The path of the file that a process is a program of, also when its own path is no more. */
void rm_process_file_program(uint32_t pid, char *path, size_t room);

/** Whether an open regular file belongs to this user, to root, or to who runs the process: that
 * others have put it there is not believed. */
bool rm_process_file_is_trusted(int fd, uint32_t pid);

#endif
