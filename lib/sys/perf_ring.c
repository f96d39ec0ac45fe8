/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "sys/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/status.h"

#if defined(__x86_64__)
#define REGISTERS_MASK UINT64_C(0xff01ff)
#elif defined(__aarch64__)
#define REGISTERS_MASK ((UINT64_C(1) << 33) - 1)
#else
#define REGISTERS_MASK UINT64_C(0)
#endif

/* PERF_SAMPLE_DATA_PAGE_SIZE, which older headers lack. */
#define SAMPLE_PAGE_SIZE (UINT64_C(1) << 22)

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

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

/* Faults are counted when they are over, and their page is there. */
static const struct {
    uint64_t event;
    uint32_t watermark; /* bytes that end a poll; 0: half of the ring */
    uint32_t bytes;     /* of the ring at most */
    bool has_faults, has_births;
} kinds[] = {
    [RM_RING_MINOR] = {PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, RM_PERF_RING_MOST_BYTES, true, false},
    [RM_RING_MAJOR] = {PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, RM_PERF_RING_MAJOR_BYTES, true, true},
    [RM_RING_BIRTHS] = {PERF_COUNT_SW_DUMMY, 1, 4096, false, true},
};

static int open_event(const struct rm_perf_ring *ring, const struct rm_perf_ring_terms *terms)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = kinds[terms->kind].event,
        .exclude_kernel = ring->has_kernel ? 0 : 1,
        .exclude_hv = 1,
        .watermark = kinds[terms->kind].watermark > 0 ? 1 : 0,
        .wakeup_watermark = kinds[terms->kind].watermark,
        .task = kinds[terms->kind].has_births ? 1 : 0,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    if (kinds[terms->kind].has_faults) {
        attributes.sample_period = terms->period;
        attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
                                 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                                 (ring->has_pages ? SAMPLE_PAGE_SIZE : 0);
        attributes.sample_regs_user = REGISTERS_MASK;
        attributes.sample_stack_user = terms->stack_bytes;
    }
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, &attributes, (pid_t)terms->thread, -1, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

/* What the kernel grants, from the best on. */
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

static size_t pages_of(size_t bytes)
{
    return bytes > page_bytes() ? bytes / page_bytes() : 1;
}

static resmon_status map_ring(struct rm_perf_ring *ring, size_t most_bytes)
{
    size_t most = pages_of(most_bytes);
    size_t least = pages_of(RM_PERF_RING_LEAST_BYTES);
    for (size_t pages = most; pages >= (least < most ? least : most); pages /= 2) {
        ring->bytes = (pages + 1) * page_bytes();
        ring->memory = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (ring->memory != MAP_FAILED) {
            ring->data = (const unsigned char *)ring->memory + page_bytes();
            ring->mask = pages * page_bytes() - 1;
            return RESMON_OK;
        }
        ring->memory = NULL;
        if (errno != EPERM) {
            return rm_error_errno(errno, "cannot map a ring of page faults");
        }
    }
    return rm_error(RESMON_EACCES, "no more memory may be locked for rings of page faults "
                                   "(ulimit -l, kernel.perf_event_mlock_kb)");
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
    (void)ioctl(fresh.fd, PERF_EVENT_IOC_ID, &fresh.id);
    resmon_status status = map_ring(&fresh, kinds[terms->kind].bytes);
    if (status != RESMON_OK) {
        rm_perf_ring_close(&fresh);
        return status;
    }
    *ring = fresh;
    return RESMON_OK;
}

/* Where threads have no descriptors of their own, a program that closes all may have given the
 * number to a file of its own, or we to another counter, which must be neither read nor waited for.
 * Other failures (a filter of system calls) say nothing about it. */
static bool look_at_descriptor(struct rm_perf_ring *ring)
{
    uint64_t id = ring->id;
    if (ring->fd < 0) {
        return false;
    }
    int result = ioctl(ring->fd, PERF_EVENT_IOC_ID, &id);
    if (id != ring->id || (result != 0 && (errno == EBADF || errno == ENOTTY))) {
        ring->fd = -1;
    }
    return ring->fd >= 0;
}

