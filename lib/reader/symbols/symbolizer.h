/* SPDX-License-Identifier: MIT */
/*
 * Owns running the program resmon-names, as a helper process that the host program does not notice,
 * and the heads of its requests and replies.
 * Called by naming.c and doctor/doctor.c; tests replace the program.
 */
#ifndef RM_SYMBOLS_SYMBOLIZER_H
#define RM_SYMBOLS_SYMBOLIZER_H

#include <stdint.h>

#include <resmon/status.h>

#include "base/buffer.h"
#include "base/parse.h"

/* Replaced by tests. */
struct rm_symbolizer {
    const char *program; /* NULL: the program of this library */
    int64_t most_ns;     /* time limit for one run of it */

    /**
     * Sends a request (names/protocol.h) and receives the reply, which is not checked.
     * RESMON_ENOENT: there is no program; RESMON_EACCES: it is not run, as others may change it;
     * RESMON_ETIMEDOUT; RESMON_ESTATE: it failed; or why it could not be run.
     */
    resmon_status (*ask)(const struct rm_buffer *request, struct rm_buffer *reply);
};
extern struct rm_symbolizer rm_symbolizer;

/** Writes the head of a request.  `debug_root` NULL: the usual directory. */
void rm_symbolizer_begin(struct rm_buffer *request, uint64_t pid, uint64_t mapped_ns,
                         const char *debug_root);

/** Reads the head of a reply.  RESMON_EFORMAT: it is not a reply; RESMON_EVERSION; RESMON_ENOTSUP:
 * lines are wanted, and it has functions only; the text of the error has the reason. */
resmon_status rm_symbolizer_open_reply(struct rm_text *reply, bool wants_lines);

/** Whether addresses get functions and lines: RESMON_OK, or why not. */
resmon_status rm_symbolizer_check(void);

#endif
