/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_SETSIG */
#include "os/perf_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/libc.h"
#include "base/status.h"
#include "os/perf.h"

static resmon_status explain(int error)
{
    if (error == EACCES || error == EPERM) {
        return rm_error(RESMON_EACCES,
                        "the kernel does not let this process sample its page faults "
                        "(kernel.perf_event_paranoid above 2, or a filter of system calls)");
    }
    if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP || error == EINVAL) {
        return rm_error(RESMON_ENOTSUP,
                        "this kernel does not sample page faults with registers and stacks");
    }
    return rm_error_errno(error, "cannot sample page faults");
}

/* The kernel counts a fault after it is handled, when the page is present. */
static const struct {
    uint64_t event;
    uint32_t watermark; /* bytes in the ring that end a poll; 0: half of the ring */
    uint32_t bytes;     /* maximum size of the ring */
    bool has_faults, has_new_threads;
} kinds[] = {
    [RM_RING_MINOR] = {PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, RM_PERF_RING_MOST_BYTES, true, false},
    [RM_RING_MAJOR] = {PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, RM_PERF_RING_MAJOR_BYTES, true, true},
    [RM_RING_NEW_THREADS] = {PERF_COUNT_SW_DUMMY, 1, 4096, false, true},
};

static int open_event(const struct rm_perf_ring *ring, const struct rm_perf_ring_terms *terms)
{
    uint32_t watermark = terms->signal > 0 ? 1 : kinds[terms->kind].watermark;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .config = kinds[terms->kind].event,
        .exclude_kernel = ring->has_kernel ? 0 : 1,
        .exclude_hv = 1,
        .watermark = watermark > 0 ? 1 : 0,
        .wakeup_watermark = watermark,
        .task = kinds[terms->kind].has_new_threads ? 1 : 0,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    if (kinds[terms->kind].has_faults) {
        attributes.sample_period = terms->period;
        attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
                                 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                                 (ring->has_pages ? RM_PERF_SAMPLE_PAGE_SIZE : 0);
        attributes.sample_regs_user = RM_PERF_REGISTERS_MASK;
        attributes.sample_stack_user = terms->stack_bytes;
    }
    return rm_perf_open_event(&attributes, terms->thread, -1, -1);
}

/* Tries settings from the best on, until the kernel accepts one. */
static bool open_best(struct rm_perf_ring *ring, const struct rm_perf_ring_terms *terms)
{
    static const struct {
        bool has_kernel, has_pages;
    } forms[] = {{true, true}, {true, false}, {false, true}, {false, false}};
    for (size_t i = 0; i < RM_ARRAY_LEN(forms) && ring->fd < 0; i++) {
        ring->has_kernel = forms[i].has_kernel;
        ring->has_pages = forms[i].has_pages;
        ring->fd = open_event(ring, terms);
    }
    return ring->fd >= 0;
}

static resmon_status map_ring(struct rm_perf_ring *ring, size_t most_bytes)
{
    if (rm_perf_buffer_map(&ring->buffer, ring->fd, most_bytes, RM_PERF_RING_LEAST_BYTES)) {
        return RESMON_OK;
    }
    return errno == EPERM
               ? rm_error(RESMON_EACCES, "no more memory may be locked for rings of page faults "
                                         "(ulimit -l, kernel.perf_event_mlock_kb)")
               : rm_error_errno(errno, "cannot map a ring of page faults");
}

/* Of the standard signals, one is pending at most; with real-time signals the kernel sends SIGIO
 * when too many are, which ends the program. */
static bool ask_for_signal(const struct rm_perf_ring *ring, const struct rm_perf_ring_terms *terms)
{
    const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)terms->thread};
    int flags = fcntl(ring->fd, F_GETFL);
    return terms->signal > 0 && terms->signal < SIGRTMIN && flags >= 0 &&
           fcntl(ring->fd, F_SETSIG, terms->signal) == 0 &&
           fcntl(ring->fd, F_SETOWN_EX, &owner) == 0 &&
           fcntl(ring->fd, F_SETFL, flags | O_ASYNC) == 0;
}

resmon_status rm_perf_ring_open(struct rm_perf_ring *ring, const struct rm_perf_ring_terms *terms)
{
    struct rm_perf_ring fresh = {.fd = -1, .stack_bytes = terms->stack_bytes};
    if (RM_PERF_REGISTERS == 0 && kinds[terms->kind].has_faults) {
        return rm_error(RESMON_ENOTSUP, "page faults are not sampled on this architecture");
    }
    if (!open_best(&fresh, terms)) {
        return explain(errno);
    }
    fresh.id = rm_perf_id(fresh.fd);
    resmon_status status = map_ring(&fresh, kinds[terms->kind].bytes);
    if (status != RESMON_OK) {
        rm_perf_ring_close(&fresh);
        return status;
    }
    fresh.signal = ask_for_signal(&fresh, terms) ? terms->signal : 0;
    *ring = fresh;
    return RESMON_OK;
}

