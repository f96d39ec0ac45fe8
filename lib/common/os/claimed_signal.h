/* SPDX-License-Identifier: MIT */
/*
 * Owns a signal that the library uses: one that the program leaves alone, with a handler that
 * passes on what is not ours.  Only asked for by a monitor that takes stacks.
 */
#ifndef RM_OS_CLAIMED_SIGNAL_H
#define RM_OS_CLAIMED_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

#include <resmon/status.h>

#include "base/compiler.h"

/** Handles a signal: false when it is somebody else's.  Async-signal-safe. */
typedef bool (*rm_signal_fn)(const siginfo_t *info, void *context);

/**
 * Finds a signal that nobody handles, and has `handle` called for it.  One claim in a process at a
 * time: RESMON_EBUSY; also when every signal is taken.
 */
resmon_status rm_claimed_signal_take(rm_signal_fn handle, int *ret_signal);

/** The name of the signal that would be taken; NULL: the program handles all that could be. */
RM_SHARED const char *rm_claimed_signal_find(void);

/** Whether the handler is still ours: the program may have put its own in its place. */
bool rm_claimed_signal_is_ours(void);

/** Gives it back as it was, and throws away what is pending.  Nothing may send it any more. */
void rm_claimed_signal_release(void);

/** In the child of a fork: the claim was the parent's. */
void rm_claimed_signal_forget(void);

#endif
