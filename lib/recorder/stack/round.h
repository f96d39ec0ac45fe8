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

#include "os/file.h"
#include "os/own_usage.h"
#include "os/proc_pid.h"
#include "stack/faults.h"
#include "stack/memory_watch.h"
#include "stack/sampler.h"
#include "store/stack_writer.h"

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
