/* SPDX-License-Identifier: MIT */
/*
 * Owns a counter of a thread with a ring, into which the kernel puts samples of its page faults:
 * where the fault was, what page came, the thread's registers and the top of its stack; or the
 * numbers of the threads that it starts.  No signal comes of it, and the thread hardly notices.
 * Opened, read and closed on one thread.
 */
#ifndef RM_OS_PERF_RING_H
#define RM_OS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "os/perf.h"

#if defined(__x86_64__)
#define RM_PERF_REGISTERS      17 /* ax bx cx dx si di bp sp ip r8 ... r15 */
#define RM_PERF_REGISTERS_MASK UINT64_C(0xff01ff)
#elif defined(__aarch64__)
#define RM_PERF_REGISTERS      33 /* x0 ... x30 sp pc */
#define RM_PERF_REGISTERS_MASK ((UINT64_C(1) << 33) - 1)
#else
#define RM_PERF_REGISTERS      0 /* not known here: nothing can be opened */
#define RM_PERF_REGISTERS_MASK UINT64_C(0)
#endif

/* PERF_SAMPLE_DATA_PAGE_SIZE, which older headers lack. */
#define RM_PERF_SAMPLE_PAGE_SIZE (UINT64_C(1) << 22)

/* What a user may lock without privileges is half a MiB for each CPU, and RLIMIT_MEMLOCK: many
 * threads get smaller rings of minor faults.  A page of the kernel's own goes with each ring. */
#define RM_PERF_RING_MOST_BYTES  262144U
#define RM_PERF_RING_LEAST_BYTES 16384U
#define RM_PERF_RING_MAJOR_BYTES 32768U

enum rm_perf_ring_kind {
    RM_RING_MINOR,       /* page faults that found their page in memory */
    RM_RING_MAJOR,       /* those that waited for it; and new threads */
    RM_RING_NEW_THREADS, /* threads that the thread starts */
};

/* A record as the kernel wrote it; the stack stays in the ring until the record is released. */
struct rm_perf_record {
    uint32_t new_thread; /* a thread of this process; 0: it is a sample */
    int64_t t_ns;        /* CLOCK_MONOTONIC */
    uint64_t address;    /* that was not there */
    uint64_t faults;     /* of the thread, this one included, since the ring was opened */
    uint64_t page_bytes; /* of what came; 0: this kernel does not tell (before Linux 5.11) */
    uint64_t registers[RM_PERF_REGISTERS + 1];
    uint64_t stack_bytes;
    uint64_t stack_at; /* position in the ring */
    struct rm_perf_cursor cursor;
};

struct rm_perf_ring {
    int fd;      /* -1: closed, or lost to the program; `buffer` lives on then */
    uint64_t id; /* the kernel's, of the counter: that `fd` is it still */
    struct rm_perf_buffer buffer;
    uint32_t stack_bytes;
    bool has_kernel; /* faults in system calls, on the thread's behalf, are counted too */
    bool has_pages;  /* the size of what came is told */
};

struct rm_perf_ring_terms {
    enum rm_perf_ring_kind kind;
    uint32_t thread;
    uint32_t stack_bytes; /* of the stack in a sample: a multiple of 8 */
    uint64_t period;      /* faults between samples */
};

/** RESMON_ENOTSUP, RESMON_EACCES, ...: with the reason in words.  All but RM_RING_MINOR end a
 * poll(2) for each record; that one, when the ring is half full. */
RM_SHARED resmon_status rm_perf_ring_open(struct rm_perf_ring *ring,
                                          const struct rm_perf_ring_terms *terms);
RM_SHARED void rm_perf_ring_close(struct rm_perf_ring *ring);

/** From now on, samples are so many faults apart; the next one may come at once. */
void rm_perf_ring_set_period(struct rm_perf_ring *ring, uint64_t period);

/** Faults that there were in all, also those of samples that found the ring full; 0 when it cannot
 * tell. */
uint64_t rm_perf_ring_count(struct rm_perf_ring *ring);

/** Gives up a descriptor that the program has closed, and whose number is another file's by now. */
void rm_perf_ring_check(struct rm_perf_ring *ring);

/** Takes note of what waits, without asking the kernel; false: nothing. */
bool rm_perf_ring_look(struct rm_perf_ring *ring);

/** Gives the oldest record of those that waited when it was looked last.  false: there is none. */
bool rm_perf_ring_peek(struct rm_perf_ring *ring, struct rm_perf_record *ret_record);
void rm_perf_ring_release(struct rm_perf_ring *ring, const struct rm_perf_record *record);

/** Reads what a sample has of its thread: kind of registers, registers, stack.  false: it was none
 * of a program, or is cut. */
bool rm_perf_record_take_stack(struct rm_perf_cursor *cursor, struct rm_perf_record *ret_record);

/** Copies out of a sample's stack, from `offset` above the stack pointer on.  false: it does not
 * have all of these bytes. */
bool rm_perf_record_read(const struct rm_perf_record *record, uint64_t offset, void *target,
                         size_t bytes);

#endif
