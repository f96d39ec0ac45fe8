/* SPDX-License-Identifier: MIT */
/*
 * Owns a counter of a thread's page faults with a ring, into which the kernel puts every so often
 * where the fault was, the thread's registers and the top of its stack.  No signal comes of it, and
 * the thread hardly notices.  Opened, read and closed on one thread.
 */
#ifndef RM_SYS_PERF_RING_H
#define RM_SYS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "sys/kept.h"

/* Of a stack, from its pointer on: enough for the usual 10 to 50 frames. */
#define RM_PERF_STACK_BYTES 8192U

#if defined(__x86_64__)
#define RM_PERF_REGISTERS 17 /* ax bx cx dx si di bp sp ip r8 ... r15 */
#elif defined(__aarch64__)
#define RM_PERF_REGISTERS 33 /* x0 ... x30 sp pc */
#else
#define RM_PERF_REGISTERS 0 /* not known here: nothing can be opened */
#endif

/* As the kernel writes it. */
struct rm_perf_sample {
    int64_t t_ns;     /* CLOCK_MONOTONIC */
    uint64_t address; /* that was not there */
    const uint64_t *registers;
    const unsigned char *stack; /* from the stack pointer on */
    size_t stack_bytes;
};

struct rm_perf_ring {
    int fd;              /* -1: closed, or lost to the program; `memory` lives on then */
    struct rm_kept kept; /* that `fd` is the counter still */
    void *memory;        /* a page of the kernel's and the ring */
    size_t bytes;        /* of that */
    uint64_t period;
    bool has_kernel; /* faults in system calls, on the thread's behalf, are counted too */
};

/** The largest record: what rm_perf_ring_take() wants room for. */
#define RM_PERF_RECORD_BYTES (RM_PERF_STACK_BYTES + 64 + 8 * (size_t)(RM_PERF_REGISTERS + 1))

/** RESMON_ENOTSUP, RESMON_EACCES, ...: with the reason in words. */
resmon_status rm_perf_ring_open(struct rm_perf_ring *ring, uint32_t thread, uint64_t period);
void rm_perf_ring_close(struct rm_perf_ring *ring);

/** Samples that there were in all, also those that found the ring full; 0 when it cannot tell. */
uint64_t rm_perf_ring_count(struct rm_perf_ring *ring);

/** Takes one sample out; it lives in `room`, of RM_PERF_RECORD_BYTES.  false: there is none. */
bool rm_perf_ring_take(struct rm_perf_ring *ring, unsigned char *room,
                       struct rm_perf_sample *ret_sample);

#endif
