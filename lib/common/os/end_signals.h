/* SPDX-License-Identifier: MIT */
/*
 * Owns the signals that would end the program, where it was asked for: a thread of ours finishes
 * what is to be finished, and then the signal ends the program as it would have without us, so that
 * whoever waits for it sees the same.
 *
 * The handler does next to nothing: the thread that it came to may be anywhere, in malloc() for
 * one.  It holds that thread for a fifth of a second at most, which is enough to finish nearly
 * always; then the program goes on until all is finished, so that a lock which the thread holds is
 * given back.  Another signal ends the program at once, unless it comes so soon that it says the
 * same: timeout(1) and terminals that are closed send theirs twice.
 */
#ifndef RM_OS_END_SIGNALS_H
#define RM_OS_END_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

struct rm_end_signals {
    uint64_t wanted; /* 1 << number */
    /* Whether this process is to finish: async-signal-safe.  Not so in the child of a fork. */
    bool (*is_ours)(void);
    /* On a thread of ours, once. */
    void (*finish)(int number);
    /* After that, when the signal did not end the program: process 1 of a container outlives it. */
    void (*go_on)(void);
};

/**
 * Handles those of the wanted signals that have their default, from now on.  Once in a process;
 * again adds signals.  RESMON_ENOMEM, RESMON_EBUSY: no thread.
 */
resmon_status rm_end_signals_take(const struct rm_end_signals *signals);

/** On a thread that exits: waits while a signal that has come is about to end the program. */
void rm_end_signals_wait(void);

/** Gives them their default back, as far as they are still ours. */
void rm_end_signals_release(void);

#endif