void rm_perf_ring_close(struct rm_perf_ring *ring)
{
    if (ring->memory != NULL) {
        (void)munmap(ring->memory, ring->bytes);
        ring->memory = NULL;
    }
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

static void copy_out(const struct rm_perf_ring *ring, uint64_t position, void *target, size_t bytes)
{
    uint64_t at = position & ring->mask;
    size_t to_end = (size_t)(ring->mask + 1 - at);
    size_t first = to_end < bytes ? to_end : bytes;
    memcpy(target, ring->data + at, first);
    memcpy((unsigned char *)target + first, ring->data, bytes - first);
}

/* A record that is being read: positions in the ring. */
struct cursor {
    const struct rm_perf_ring *ring;
    uint64_t at, end;
};

static bool skip(struct cursor *cursor, uint64_t bytes)
{
    if (cursor->end - cursor->at < bytes) {
        return false;
    }
    cursor->at += bytes;
    return true;
}

static bool take(struct cursor *cursor, void *target, size_t bytes)
{
    uint64_t at = cursor->at;
    if (!skip(cursor, bytes)) {
        return false;
    }
    copy_out(cursor->ring, at, target, bytes);
    return true;
}

static bool take_word(struct cursor *cursor, uint64_t *ret_word)
{
    return take(cursor, ret_word, sizeof *ret_word);
}

/* room for the stack, the stack, how much of it there is */
static bool take_stack(struct cursor *cursor, struct rm_perf_record *ret_record)
{
    uint64_t room;
    uint64_t length = 0;
    if (!take_word(cursor, &room)) {
        return false;
    }
    ret_record->stack_at = cursor->at;
    if (!skip(cursor, room) || (room > 0 && !take_word(cursor, &length))) {
        return false;
    }
    ret_record->stack_bytes = length < room ? length : room;
    return true;
}

/* time, address, count, kind of registers, registers, stack, size of the page */
static bool read_sample(struct cursor cursor, struct rm_perf_record *ret_record)
{
    uint64_t time;
    uint64_t kind;
    ret_record->born = 0;
    ret_record->page_bytes = 0;
    if (!take_word(&cursor, &time) || !take_word(&cursor, &ret_record->address) ||
        !take_word(&cursor, &ret_record->faults) || !take_word(&cursor, &kind) ||
        kind == PERF_SAMPLE_REGS_ABI_NONE ||
        !take(&cursor, ret_record->registers, sizeof(uint64_t) * RM_PERF_REGISTERS) ||
        !take_stack(&cursor, ret_record)) {
        return false;
    }
    ret_record->t_ns = (int64_t)time;
    return !cursor.ring->has_pages || take_word(&cursor, &ret_record->page_bytes);
}

/* Of a process that is forked, the kernel tells as well. */
static bool read_birth(struct cursor cursor, struct rm_perf_record *ret_record)
{
    struct {
        uint32_t process, parent_process, thread, parent_thread;
    } birth;
    if (!take(&cursor, &birth, sizeof birth) || birth.process != (uint32_t)getpid()) {
        return false;
    }
    ret_record->born = birth.thread;
    return true;
}

static bool read_record(struct cursor cursor, uint32_t type, struct rm_perf_record *ret_record)
{
    ret_record->ring = cursor.ring;
    ret_record->end = cursor.end;
    return type == PERF_RECORD_SAMPLE ? read_sample(cursor, ret_record)
           : type == PERF_RECORD_FORK ? read_birth(cursor, ret_record)
                                      : false;
}

static void publish_tail(struct rm_perf_ring *ring)
{
    struct perf_event_mmap_page *page = ring->memory;
    __atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

bool rm_perf_ring_look(struct rm_perf_ring *ring)
{
    const struct perf_event_mmap_page *page = ring->memory;
    if (page == NULL) {
        return false;
    }
    ring->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    return ring->head != ring->tail;
}

bool rm_perf_ring_peek(struct rm_perf_ring *ring, struct rm_perf_record *ret_record)
{
    uint64_t before = ring->tail;
    while (ring->head - ring->tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        copy_out(ring, ring->tail, &header, sizeof header);
        if (header.size < sizeof header || header.size > ring->head - ring->tail) {
            ring->tail = ring->head; /* cannot be */
            break;
        }
        const struct cursor cursor = {ring, ring->tail + sizeof header, ring->tail + header.size};
        if (read_record(cursor, header.type, ret_record)) {
            return true;
        }
        ring->tail += header.size;
    }
    if (ring->tail != before) {
        publish_tail(ring);
    }
    return false;
}

void rm_perf_ring_release(struct rm_perf_ring *ring, const struct rm_perf_record *record)
{
    ring->tail = record->end;
    publish_tail(ring);
}

bool rm_perf_record_read(const struct rm_perf_record *record, uint64_t offset, void *target,
                         size_t bytes)
{
    if (offset > record->stack_bytes || record->stack_bytes - offset < bytes) {
        return false;
    }
    copy_out(record->ring, record->stack_at + offset, target, bytes);
    return true;
}
