/* SPDX-License-Identifier: MIT */
/*
 * Owns running a helper program so that the host program does not notice: it gets no SIGCHLD, its
 * wait(-1) does not return the helper's pid, its descriptors, signals and terminal stay out of it,
 * and the helper ends with the host at the latest.
 */
#ifndef RM_SYMBOLS_HELPER_H
#define RM_SYMBOLS_HELPER_H

#include <stdint.h>
#include <sys/types.h>

#include <resmon/status.h>

#include "base/buffer.h"

#define RM_HELPER_SELF                                                    \
    "/proc/thread-self/exe" /* the program that runs: its main thread may \
                               have ended */

struct rm_helper {
    const char *path;  /* of the program */
    const char *name;  /* its argv[0]; it has no other argument */
    uid_t owner;       /* besides root, whose program is run */
    gid_t group;       /* which may have the right to write it */
    const char *input; /* its standard input, a file */
    size_t input_bytes;
    size_t most_output_bytes;
    uint64_t most_data_bytes; /* RLIMIT_DATA */
    int64_t most_ns;          /* then it is killed */
};

/**
 * Runs it and waits.  `output`: what it wrote to its standard output, also where it failed.
 * RESMON_ENOENT: it is not there; RESMON_EACCES: somebody else's, or writable by others;
 * RESMON_ETIMEDOUT: it was killed as it took too long; RESMON_ESTATE: it ended by a signal, or with
 * another status than 0; else why it could not be run.
 */
resmon_status rm_helper_run(const struct rm_helper *helper, struct rm_buffer *output);

#endif
