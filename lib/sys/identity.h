/* SPDX-License-Identifier: MIT */
/*
 * Owns the identity of a process for as long as a file may live: its number, when it started, and
 * in which life of the machine.
 */
#ifndef RM_SYS_IDENTITY_H
#define RM_SYS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rm_identity {
    uint64_t pid;
    uint64_t start_ticks; /* since boot */
    uint64_t boot_hash;   /* of the boot id */
};

/** Of this process; all 0 where /proc does not tell. */
struct rm_identity rm_identity_self(void);

/** Threads of this process; 0 where /proc does not tell. */
uint64_t rm_identity_threads(void);

/** The path of this program; "" where /proc does not tell.  A path that is longer is cut. */
void rm_identity_program(char *path, size_t capacity);

/** Whether that process still runs here; false when that cannot be told. */
bool rm_identity_is_alive(const struct rm_identity *identity);

#endif
