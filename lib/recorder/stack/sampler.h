/* SPDX-License-Identifier: MIT */
/*
 * Owns the taking of stacks in this process: timers and counters of page faults of each thread, and
 * the samples that come of them.  One at a time.  All but open runs on one thread, that of
 * engine/stacks.
 */
#ifndef RM_STACK_SAMPLER_H
#define RM_STACK_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/slot.h"
#include "store/block.h"

struct rm_stack_terms {
    struct rm_block block; /* whose scopes are noted */
    int64_t cpu_ns;        /* CPU time between samples; 0: none are taken */
    uint64_t fault_period; /* page faults between samples; 0: none are taken */
    bool wants_signal;     /* for CPU time, and for asking all threads */
};

/** Takes the signal and makes ready; no thread is sampled yet.  RESMON_EBUSY: another monitor takes
 * stacks, or the program uses the signals; RESMON_ENOTSUP: no libunwind; RESMON_ENOMEM. */
resmon_status rm_stack_sampler_open(const struct rm_stack_terms *terms);

/** Whether the kernel gives huge pages unasked: page faults of threads are then sampled closely. */
void rm_stack_sampler_expect_huge_pages(bool are_likely);

/** Huge pages were seen to come: samples are closer from now on, until small ones come. */
void rm_stack_sampler_look_closely(void);

/** No more stacks are taken; those that are on their way are waited for. */
void rm_stack_sampler_stop(void);

/** Sends no more signals: they would go to a handler of the program.  Page faults go on. */
void rm_stack_sampler_give_up(void);

/** Frees; after stop. */
void rm_stack_sampler_close(void);

/** Sees after libraries that came or went.  true: something changed. */
bool rm_stack_sampler_refresh(void);

#define RM_STACK_ERROR_BYTES 160

/* What became of a thread that was to be sampled. */
struct rm_stack_attached {
    bool has_slot;
    bool has_ended;       /* meanwhile: it tells nothing of others */
    bool lacks_kernel;    /* faults in system calls are not counted */
    bool lacks_pages;     /* huge pages look like small ones */
    resmon_status faults; /* RESMON_OK: they are counted */
    resmon_status timer;
    char faults_error[RM_STACK_ERROR_BYTES];
    char timer_error[RM_STACK_ERROR_BYTES];
};

/** Samples a thread from now on, if it is not known yet (false). */
bool rm_stack_sampler_attach(uint32_t thread, struct rm_stack_attached *ret_attached);

/** Gives up threads that have ended, of those that were not named by attach since the last call. */
void rm_stack_sampler_forget_ended(void);

/** Calls `take` for each sample that waits, with the slot of the thread that it is of. */
typedef void (*rm_stack_take_fn)(void *context, const struct rm_slot_sample *sample,
                                 struct rm_stack_slot *slot);
void rm_stack_sampler_drain(rm_stack_take_fn take, void *context);

/** A thread that was started meanwhile, one by one; 0: no more are known. */
uint32_t rm_stack_sampler_take_new_thread(void);

/** Waits until there is much to take out, or a thread was started that is to be heard of, but no
 * longer than `most_ns`. */
void rm_stack_sampler_wait(int64_t most_ns, bool wakes_for_threads);

/** Samples that found their ring full, since the last call. */
uint64_t rm_stack_sampler_full(void);

/** Memory of what threads have for their samples: of as many threads as there were at a time. */
uint64_t rm_stack_sampler_bytes(void);

/** Has every thread take a stack now, with RM_SAMPLE_PEAK; how many were asked. */
uint32_t rm_stack_sampler_ask_all(void);

#endif
