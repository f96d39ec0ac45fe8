/* SPDX-License-Identifier: MIT */
/*
 * Owns where the program resmon-names is, and asking it.
 * Called by naming.c; tests have other programs.
 */
#ifndef RM_SYMBOLS_SYMBOLIZER_H
#define RM_SYMBOLS_SYMBOLIZER_H

#include <stdint.h>

#include <resmon/status.h>

#include "base/buffer.h"
#include "base/parse.h"

/* Tests have their own. */
struct rm_symbolizer {
    const char *program; /* NULL: the one that belongs to this library */
    int64_t most_ns;     /* that it may take for one run */

    /** Sends it a request (names/protocol.h), and takes what it replies, which is not checked; as
     * rm_helper_run(). */
    resmon_status (*ask)(const struct rm_buffer *request, struct rm_buffer *reply);
};
extern struct rm_symbolizer rm_symbolizer;

/** Puts the head of a request.  `debug_root` NULL: the usual one. */
void rm_symbolizer_begin(struct rm_buffer *request, uint64_t pid, uint64_t mapped_ns,
                         const char *debug_root);

/** Takes the head of a reply.  RESMON_EFORMAT: it is none; RESMON_EVERSION; RESMON_ENOTSUP: nothing
 * can be looked up, and the text of the error says why. */
resmon_status rm_symbolizer_open_reply(struct rm_text *reply);

/** Whether it can look anything up: RESMON_OK, or why not. */
resmon_status rm_symbolizer_check(void);

#endif
