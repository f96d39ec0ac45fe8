/* SPDX-License-Identifier: MIT */
/*
 * Owns the signal handler that takes stacks, and when it may: it counts itself while it is at work,
 * so that nothing is freed under it, and takes nothing while the process is being forked.
 */
#ifndef RM_STACK_HANDLER_H
#define RM_STACK_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "store/block.h"

/** Takes the signal; stacks are taken from now on.  `block`: whose scopes are noted.
 * RESMON_EBUSY: the program uses the signals. */
resmon_status rm_handler_open(const struct rm_block *block, bool wants_signal);

/** Gives it back; stacks are not taken from now on. */
void rm_handler_close(void);

/** How long they took since it was taken, in ticks; without the kernel's part of a signal. */
uint64_t rm_handler_ticks(void);

/** Waits for those that are at work; false: some are, still. */
bool rm_handler_wait(int64_t most_ns);

/** The signal that is used. */
int rm_handler_signal(void);

/** Has a thread take a stack now, with RM_SAMPLE_PEAK: by the token of its slot. */
bool rm_handler_ask(uint32_t thread, void *token);

/** Ends a wait of a thread that lets only this signal through. */
void rm_handler_wake(uint32_t thread);

/** Handlers and forks are seen after from the first call on.  `forget` is called in the child.
 * RESMON_ENOTSUP: this process was forked in the midst of a handler. */
resmon_status rm_handler_survive_forks(void (*forget)(void));

#endif
