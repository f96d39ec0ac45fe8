/* SPDX-License-Identifier: MIT */
/*
 * Owns the identity of a process, valid as long as a file may exist: its pid, its start time, and
 * the boot of the machine.  Also the identity of its image, which exec() replaces while the process
 * stays.
 */
#ifndef RM_OS_IDENTITY_H
#define RM_OS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: not known. */
struct rm_identity {
    uint64_t pid;         /* in /proc, which may be of another pid namespace */
    uint64_t start_ticks; /* since boot */
    uint64_t boot_hash;   /* of the boot id */
    /* Of the image: where its stack begins, which its user's other processes can see (no file that
     * others may read should tell it); and a number that it alone knows. */
    uint64_t stack, image;
    uint64_t pid_namespace; /* where the number is; and of what time the start is */
};

/** The identity of this process; all 0 if /proc is not readable. */
struct rm_identity rm_identity_self(void);

/** The identity of a process by its number in /proc; all 0 if /proc has no such process. */
struct rm_identity rm_identity_of(uint64_t pid);

/** The number of threads of this process; 0: not readable from /proc. */
uint64_t rm_identity_threads(void);

/** The path of this program; "": not readable from /proc.  A longer path is cut. */
void rm_identity_program(char *path, size_t capacity);

/** Whether the process still runs here with the same image; false if unknown. */
bool rm_identity_is_alive(const struct rm_identity *identity);

/** Whether the process has certainly ended, or has another image.  Always false for a process of
 * another host or namespace. */
bool rm_identity_is_gone(const struct rm_identity *identity);

/** Whether the identity is this process's, before the exec that began this image. */
bool rm_identity_is_earlier_image(const struct rm_identity *identity);

/** Whether two processes share one memory, as the child of vfork() shares its parent's until it
 * calls exec.  False: not known (kcmp(2)), or a process has ended. */
bool rm_identity_compare_memory(int64_t pid, int64_t other, bool *ret_is_same);

#define RM_IDENTITY_TEXT_BYTES 128

/** Writes an identity, without the stack, as text for files. */
void rm_identity_print(const struct rm_identity *identity, char text[RM_IDENTITY_TEXT_BYTES]);

/** Reads an identity from that text; false: the text is not an identity. */
bool rm_identity_parse(const char *text, struct rm_identity *ret_identity);

#endif
