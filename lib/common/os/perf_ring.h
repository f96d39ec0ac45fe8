/* SPDX-License-Identifier: MIT */
/*
 * Owns a counter of a thread with a ring.  The kernel writes samples of the thread's page faults to
 * the ring: address, page size, registers and the top of the stack; or the ids of threads that it
 * starts.  Unless a signal is wanted, none is sent, and the cost for the thread is small.  Opened,
 * read and closed on one thread.
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
#define RM_PERF_REGISTERS      0 /* unknown architecture: no ring can be opened */
#define RM_PERF_REGISTERS_MASK UINT64_C(0)
#endif

/* PERF_SAMPLE_DATA_PAGE_SIZE, which older headers lack. */
#define RM_PERF_SAMPLE_PAGE_SIZE (UINT64_C(1) << 22)

/* An unprivileged user may lock half a MiB for each CPU, plus RLIMIT_MEMLOCK.  So with many
 * threads, the rings of minor faults become smaller.  Each ring needs one more page for the kernel.
 */
#define RM_PERF_RING_MOST_BYTES  262144U
#define RM_PERF_RING_LEAST_BYTES 16384U
#define RM_PERF_RING_MAJOR_BYTES 32768U

enum rm_perf_ring_kind {
    RM_RING_MINOR,       /* minor page faults: the page was in memory */
    RM_RING_MAJOR,       /* major page faults: the thread waited for the page; and new threads */
    RM_RING_NEW_THREADS, /* threads that the thread starts */
};

/* A record as the kernel wrote it; the stack stays in the ring until the record is released. */
struct rm_perf_record {
    uint32_t new_thread; /* a thread of this process; 0: the record is a sample */
    int64_t t_ns;        /* CLOCK_MONOTONIC */
    uint64_t address;    /* of the fault */
    uint64_t faults; /* page faults of the thread since the ring was opened, this one included */
    uint64_t page_bytes; /* size of the new page; 0: not known (before Linux 5.11) */
    uint64_t registers[RM_PERF_REGISTERS + 1];
    uint64_t stack_bytes;
    uint64_t stack_at; /* position in the ring */
    struct rm_perf_cursor cursor;
};

struct rm_perf_ring {
    int fd;      /* -1: closed, also by the program; `buffer` stays mapped then */
    uint64_t id; /* the kernel's id of the counter: verifies `fd` */
    struct rm_perf_buffer buffer;
    uint32_t stack_bytes;
    bool has_kernel; /* also counts faults in system calls of the thread */
    bool has_pages;  /* samples have the size of the new page */
    int signal;      /* that the thread gets at each sample, before it goes on; 0: none */
};

struct rm_perf_ring_terms {
    enum rm_perf_ring_kind kind;
    uint32_t thread;
    uint32_t stack_bytes; /* maximum bytes of the stack in a sample: a multiple of 8 */
    uint64_t period;      /* faults between samples */
    int signal;           /* sent to the thread at each sample (si_code POLL_IN); 0: none */
};

/** RESMON_ENOTSUP, RESMON_EACCES, ...: the error text has the reason.  A record ends a poll(2);
 * with RM_RING_MINOR, a half full ring does, unless a signal is sent. */
RM_SHARED resmon_status rm_perf_ring_open(struct rm_perf_ring *ring,
                                          const struct rm_perf_ring_terms *terms);
RM_SHARED void rm_perf_ring_close(struct rm_perf_ring *ring);

/** Sets the number of faults between samples; the next sample may come at once. */
void rm_perf_ring_set_period(struct rm_perf_ring *ring, uint64_t period);

/** All faults, including those whose samples found the ring full; 0: not readable. */
uint64_t rm_perf_ring_count(struct rm_perf_ring *ring);

/** Forgets the descriptor if the program has closed it: the number may be another file's by now. */
void rm_perf_ring_check(struct rm_perf_ring *ring);

/** Updates the ring to the waiting records, without a system call; false: no record waits. */
bool rm_perf_ring_look(struct rm_perf_ring *ring);

/** Reads the oldest record that was waiting at the last look.  False: no record. */
bool rm_perf_ring_peek(struct rm_perf_ring *ring, struct rm_perf_record *ret_record);
void rm_perf_ring_release(struct rm_perf_ring *ring, const struct rm_perf_record *record);

/** Reads the kind of registers, the registers and the stack of a sample.  False: the sample has no
 * user registers, or is cut. */
bool rm_perf_record_take_stack(struct rm_perf_cursor *cursor, struct rm_perf_record *ret_record);

/** Copies bytes of a sample's stack, from `offset` above the stack pointer.  False: the sample does
 * not have all of these bytes. */
bool rm_perf_record_read(const struct rm_perf_record *record, uint64_t offset, void *target,
                         size_t bytes);

#endif
