/* SPDX-License-Identifier: MIT */
/*
 * Owns what the library takes of things that belong to the whole program: a signal for its own use,
 * the signals of its failed writes, the signals that end the program, and the exit status.
 */
#ifndef RM_OS_PROGRAM_H
#define RM_OS_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"

/* ---- signals of failed writes ------------------------------------------------------------ */

/*
 * SIGXFSZ (RLIMIT_FSIZE) and SIGPIPE would end the program for a write of the library.  With the
 * guard, the write still fails with EFBIG or EPIPE, without a signal.
 */

struct rm_signal_guard {
    sigset_t guarded, before;
    bool was_pending[2]; /* in the order of write_signals in program.c */
};

/** Blocks these signals on the calling thread until the end, which drops those that came. */
void rm_signal_guard_begin(struct rm_signal_guard *guard);
void rm_signal_guard_end(const struct rm_signal_guard *guard);

/* ---- a claimed signal -------------------------------------------------------------------- */

/*
 * A signal for the stacks of this process: one that the program does not handle.  The handler
 * passes on signals of other senders.  Only a monitor that takes stacks has one.
 */

/** Handles a signal: false when it is not the library's.  Async-signal-safe. */
typedef bool (*rm_signal_fn)(const siginfo_t *info, void *context);

/**
 * Finds a signal that the program does not handle, and calls `handle` for it.  RESMON_EBUSY: it was
 * claimed already, which a process can do once at a time, or the program handles all of them.
 */
resmon_status rm_claimed_signal_take(rm_signal_fn handle, int *ret_signal);

/** The name of the signal that would be taken; NULL: the program handles all of them. */
RM_SHARED const char *rm_claimed_signal_find(void);

/** Whether the handler is still ours: the program may have replaced it. */
bool rm_claimed_signal_is_ours(void);

/** Restores the handler of before, and drops pending signals.  No timer may send it any more. */
void rm_claimed_signal_release(void);

/** In the child of a fork: the claim was the parent's. */
void rm_claimed_signal_forget(void);

/* ---- signals that end the program -------------------------------------------------------- */

/*
 * Where the user asked for it, a thread of ours first finishes the work of the library; then the
 * signal ends the program as it would have without us, so that its parent sees the same status.
 *
 * The handler does next to nothing, because the interrupted thread may be anywhere, for example in
 * malloc().  It holds that thread for a fifth of a second at most, which is nearly always enough to
 * finish; then the program goes on until all is finished, so that a lock which that thread holds is
 * released.  A second signal ends the program at once, unless it comes so soon that it is a
 * repetition of the first: timeout(1) and closed terminals send theirs twice.
 */

struct rm_end_signals {
    uint64_t wanted; /* 1 << number */
    /* Whether this process is to finish: async-signal-safe.  False in the child of a fork. */
    bool (*is_ours)(void);
    /* Called on a thread of ours, once. */
    void (*finish)(int number);
    /* Called if the signal did not end the program: process 1 of a container survives it. */
    void (*go_on)(void);
};

/**
 * From now on, handles the wanted signals that have their default action.  Once in a process; a
 * further call adds signals.  RESMON_ENOMEM, RESMON_EBUSY: no thread.
 */
resmon_status rm_end_signals_take(const struct rm_end_signals *signals);

/** On a thread that calls exit(): waits while a signal is about to end the program. */
void rm_end_signals_wait(void);

/** Restores the default action of the signals whose handler is still ours. */
void rm_end_signals_release(void);

/* ---- the exit status --------------------------------------------------------------------- */

/*
 * The GNU C library passes the exit status to handlers of on_exit(), which run in the reverse order
 * of their registration.  Registration in the constructor of a shared library is too early: such a
 * handler runs last, after the destructors of all libraries.  So there is a second way, a
 * destructor of the thread that loads the library, with which exit() begins; and a third one for
 * exits of other threads.
 */

/** From now on, calls `note` in exit(), before the program's own handlers where that is possible,
 * and perhaps several times.  To be called once, on the thread that loads the library. */
void rm_exit_status_watch(void (*note)(int exit_status));

/** To be called on any thread when the program's main() is running, as at its first scope: later
 * exits are noted from then on.  Has no effect without a watch, or the second time. */
void rm_exit_status_main_runs(void);

/** Calls `run` in exit() once, before all handlers that were registered until now.  RESMON_ENOMEM,
 * RESMON_ENOTSUP. */
resmon_status rm_exit_status_hand(void (*run)(int exit_status, void *context), void *context);

#endif
