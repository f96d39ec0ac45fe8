/* SPDX-License-Identifier: MIT */
/*
 * Owns what following a stack sees of a thread: its registers, and memory, which is read in a way
 * that a wrong address cannot hurt.  Of a thread in its signal handler, or of what the kernel noted
 * at a page fault.  Async-signal-safe.
 */
#ifndef RM_STACK_VIEW_H
#define RM_STACK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "sys/perf_ring.h"

#define RM_VIEW_WINDOWS      8
#define RM_VIEW_WINDOW_BYTES 1024U
#define RM_VIEW_READS        192

/* Memory as it was seen while one stack was followed. */
struct rm_view_window {
    uint64_t start; /* 0: empty */
    unsigned char bytes[RM_VIEW_WINDOW_BYTES];
};

/* What was read to follow a stack of a sample of the kernel: the same words lead the same way. */
struct rm_view_log {
    bool is_whole; /* nothing else was read, and all of it is here */
    uint32_t count;
    struct {
        uint64_t where; /* an address, or the number of a register */
        uint64_t value;
    } reads[RM_VIEW_READS];
};

/* Where to begin: a thread in its signal handler, or what the kernel noted of one. */
struct rm_view_start {
    const void *context; /* ucontext_t; NULL: the sample counts */
    const struct rm_perf_record *sample;
    struct rm_view_log *log; /* of the sample; may be NULL */
};

struct rm_view {
    struct rm_view_start start;
    uint64_t stack_address; /* of the sample */
    bool is_short;          /* more of its stack was needed than it has */
    uint32_t latest, next;
    struct rm_view_window windows[RM_VIEW_WINDOWS];
};

/** RESMON_ENOTSUP: memory cannot be read in that way here. */
resmon_status rm_view_try(void);

void rm_view_begin(struct rm_view *view, const struct rm_view_start *start);

/** Eight bytes of memory, which need not be aligned. */
bool rm_view_word(struct rm_view *view, uint64_t address, uint64_t *ret_word);

/** A register by DWARF's number. */
bool rm_view_register(const struct rm_view *view, uint64_t number, uint64_t *ret_value);

/** Where the thread was. */
uint64_t rm_view_instruction(const struct rm_view *view);

/** A number for where the sample's thread was: stacks that are the same have the same. */
uint64_t rm_view_place(const struct rm_perf_record *sample);

/** Whether what was read then is what is there now. */
bool rm_view_repeats(const struct rm_view_log *log, const struct rm_perf_record *sample);

#endif