/* A counter that sends signals has their number in the place of our tag. */
static bool sends_signals(const struct rm_perf_ring *ring)
{
    uint64_t id = 0;
    return fcntl(ring->fd, F_GETSIG) == ring->signal &&
           rm_ioctl(ring->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == ring->id;
}

/* Without a private descriptor table, a program may close all descriptors.  The number may then be
 * a file of the program or another counter of ours; neither may be read or polled. */
static bool look_at_descriptor(struct rm_perf_ring *ring)
{
    bool is_ours = ring->signal != 0 ? sends_signals(ring) : rm_perf_is_event(ring->fd, ring->id);
    if (ring->fd >= 0 && !is_ours) {
        ring->fd = -1;
    }
    return ring->fd >= 0;
}

void rm_perf_ring_close(struct rm_perf_ring *ring)
{
    rm_perf_buffer_unmap(&ring->buffer);
    if (look_at_descriptor(ring)) {
        (void)close(ring->fd);
        ring->fd = -1;
    }
}

void rm_perf_ring_check(struct rm_perf_ring *ring)
{
    (void)look_at_descriptor(ring);
}

void rm_perf_ring_set_period(struct rm_perf_ring *ring, uint64_t period)
{
    if (look_at_descriptor(ring)) {
        (void)ioctl(ring->fd, PERF_EVENT_IOC_PERIOD, &period);
    }
}

uint64_t rm_perf_ring_count(struct rm_perf_ring *ring)
{
    uint64_t faults;
    return look_at_descriptor(ring) &&
                   read(ring->fd, &faults, sizeof faults) == (ssize_t)sizeof faults
               ? faults
               : 0;
}

/* ---- records ---------------------------------------------------------------------------- */

/* capacity of the stack, the stack, its actual size */
static bool take_stack(struct rm_perf_cursor *cursor, struct rm_perf_record *ret_record)
{
    uint64_t room;
    uint64_t length = 0;
    if (!rm_perf_cursor_word(cursor, &room)) {
        return false;
    }
    ret_record->stack_at = cursor->at;
    if (!rm_perf_cursor_skip(cursor, room) || (room > 0 && !rm_perf_cursor_word(cursor, &length))) {
        return false;
    }
    ret_record->stack_bytes = length < room ? length : room;
    return true;
}

bool rm_perf_record_take_stack(struct rm_perf_cursor *cursor, struct rm_perf_record *ret_record)
{
    uint64_t kind;
    return rm_perf_cursor_word(cursor, &kind) && kind != PERF_SAMPLE_REGS_ABI_NONE &&
           rm_perf_cursor_take(cursor, ret_record->registers,
                               sizeof(uint64_t) * RM_PERF_REGISTERS) &&
           take_stack(cursor, ret_record);
}

/* time, address, count, kind of registers, registers, stack, size of the page */
static bool read_sample(struct rm_perf_cursor cursor, bool has_pages,
                        struct rm_perf_record *ret_record)
{
    uint64_t time;
    ret_record->new_thread = 0;
    ret_record->page_bytes = 0;
    if (!rm_perf_cursor_word(&cursor, &time) ||
        !rm_perf_cursor_word(&cursor, &ret_record->address) ||
        !rm_perf_cursor_word(&cursor, &ret_record->faults) ||
        !rm_perf_record_take_stack(&cursor, ret_record)) {
        return false;
    }
    ret_record->t_ns = rm_perf_time_ns(time);
    return !has_pages || rm_perf_cursor_word(&cursor, &ret_record->page_bytes);
}

/* The kernel also writes this record for a forked process; it is skipped. */
static bool read_new_thread(struct rm_perf_cursor cursor, struct rm_perf_record *ret_record)
{
    struct {
        uint32_t process, parent_process, thread, parent_thread;
    } fork_record;
    if (!rm_perf_cursor_take(&cursor, &fork_record, sizeof fork_record) ||
        fork_record.process != (uint32_t)getpid()) {
        return false;
    }
    ret_record->new_thread = fork_record.thread;
    return true;
}

static bool read_record(const struct rm_perf_ring *ring, struct rm_perf_cursor cursor,
                        struct rm_perf_record *ret_record)
{
    ret_record->cursor = cursor;
    return cursor.type == PERF_RECORD_SAMPLE ? read_sample(cursor, ring->has_pages, ret_record)
           : cursor.type == PERF_RECORD_FORK ? read_new_thread(cursor, ret_record)
                                             : false;
}

bool rm_perf_ring_look(struct rm_perf_ring *ring)
{
    return rm_perf_buffer_look(&ring->buffer);
}

bool rm_perf_ring_peek(struct rm_perf_ring *ring, struct rm_perf_record *ret_record)
{
    struct rm_perf_cursor cursor;
    uint64_t before = ring->buffer.tail;
    while (rm_perf_buffer_peek(&ring->buffer, &cursor)) {
        if (read_record(ring, cursor, ret_record)) {
            return true;
        }
        rm_perf_buffer_pass(&ring->buffer, &cursor);
    }
    if (ring->buffer.tail != before) {
        rm_perf_buffer_release(&ring->buffer);
    }
    return false;
}

void rm_perf_ring_release(struct rm_perf_ring *ring, const struct rm_perf_record *record)
{
    rm_perf_buffer_pass(&ring->buffer, &record->cursor);
    rm_perf_buffer_release(&ring->buffer);
}

bool rm_perf_record_read(const struct rm_perf_record *record, uint64_t offset, void *target,
                         size_t bytes)
{
    if (offset > record->stack_bytes || record->stack_bytes - offset < bytes) {
        return false;
    }
    rm_perf_buffer_copy(record->cursor.buffer, record->stack_at + offset, target, bytes);
    return true;
}
