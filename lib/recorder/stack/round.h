/* SPDX-License-Identifier: MIT */
/*
 * Owns what the thread rm-stack does every few milliseconds: it takes out the samples and writes
 * them to the run block, finds new threads and libraries, and sees to peaks of memory.  New threads
 * are sampled, too, and of those that block the signal the CPU time is counted that goes by unseen.
 */
#ifndef RM_STACK_ROUND_H
#define RM_STACK_ROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include <resmon/status.h>

#include "os/dir.h"
#include "os/file.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"
#include "stack/faults.h"
#include "stack/slot.h"
#include "store/block.h"
#include "store/stack_writer.h"

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

/* ---- rounds -------------------------------------------------------------------------------- */

struct rm_stack_round {
    struct rm_stack_terms terms;
    struct rm_stack_writer writer;
    uint64_t wanted; /* RESMON_STACKS_* */
    struct rusage before;
    uint64_t page_bytes;

    /* From open to close: */
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_file_mappings mappings;
    int64_t mappings_ns;
    struct rm_memory_watch watch;
    uint64_t number;
    uint32_t early_threads;           /* new ones that were sampled since the latest round */
    uint64_t slotless, slotless_most; /* threads without a slot, in this round and in any */
    struct rm_own_pages pages;
    struct rm_fault_weights weights;
    uint64_t seen_adds;     /* of the loader, when modules were looked at */
    uint64_t left_out_most; /* modules without room, when they were most */
    bool has_seen_modules;
    bool has_faults; /* came in the latest round: the next one is soon */
    bool is_at_peak;
    uint32_t peak_arrived;
    bool is_lost;     /* the program took the signal away */
    bool has_list;    /* of threads */
    uint64_t sampled; /* RESMON_STACKS_* that work for a thread: others' failures are counted */
    struct rm_fault_remarks remarks;
    bool lacks_rss; /* so that pages of files cannot be told */
};

/** Opens what rounds read.  On the thread that makes them. */
resmon_status rm_stack_round_open(struct rm_stack_round *round);
void rm_stack_round_close(struct rm_stack_round *round);

/** One whole round. */
void rm_stack_round_make(struct rm_stack_round *round);

/** Takes samples out, and nothing else. */
void rm_stack_round_drain(struct rm_stack_round *round);

/** The last of all, when no more samples come. */
void rm_stack_round_finish(struct rm_stack_round *round);

/** Sets what is known about the kinds of `bits` (RESMON_STACKS_*) that are wanted. */
void rm_stack_round_set_kinds(struct rm_stack_round *round, uint64_t bits, resmon_status status,
                              const char *reason);

/** Whether new threads may still be looked at once between rounds: not too many came since the
 * latest. */
bool rm_stack_threads_may_sample_new(const struct rm_stack_round *round);

#endif
