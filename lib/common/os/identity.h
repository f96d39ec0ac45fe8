/* SPDX-License-Identifier: MIT */
/*
 * Owns the identity of a process for as long as a file may live: its number, when it started, and
 * in which life of the machine; and of the image in it, which exec() replaces while the process
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

/** The identity of this process; all 0 where /proc does not tell. */
struct rm_identity rm_identity_self(void);

/** The identity of a process by its number in /proc; all 0 where that does not tell. */
struct rm_identity rm_identity_of(uint64_t pid);

/** Threads of this process; 0 where /proc does not tell. */
uint64_t rm_identity_threads(void);

/** The path of this program; "" where /proc does not tell.  A path that is longer is cut. */
void rm_identity_program(char *path, size_t capacity);

/** Whether the process still runs here, with the same image; false when that cannot be told. */
bool rm_identity_is_alive(const struct rm_identity *identity);

/** Whether the process has certainly ended, or has another image: never of another host or
 * namespace. */
bool rm_identity_is_gone(const struct rm_identity *identity);

/** Whether the identity is this process's, before the exec that began this image. */
bool rm_identity_is_earlier_image(const struct rm_identity *identity);

/** Whether two processes have one memory, as the child of vfork() has its parent's until it execs.
 * False: the kernel does not tell (kcmp(2)), or one has ended. */
bool rm_identity_compare_memory(int64_t pid, int64_t other, bool *ret_is_same);

#define RM_IDENTITY_TEXT_BYTES 128

/** Writes an identity as text, for files; without the stack. */
void rm_identity_print(const struct rm_identity *identity, char text[RM_IDENTITY_TEXT_BYTES]);

/** Reads an identity from that text; false: it is none. */
bool rm_identity_parse(const char *text, struct rm_identity *ret_identity);

#endif
