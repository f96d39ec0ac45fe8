/* SPDX-License-Identifier: MIT */
/*
 * Owns keeping signals of failed writes from the program: SIGXFSZ (RLIMIT_FSIZE) and SIGPIPE would
 * end it for a write that was the library's.  The write fails with EFBIG or EPIPE all the same.
 */
#ifndef RM_OS_SIGNAL_GUARD_H
#define RM_OS_SIGNAL_GUARD_H

#include <signal.h>
#include <stdbool.h>

struct rm_signal_guard {
    sigset_t guarded, before;
    bool was_pending[2]; /* in the order of the signals in signal_guard.c */
};

/** From here to the end, on this thread, those signals are held back, and then dropped. */
void rm_signal_guard_begin(struct rm_signal_guard *guard);
void rm_signal_guard_end(const struct rm_signal_guard *guard);

#endif
