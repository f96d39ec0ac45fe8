/* SPDX-License-Identifier: MIT */
/*
 * Owns the rounds of the thread rm-stack, every few milliseconds: samples are drained and
 * written to the run block, new threads are sampled, new libraries are listed, and peaks of
 * memory are detected.  The CPU time of threads that block the signal is counted as missed.
 *
 * And taking stacks in this process: timers and page-fault counters of each thread, and their
 * samples. One instance at a time.  All functions but open run on one thread, that of
 * engine/stacks.
 */
#ifndef RM_STACK_ROUND_H
#define RM_STACK_ROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include <resmon/status.h>

#include "os/file.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"
#include "stack/faults.h"
#include "stack/resident.h"
#include "stack/slot.h"
#include "store/block.h"
#include "store/stack_writer.h"

struct rm_stack_terms {
    struct rm_block block; /* block of the scopes that are noted */
    int64_t cpu_ns;        /* CPU time between samples; 0: no samples */
    uint64_t fault_period; /* page faults between samples; 0: no samples */
    bool wants_signal;     /* for CPU time, for stacks of all threads at a peak, and for Python */
};

/** Installs the signal handler; no thread is sampled yet.  RESMON_EBUSY: another monitor takes
 * stacks, or the program uses the signals; RESMON_ENOTSUP: no libunwind; RESMON_ENOMEM. */
resmon_status rm_stack_sampler_open(const struct rm_stack_terms *terms);

/** Whether huge pages are likely: page faults are sampled with a shorter period then. */
void rm_stack_sampler_expect_huge_pages(bool are_likely);

/** Huge pages were seen: uses a shorter period, until small pages are seen. */
void rm_stack_sampler_look_closely(void);

/** Takes no more stacks; waits for running handlers. */
void rm_stack_sampler_stop(void);

/** Sends no more signals, as the program has installed a handler of its own.  Page faults are still
 * sampled. */
void rm_stack_sampler_give_up(void);

/** Frees; after rm_stack_sampler_stop(). */
void rm_stack_sampler_close(void);

/** Checks for loaded and unloaded libraries.  True: there were any. */
bool rm_stack_sampler_refresh(void);

/** Looks for an interpreter of Python among the modules.  Returns why its frames are not read. */
const char *rm_stack_sampler_find_python(void);

#define RM_STACK_ERROR_BYTES 160

/* Result of attaching a thread. */
struct rm_stack_attached {
    bool has_slot;
    bool has_ended;       /* it has ended meanwhile: no information about other threads */
    bool lacks_kernel;    /* faults in system calls are not counted */
    bool lacks_pages;     /* sizes of faulted pages are not known */
    resmon_status faults; /* RESMON_OK: page faults are counted */
    resmon_status timer;
    char faults_error[RM_STACK_ERROR_BYTES];
    char timer_error[RM_STACK_ERROR_BYTES];
};

/** Samples a thread from now on; false: it was attached already. */
bool rm_stack_sampler_attach(uint32_t thread, struct rm_stack_attached *ret_attached);

/** Detaches threads that have ended, among those without an attach call since the last call. */
void rm_stack_sampler_forget_ended(void);

/** Calls `take` for each queued sample, with the one that has its Python stack (NULL: none), and
 * the slot of its thread. */
typedef void (*rm_stack_take_fn)(void *context, const struct rm_slot_sample *sample,
                                 const struct rm_slot_sample *python, struct rm_stack_slot *slot);
void rm_stack_sampler_drain(rm_stack_take_fn take, void *context);

/** The next new thread since the last calls; 0: no more are known. */
uint32_t rm_stack_sampler_take_new_thread(void);

/** Waits until much is queued, or a new thread was reported, for at most `most_ns`. */
void rm_stack_sampler_wait(int64_t most_ns, bool wakes_for_threads);

/** Samples lost in a full ring since the last call. */
uint64_t rm_stack_sampler_full(void);

/** Memory for the samples of the highest number of threads at a time. */
uint64_t rm_stack_sampler_bytes(void);

/** Requests a stack of every thread, with RM_SAMPLE_PEAK; returns the number of requests. */
uint32_t rm_stack_sampler_request_all(void);

/* ---- rounds -------------------------------------------------------------------------------- */

struct rm_stack_round {
    struct rm_stack_terms terms;
    struct rm_stack_writer writer;
    uint64_t wanted; /* RESMON_STACKS_* */
    struct rusage before;
    uint64_t page_bytes;

    /* Valid from open to close: */
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_file_mappings mappings;
    int64_t mappings_ns;
    struct rm_memory_watch watch;
    uint64_t number;
    uint32_t early_threads;           /* new threads sampled since the last round */
    uint64_t slotless, slotless_most; /* threads without a slot, in this round and at most */
    struct rm_own_pages pages;
    struct rm_fault_weights weights;
    uint64_t seen_adds;     /* the loader's counter when modules were listed */
    uint64_t left_out_most; /* highest number of modules beyond the capacity */
    bool has_seen_modules;
    bool has_faults; /* page faults in the last round: the next round is soon */
    bool is_at_peak;
    uint32_t peak_arrived;
    bool is_lost;  /* the program has replaced the signal handler */
    bool has_list; /* the list of threads can be read */
    /* RESMON_STACKS_* that work for a thread: failures of other threads are counted */
    uint64_t sampled;
    struct rm_fault_remarks remarks;
    bool lacks_rss; /* so pages of files cannot be weighed */
    struct rm_resident resident;
    struct rm_resident_turn resident_turn;
    bool lacks_pagemap; /* so what is still there is not known */
};

/** Opens the files of rounds, on the thread that makes them. */
resmon_status rm_stack_round_open(struct rm_stack_round *round);
void rm_stack_round_close(struct rm_stack_round *round);

/** Makes a round. */
void rm_stack_round_make(struct rm_stack_round *round);

/** Drains samples only. */
void rm_stack_round_drain(struct rm_stack_round *round);

/** The last round, when no more samples come. */
void rm_stack_round_finish(struct rm_stack_round *round);

/** Sets the status of the wanted kinds in `bits` (RESMON_STACKS_*). */
void rm_stack_round_set_kinds(struct rm_stack_round *round, uint64_t bits, resmon_status status,
                              const char *reason);

/** Whether more new threads may be sampled before the next round. */
bool rm_stack_threads_may_sample_new(const struct rm_stack_round *round);

#endif
