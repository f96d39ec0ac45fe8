/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_SHARED, sysconf */

#include "os/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/libc.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/file.h"
#include "os/kept.h"
#include "os/own_io.h"

/* ---- opening and reading counters ------------------------------------------------------- */

#ifdef RM_FAULT_INJECTION
int (*rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid);
#else
static int (*const rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid) = NULL;
#endif

static int ask_kernel(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader)
{
    attributes->size = sizeof *attributes;
    if (rm_perf_made_open != NULL) {
        return rm_perf_made_open(attributes, tid);
    }
    return (int)syscall(SYS_perf_event_open, attributes, (pid_t)tid, cpu, leader,
                        PERF_FLAG_FD_CLOEXEC);
}

int rm_perf_open_event(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader)
{
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    int fd = ask_kernel(attributes, tid, cpu, leader);
    if (fd >= 0) {
        fd = rm_kept_raise(fd);
        rm_kept_tag(fd);
    }
    return fd;
}

int rm_perf_open(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attributes = {.type = type, .config = config};
    return rm_perf_open_event(&attributes, -1, cpu, -1);
}

int rm_perf_open_least(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    return rm_perf_open_event(&attributes, 0, -1, -1);
}

int rm_perf_open_none(uint32_t type, uint64_t config, int cpu)
{
    (void)type, (void)config, (void)cpu;
    errno = ENOENT;
    return -1;
}

static rlim_t most_files(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
}

int rm_perf_open_task(const struct rm_perf_request *request)
{
    struct perf_event_attr attributes = {
        .type = request->type,
        .config = request->config,
        .config1 = request->config1,
        .config2 = request->config2,
        .disabled = request->waits ? 1 : 0,
        .inherit = request->inherits ? 1 : 0,
        .exclude_user = request->skips_user ? 1 : 0,
        .exclude_kernel = request->skips_kernel ? 1 : 0,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                       (request->reads_as_group ? PERF_FORMAT_GROUP : 0),
    };
    int fd = rm_perf_open_event(&attributes, request->tid, -1, request->leader);
    if (fd >= 0 && (rlim_t)fd >= most_files()) {
        (void)close(fd);
        errno = EMFILE;
        return -1;
    }
    return fd;
}

bool rm_perf_start(int leader)
{
    return rm_perf_made_open != NULL ||
           ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0;
}

bool rm_perf_is_ours(int fd)
{
    return rm_kept_is_tagged(fd);
}

uint64_t rm_perf_id(int fd)
{
    uint64_t id = 0;
    return rm_perf_is_ours(fd) && rm_ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

bool rm_perf_is_event(int fd, uint64_t id)
{
    uint64_t now = rm_perf_id(fd);
    return now != 0 ? now == id : rm_perf_is_ours(fd);
}

void rm_perf_close(int fd)
{
    if (rm_perf_is_ours(fd)) {
        (void)close(fd);
    }
}

int rm_perf_open_task_none(const struct rm_perf_request *request)
{
    (void)request;
    errno = ENOENT;
    return -1;
}

bool rm_perf_read(int fd, struct rm_perf_count *ret_count)
{
    ssize_t got = rm_perf_is_ours(fd) ? read(fd, ret_count, sizeof *ret_count) : -1;
    rm_own_io_note_read(got);
    return got == (ssize_t)sizeof *ret_count;
}

bool rm_perf_read_group(int fd, size_t count, struct rm_perf_group *ret_group)
{
    size_t bytes = offsetof(struct rm_perf_group, values) + count * sizeof ret_group->values[0];
    return count <= RM_PERF_GROUP && syscall(SYS_read, fd, ret_group, bytes) == (long)bytes &&
           ret_group->count == count;
}

bool rm_perf_sees_kernel(void)
{
    const struct rm_perf_request request = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .leader = -1};
    int fd = rm_perf_open_task(&request);
    if (fd >= 0) {
        rm_perf_close(fd);
    }
    return fd >= 0;
}

/* ": perf_event_paranoid is 2"; "" if the file cannot be read. */
static void describe_paranoia(char text[64])
{
    char number[16];
    int64_t level;
    struct rm_text rest =
        rm_file_read_short(NULL, "/proc/sys/kernel/perf_event_paranoid", number, sizeof number);
    text[0] = '\0';
    if (rm_parse_i64(&rest, &level)) {
        (void)snprintf(text, 64, ": perf_event_paranoid is %d", (int)level);
    }
}

/* "monotonic  1000000  0": seconds and nanoseconds.  The file shows the time namespace of children.
 * That is also this process's namespace, unless this process has made another one for its children.
 */
