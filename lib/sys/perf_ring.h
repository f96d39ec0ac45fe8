/* SPDX-License-Identifier: MIT */
/*
 * Owns a counter of a thread's page faults that sends a signal to that thread every so often, with
 * the ring in which the kernel notes the addresses.  Opened and closed on one thread; the ring is
 * read in the handler of the signal, on the thread that it counts.
 */
#ifndef RM_SYS_PERF_RING_H
#define RM_SYS_PERF_RING_H

#include <stdint.h>

#include <resmon/status.h>

struct rm_perf_ring {
    int fd; /* -1: closed; also what the signal's si_fd says */
    void *memory;
};

/** RESMON_ENOTSUP, RESMON_EACCES, ...: with the reason in words. */
resmon_status rm_perf_ring_open(struct rm_perf_ring *ring, uint32_t thread, uint64_t period,
                                int signal);

/** No signal comes after it, though one may be on its way. */
void rm_perf_ring_stop(struct rm_perf_ring *ring);
void rm_perf_ring_close(struct rm_perf_ring *ring);

/** Takes what came: how many samples, with those that found the ring full, and the address of the
 * last.  Async-signal-safe. */
uint64_t rm_perf_ring_take(struct rm_perf_ring *ring, uint64_t *ret_address);

#endif
