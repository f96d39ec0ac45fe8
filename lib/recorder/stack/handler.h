/* SPDX-License-Identifier: MIT */
/*
 * Owns the signal handler that takes stacks.  It counts running handlers, so that nothing is
 * freed that they use, and takes no stacks while the process is being forked.
 */
#ifndef RM_STACK_HANDLER_H
#define RM_STACK_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "store/block.h"

/** Installs the handler; it takes stacks from now on.  `block`: its open scopes are noted.
 * RESMON_EBUSY: the program uses the signals. */
resmon_status rm_handler_open(const struct rm_block *block, bool wants_signal);

/** Removes the handler. */
void rm_handler_close(void);

/** Time that handlers took, in ticks, without the kernel's part of a signal. */
uint64_t rm_handler_ticks(void);

/** Waits for running handlers; false: some still run. */
bool rm_handler_wait(int64_t most_ns);

/** The signal's number. */
int rm_handler_signal(void);

/** Requests a stack of a thread, with RM_SAMPLE_PEAK, by the token of its slot. */
bool rm_handler_request(uint32_t thread, void *token);

/** The thread that is woken when many Python stacks wait to be drained. */
void rm_handler_set_drainer(uint32_t thread);

/** Ends a wait of a thread that unblocks only this signal. */
void rm_handler_wake(uint32_t thread);

/** Handles forks from the first call on; `forget` is called in the child.  RESMON_ENOTSUP: this
 * process was forked inside a handler. */
resmon_status rm_handler_survive_forks(void (*forget)(void));

#endif
