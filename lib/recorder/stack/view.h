/* SPDX-License-Identifier: MIT */
/*
 * Owns what following a stack sees of a thread: its registers, and memory, which is read in a way
 * that a wrong address cannot hurt.  Of a thread in its signal handler, or of what the kernel noted
 * in a sample, be it of this process or of another.  Async-signal-safe.
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

/* Another process's memory, beyond what a sample has of its stack: that of files that it maps. */
struct rm_view_memory {
    bool (*word)(const void *context, uint64_t address, uint64_t *ret_word);
    const void *context;
};

/* Where to begin: a thread in its signal handler, or what the kernel noted of one. */
struct rm_view_start {
    const void *context; /* ucontext_t; NULL: the sample counts */
    const struct rm_perf_record *sample;
    struct rm_view_log *log;             /* of the sample; may be NULL */
    const struct rm_view_memory *memory; /* NULL: the sample is of this process */
};

struct rm_view {
    struct rm_view_start start;
    uint64_t stack_address; /* of the sample */
    bool is_short;          /* more of its stack was needed than it has */
    bool is_elsewhere;      /* a caller's registers take the place of the sample's */
    uint64_t elsewhere[RM_PERF_REGISTERS + 1]; /* by DWARF's numbers */
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

/** Takes these registers, by DWARF's numbers, from now on: stacks are followed on from a caller. */
void rm_view_move(struct rm_view *view, const uint64_t registers[RM_PERF_REGISTERS]);

/** Where the thread was. */
uint64_t rm_view_instruction(const struct rm_view *view);

/** A number for where the sample's thread was: stacks that are the same have the same. */
uint64_t rm_view_place(const struct rm_perf_record *sample);

/** Whether the words that the log has of an earlier walk are still the same in this sample. */
bool rm_view_repeats(const struct rm_view_log *log, const struct rm_perf_record *sample);

#endif
