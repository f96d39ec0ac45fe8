/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_SETSIG, F_SETOWN_EX, syscall */
#include "sys/perf_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/status.h"

/* A record is a header and an address: 16 bytes, which divide the ring. */
struct record {
    struct perf_event_header header;
    uint64_t address;
};

/* Of another size; they come when the handler could not for long. */
struct loss_record {
    struct perf_event_header header;
    uint64_t id, lost;
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static resmon_status explain(int error)
{
    if (error == EACCES || error == EPERM) {
        return rm_error(RESMON_EACCES,
                        "the kernel does not let this process count its page faults "
                        "(kernel.perf_event_paranoid above 2, or a filter of system calls)");
    }
    if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP) {
        return rm_error(RESMON_ENOTSUP, "this kernel does not count page faults by perf events");
    }
    return rm_error_errno(error, "cannot count page faults");
}

/* Only faults of the program's own instructions: in system calls the signal would come when the
 * kernel is not done with them, as in exec; and an ordinary user may not count those. */
static int open_event(uint32_t thread, uint64_t period)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_PAGE_FAULTS,
        .sample_period = period,
        .sample_type = PERF_SAMPLE_ADDR,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .wakeup_events = 1,
    };
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_perf_event_open, &attributes, (pid_t)thread, -1, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

static int send_signals(int fd, uint32_t thread, int signal)
{
    const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)thread};
    if (fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, signal) != 0) {
        return -1;
    }
    return fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

resmon_status rm_perf_ring_open(struct rm_perf_ring *ring, uint32_t thread, uint64_t period,
                                int signal)
{
    int fd = open_event(thread, period);
    if (fd < 0) {
        return explain(errno);
    }
    void *memory = mmap(NULL, 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    if (memory == MAP_FAILED) {
        (void)close(fd);
        return error == EPERM
                   ? rm_error(RESMON_EACCES, "no more memory may be locked for rings of page "
                                             "faults (ulimit -l, kernel.perf_event_mlock_kb)")
                   : rm_error_errno(error, "cannot map a ring of page faults");
    }
    *ring = (struct rm_perf_ring){.fd = fd, .memory = memory};
    if (send_signals(fd, thread, signal) != 0) {
        error = errno;
        rm_perf_ring_close(ring);
        return rm_error_errno(error, "cannot have signals sent at page faults");
    }
    return RESMON_OK;
}

void rm_perf_ring_stop(struct rm_perf_ring *ring)
{
    if (ring->fd >= 0) {
        (void)ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0);
        (void)close(ring->fd);
        ring->fd = -1;
    }
}

void rm_perf_ring_close(struct rm_perf_ring *ring)
{
    rm_perf_ring_stop(ring);
    if (ring->memory != NULL) {
        (void)munmap(ring->memory, 2 * page_bytes());
        ring->memory = NULL;
    }
}

uint64_t rm_perf_ring_take(struct rm_perf_ring *ring, uint64_t *ret_address)
{
    struct perf_event_mmap_page *page = ring->memory;
    const uint64_t size = page->data_size;
    const unsigned char *data = (const unsigned char *)ring->memory + page->data_offset;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    uint64_t count = 0;
    while (head - tail >= sizeof(struct perf_event_header)) {
        union {
            unsigned char bytes[sizeof(struct loss_record)];
            struct perf_event_header header;
            struct record sample;
            struct loss_record loss;
        } record;
        for (size_t i = 0; i < sizeof record; i++) {
            record.bytes[i] = data[(tail + i) % size];
        }
        if (record.header.size < sizeof record.header) {
            break;
        }
        if (record.header.type == PERF_RECORD_SAMPLE) {
            *ret_address = record.sample.address;
            count++;
        } else if (record.header.type == PERF_RECORD_LOST) {
            count += record.loss.lost;
        }
        tail += record.header.size;
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return count;
}
