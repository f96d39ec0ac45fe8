/* SPDX-License-Identifier: MIT */
/*
 * Owns the registers and the memory of a thread for unwinding.  Memory is read so that a bad
 * address does no harm.  The thread is in its signal handler, or was recorded by the kernel in a
 * sample, of this or another process. Async-signal-safe.
 */
#ifndef RM_STACK_VIEW_H
#define RM_STACK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/perf_ring.h"

#define RM_VIEW_WINDOWS      8
#define RM_VIEW_WINDOW_BYTES 1024U
#define RM_VIEW_READS        192

/* Memory as it was during one unwinding. */
struct rm_view_window {
    uint64_t start; /* 0: empty */
    unsigned char bytes[RM_VIEW_WINDOW_BYTES];
};

/* Words read to unwind the stack of a sample: equal words give the same stack. */
struct rm_view_log {
    bool is_whole; /* nothing else was read, and the log is complete */
    uint32_t count;
    struct {
        uint64_t where; /* an address, or the number of a register */
        uint64_t value;
    } reads[RM_VIEW_READS];
};

/* Memory of another process outside of the sample's stack: of the files that it maps. */
struct rm_view_memory {
    bool (*word)(const void *context, uint64_t address, uint64_t *ret_word);
    const void *context;
};

/* Start of unwinding: a thread in its signal handler, or a sample of the kernel. */
struct rm_view_start {
    const void *context; /* ucontext_t; NULL: use the sample */
    const struct rm_perf_record *sample;
    struct rm_view_log *log;             /* for the sample; may be NULL */
    const struct rm_view_memory *memory; /* NULL: the sample is of this process */
};

struct rm_view {
    struct rm_view_start start;
    uint64_t stack_address; /* of the sample */
    bool is_short;          /* more of the stack was needed than the sample has */

    uint32_t latest, next;
    struct rm_view_window windows[RM_VIEW_WINDOWS];
};

/** RESMON_ENOTSUP: memory cannot be read safely here. */
resmon_status rm_view_try(void);

void rm_view_begin(struct rm_view *view, const struct rm_view_start *start);

/** Reads eight bytes, which need not be aligned. */
bool rm_view_word(struct rm_view *view, uint64_t address, uint64_t *ret_word);

/** Reads a register by its DWARF number. */
bool rm_view_register(const struct rm_view *view, uint64_t number, uint64_t *ret_value);

/** Current instruction of the thread. */
uint64_t rm_view_instruction(const struct rm_view *view);

/** Stack pointer of a sample. */
uint64_t rm_view_stack(const struct rm_perf_record *sample);

/** Stack pointer and current instruction of a thread in its signal handler; `context`: ucontext_t.
 */
uint64_t rm_view_stack_in(const void *context);
uint64_t rm_view_instruction_in(const void *context);

/** A hash of the sample's position: equal for equal stacks. */
uint64_t rm_view_place(const struct rm_perf_record *sample);

/** Whether the logged words of an earlier unwinding are the same in this sample. */
bool rm_view_repeats(const struct rm_view_log *log, const struct rm_perf_record *sample);

#endif
