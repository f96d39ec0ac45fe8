/* SPDX-License-Identifier: MIT */
/*
 * Owns the facts about the machine and the program that a run document names.
 */
#ifndef RM_OS_HOST_H
#define RM_OS_HOST_H

#include <stddef.h>

#include "base/compiler.h"
#include "os/file.h"

/* ---- the machine and this process ------------------------------------------------------- */

#define RM_HOST_TEXT_BYTES 256

struct rm_host {
    char host_name[RM_HOST_TEXT_BYTES];
    char kernel[RM_HOST_TEXT_BYTES];
    char architecture[64];
    char os[RM_HOST_TEXT_BYTES]; /* PRETTY_NAME of /etc/os-release */
    char cpu_governor[64];       /* the kernel's policy for the CPU frequency: "performance", ... */
    char boot_id[64];
    char executable[RM_HOST_TEXT_BYTES];
    char program[128]; /* see below */
    char command_line[512];
};

/** The command line that is to be shown, its first word taken for the executable. */
void rm_host_set_command(struct rm_host *host, const char *command);

/** Fills what can be found below the root; the rest stays "".  `proc_dir`: of the process observed.
 */
RM_SHARED void rm_host_read(struct rm_host *host, const struct rm_root *root,
                            struct rm_scratch *scratch, const char *proc_dir);

/* ---- the name of a program --------------------------------------------------------------- */

/*
 * The name of a program for people: the script if an interpreter runs one, else the executable.
 * Pure.
 */

/**
 * "train.py" of "python3 -u /home/ann/train.py --epochs 3", "http.server" of "python3 -m ...",
 * "wordindex" of a program of its own.  `arguments`: as /proc/PID/cmdline has them, each ended by
 * '\0', `length` bytes.  "" when nothing is known.
 */
void rm_program_name(const char *executable, const char *arguments, size_t length, char *name,
                     size_t capacity);

#endif
