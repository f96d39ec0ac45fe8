/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "sys/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
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

/* What a user may lock without privileges is half a MiB for each CPU, and RLIMIT_MEMLOCK: many
 * threads get smaller rings. */
#define MOST_RING_PAGES  64U
#define LEAST_RING_PAGES 4U

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

static int open_event(uint32_t thread, uint64_t period, bool has_kernel)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = period,
        .sample_type =
            PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .exclude_kernel = has_kernel ? 0 : 1,
        .exclude_hv = 1,
        .watermark = 1,
        .wakeup_watermark = UINT32_MAX, /* of the whole ring */
        .sample_regs_user = REGISTERS_MASK,
        .sample_stack_user = RM_PERF_STACK_BYTES,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, &attributes, (pid_t)thread, -1, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static resmon_status map_ring(struct rm_perf_ring *ring)
{
    for (size_t pages = MOST_RING_PAGES; pages >= LEAST_RING_PAGES; pages /= 2) {
        ring->bytes = (pages + 1) * page_bytes();
        ring->memory = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (ring->memory != MAP_FAILED) {
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

resmon_status rm_perf_ring_open(struct rm_perf_ring *ring, uint32_t thread, uint64_t period)
{
    struct rm_perf_ring fresh = {.fd = -1, .period = period, .has_kernel = true};
    if (RM_PERF_REGISTERS == 0) {
        return rm_error(RESMON_ENOTSUP, "page faults are not sampled on this architecture");
    }
    fresh.fd = open_event(thread, period, true);
    if (fresh.fd < 0 && (errno == EACCES || errno == EPERM)) {
        fresh.has_kernel = false;
        fresh.fd = open_event(thread, period, false);
    }
    if (fresh.fd < 0) {
        return explain(errno);
    }
    rm_kept_take(&fresh.kept, fresh.fd);
    rm_kept_tag(&fresh.kept);
    fresh.kept.is_quick = fresh.kept.is_tagged; /* all counters have the same inode */
    resmon_status status = map_ring(&fresh);
    if (status != RESMON_OK) {
        rm_perf_ring_close(&fresh);
        return status;
    }
    *ring = fresh;
    return RESMON_OK;
}

void rm_perf_ring_close(struct rm_perf_ring *ring)
{
    if (ring->memory != NULL) {
        (void)munmap(ring->memory, ring->bytes);
        ring->memory = NULL;
    }
    rm_kept_close(&ring->kept);
    ring->fd = -1;
}

/* Where threads have no descriptors of their own, a program that closes all may have given the
 * number to a file of its own, which must be neither read nor waited for. */
uint64_t rm_perf_ring_count(struct rm_perf_ring *ring)
{
    uint64_t faults;
    if (!rm_kept_is_ours(&ring->kept)) {
        ring->fd = -1;
    }
    return ring->fd >= 0 && read(ring->fd, &faults, sizeof faults) == (ssize_t)sizeof faults
               ? faults / ring->period
               : 0;
}

/* ---- records ---------------------------------------------------------------------------- */

struct cursor {
    const unsigned char *at, *end;
};

static bool take_bytes(struct cursor *cursor, size_t bytes, const unsigned char **ret_bytes)
{
    if ((size_t)(cursor->end - cursor->at) < bytes) {
        return false;
    }
    *ret_bytes = cursor->at;
    cursor->at += bytes;
    return true;
}

static bool take_word(struct cursor *cursor, uint64_t *ret_word)
{
    const unsigned char *bytes;
    if (!take_bytes(cursor, sizeof *ret_word, &bytes)) {
        return false;
    }
    memcpy(ret_word, bytes, sizeof *ret_word);
    return true;
}

/* time, address, kind of registers, registers, room for the stack, stack, its true length */
static bool read_sample(struct cursor cursor, struct rm_perf_sample *ret_sample)
{
    uint64_t time;
    uint64_t kind;
    uint64_t room;
    uint64_t length = 0;
    const unsigned char *registers;
    if (!take_word(&cursor, &time) || !take_word(&cursor, &ret_sample->address) ||
        !take_word(&cursor, &kind) || kind == PERF_SAMPLE_REGS_ABI_NONE ||
        !take_bytes(&cursor, 8 * (size_t)RM_PERF_REGISTERS, &registers) ||
        !take_word(&cursor, &room) || !take_bytes(&cursor, room, &ret_sample->stack) ||
        (room > 0 && !take_word(&cursor, &length))) {
        return false;
    }
    ret_sample->t_ns = (int64_t)time;
    ret_sample->registers = (const uint64_t *)(const void *)registers; /* 8 bytes from 8 bytes */
    ret_sample->stack_bytes = length < room ? length : room;
    return true;
}

static void copy_out(const struct rm_perf_ring *ring, uint64_t position, void *target, size_t bytes)
{
    const struct perf_event_mmap_page *page = ring->memory;
    const unsigned char *data = (const unsigned char *)ring->memory + page->data_offset;
    size_t at = (size_t)(position % page->data_size);
    size_t first = page->data_size - at < bytes ? (size_t)(page->data_size - at) : bytes;
    memcpy(target, data + at, first);
    memcpy((unsigned char *)target + first, data, bytes - first);
}

bool rm_perf_ring_take(struct rm_perf_ring *ring, unsigned char *room,
                       struct rm_perf_sample *ret_sample)
{
    struct perf_event_mmap_page *page = ring->memory;
    if (page == NULL) {
        return false;
    }
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    bool has_sample = false;
    while (!has_sample && head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        copy_out(ring, tail, &header, sizeof header);
        if (header.size < sizeof header || header.size > head - tail) {
            tail = head; /* cannot be */
            break;
        }
        size_t bytes = header.size < RM_PERF_RECORD_BYTES ? header.size : RM_PERF_RECORD_BYTES;
        copy_out(ring, tail, room, bytes);
        tail += header.size;
        const struct cursor cursor = {room + sizeof header, room + bytes};
        if (header.type == PERF_RECORD_SAMPLE) {
            has_sample = read_sample(cursor, ret_sample);
        }
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    return has_sample;
}