static int64_t read_clock_offset(void)
{
    char bytes[256];
    struct stat own, of_children;
    int64_t seconds = 0, nanoseconds = 0;
    struct rm_text text, line, word;
    if (stat("/proc/self/ns/time", &own) != 0 ||
        stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
        own.st_ino != of_children.st_ino) {
        return 0;
    }
    text = rm_file_read_short(NULL, "/proc/self/timens_offsets", bytes, sizeof bytes);
    while (rm_parse_line(&text, &line)) {
        if (rm_parse_literal(&line, "monotonic") && rm_parse_word(&line, &word) &&
            rm_parse_i64(&word, &seconds) && rm_parse_word(&line, &word)) {
            (void)rm_parse_i64(&word, &nanoseconds);
            break;
        }
    }
    return seconds * RM_NS_PER_S + nanoseconds;
}

/* The offset is read once: a process can enter a time namespace only while it has one thread. */
static int64_t clock_offset(void)
{
    enum { UNKNOWN, KNOWN };
    static uint32_t state; /* atomic, release: after the offset */
    static int64_t latest; /* atomic */
    if (RM_LOAD_ACQUIRE(&state) == UNKNOWN) {
        RM_STORE(&latest, read_clock_offset());
        RM_STORE_RELEASE(&state, KNOWN);
    }
    return RM_LOAD(&latest);
}

int64_t rm_perf_time_ns(uint64_t time)
{
    return time < INT64_MAX / 2 ? (int64_t)time + clock_offset() : 0;
}

static resmon_status refuse_permission(resmon_status status, const char *name)
{
    char paranoia[64];
    describe_paranoia(paranoia);
    return rm_error(status,
                    "%s may not be counted by this user%s, or a filter of system calls "
                    "forbids it, as in containers",
                    name, paranoia);
}

resmon_status rm_perf_refuse(int error, const char *name, bool has_pmu)
{
    resmon_status status = rm_status_from_errno(error);
    switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        return has_pmu ? rm_error(RESMON_ENOENT, "this processor does not count %s", name)
                       : rm_error(RESMON_ENOENT, "this machine has no hardware counters (ENOENT): "
                                                 "a virtual machine without a PMU, for example");
    case EACCES:
    case EPERM:
        return refuse_permission(status, name);
    case ENOSYS:
        return rm_error(RESMON_ENOTSUP, "this kernel has no performance counters");
    case EMFILE:
    case ENFILE:
        return rm_error(status, "%s: no more files can be opened", name);
    case ENOSPC:
    case EBUSY:
        return rm_error(status, "%s: the processor has no free counter for it", name);
    case EINVAL:
        return rm_error(RESMON_ENOTSUP, "%s cannot be counted for a process on this machine", name);
    default:
        return rm_error_errno(error, "%s cannot be counted", name);
    }
}

/* ---- reading without the kernel --------------------------------------------------------- */

#if defined(__x86_64__)
#define CAN_READ 1

static uint64_t rdpmc(uint32_t index)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}

static uint64_t rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
#else
#define CAN_READ 0

static uint64_t rdpmc(uint32_t index)
{
    (void)index;
    return 0;
}

static uint64_t rdtsc(void)
{
    return 0;
}
#endif

static const struct rm_perf_processor own = {rdpmc, rdtsc};
static const struct rm_perf_processor own_without_clock = {rdpmc, NULL};

struct perf_event_mmap_page *rm_perf_page_map(int fd)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = CAN_READ ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        return NULL;
    }
    struct perf_event_mmap_page *page = memory;
    if (!page->cap_user_rdpmc) {
        rm_perf_page_unmap(page);
        return NULL;
    }
    return page;
}

void rm_perf_page_unmap(struct perf_event_mmap_page *page)
{
    if (page != NULL) {
        (void)munmap(page, (size_t)sysconf(_SC_PAGESIZE));
    }
}

/* Time since the kernel wrote the page, by the clock in the page, as in linux/perf_event.h. */
static uint64_t time_since(const struct perf_event_mmap_page *page, uint64_t cycles)
{
    uint64_t whole = cycles >> page->time_shift;
    uint64_t rest = cycles & (((uint64_t)1 << page->time_shift) - 1);
    return page->time_offset + whole * page->time_mult +
           ((rest * page->time_mult) >> page->time_shift);
}

/* Events since the kernel wrote the page: a signed number of `pmc_width` bits. */
static uint64_t count_since(const struct perf_event_mmap_page *page, uint64_t raw)
{
    unsigned unused = 64U - page->pmc_width;
    int64_t high = (int64_t)(raw << unused);
    return (uint64_t)(high >> unused);
}

/* A sequence lock: the kernel makes `lock` odd while it writes the page, and changes it at each
 * write. */
bool rm_perf_page_read_by(const struct perf_event_mmap_page *page,
                          const struct rm_perf_processor *processor,
                          struct rm_perf_count *ret_count)
{
    for (int tries = 0; tries < 16; tries++) {
        uint32_t before = RM_LOAD_ACQUIRE(&page->lock);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        uint32_t index = RM_LOAD(&page->index);
        struct rm_perf_count count = {(uint64_t)RM_LOAD(&page->offset),
                                      (uint64_t)RM_LOAD(&page->time_enabled),
                                      (uint64_t)RM_LOAD(&page->time_running)};
        if (!page->cap_user_rdpmc || index == 0 || page->pmc_width == 0 || page->pmc_width > 64) {
            return false;
        }
        /* Without a clock, the times are of the last write of the page.  They lag, which matters
         * only for a multiplexed counter. */
        if (page->cap_user_time && processor->rdtsc != NULL) {
            uint64_t since = time_since(page, processor->rdtsc());
            count.enabled += since;
            count.running += since;
        } else if (count.enabled != count.running && !page->cap_user_time) {
            return false;
        }
        count.value += count_since(page, processor->rdpmc(index - 1));
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if ((before & 1) == 0 && RM_LOAD_ACQUIRE(&page->lock) == before) {
            *ret_count = count;
            return true;
        }
    }
    return false;
}

bool rm_perf_page_read(const struct perf_event_mmap_page *page, bool wants_time,
                       struct rm_perf_count *ret_count)
{
    return rm_perf_page_read_by(page, wants_time ? &own : &own_without_clock, ret_count);
}

/* ---- a ring of records ------------------------------------------------------------------ */

/* ---- the mapping ------------------------------------------------------------------------- */

static size_t pages_of(size_t bytes, size_t page_bytes)
{
    return bytes > page_bytes ? bytes / page_bytes : 1;
}

bool rm_perf_buffer_map(struct rm_perf_buffer *buffer, int fd, size_t most, size_t least)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t last = pages_of(least < most ? least : most, page_bytes);
    *buffer = (struct rm_perf_buffer){.memory = NULL};
    for (size_t pages = pages_of(most, page_bytes); pages >= last && pages > 0; pages /= 2) {
        size_t bytes = (pages + 1) * page_bytes;
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            *buffer = (struct rm_perf_buffer){
                .memory = memory,
                .bytes = bytes,
                .data = (const unsigned char *)memory + page_bytes,
                .mask = pages * page_bytes - 1,
            };
            return true;
        }
        if (errno != EPERM) {
            return false;
        }
    }
    return false;
}

void rm_perf_buffer_unmap(struct rm_perf_buffer *buffer)
{
    if (buffer->memory != NULL) {
        (void)munmap(buffer->memory, buffer->bytes);
        buffer->memory = NULL;
    }
}

/* ---- records ----------------------------------------------------------------------------- */

bool rm_perf_buffer_look(struct rm_perf_buffer *buffer)
{
    const struct perf_event_mmap_page *page = buffer->memory;
    if (page == NULL) {
        return false;
    }
    buffer->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    return buffer->head != buffer->tail;
}

void rm_perf_buffer_copy(const struct rm_perf_buffer *buffer, uint64_t position, void *target,
                         size_t bytes)
{
    uint64_t at = position & buffer->mask;
    size_t to_end = (size_t)(buffer->mask + 1 - at);
    size_t first = to_end < bytes ? to_end : bytes;
    memcpy(target, buffer->data + at, first);
    memcpy((unsigned char *)target + first, buffer->data, bytes - first);
}

bool rm_perf_buffer_peek(struct rm_perf_buffer *buffer, struct rm_perf_cursor *ret_cursor)
{
    struct perf_event_header header;
    if (buffer->head - buffer->tail < sizeof header) {
        return false;
    }
    rm_perf_buffer_copy(buffer, buffer->tail, &header, sizeof header);
    if (header.size < sizeof header || header.size > buffer->head - buffer->tail) {
        buffer->tail = buffer->head; /* an invalid size: drop all records */
        rm_perf_buffer_release(buffer);
        return false;
    }
    *ret_cursor = (struct rm_perf_cursor){
        .buffer = buffer,
        .at = buffer->tail + sizeof header,
        .end = buffer->tail + header.size,
        .type = header.type,
        .misc = header.misc,
    };
    return true;
}

void rm_perf_buffer_pass(struct rm_perf_buffer *buffer, const struct rm_perf_cursor *record)
{
    buffer->tail = record->end;
}

void rm_perf_buffer_release(struct rm_perf_buffer *buffer)
{
    struct perf_event_mmap_page *page = buffer->memory;
    __atomic_store_n(&page->data_tail, buffer->tail, __ATOMIC_RELEASE);
}

bool rm_perf_cursor_skip(struct rm_perf_cursor *cursor, uint64_t bytes)
{
    if (cursor->end - cursor->at < bytes) {
        return false;
    }
    cursor->at += bytes;
    return true;
}

bool rm_perf_cursor_take(struct rm_perf_cursor *cursor, void *target, size_t bytes)
{
    uint64_t at = cursor->at;
    if (!rm_perf_cursor_skip(cursor, bytes)) {
        return false;
    }
    rm_perf_buffer_copy(cursor->buffer, at, target, bytes);
    return true;
}

bool rm_perf_cursor_word(struct rm_perf_cursor *cursor, uint64_t *ret_word)
{
    return rm_perf_cursor_take(cursor, ret_word, sizeof *ret_word);
}
