/* SPDX-License-Identifier: MIT */
/*
 * Owns performance counters (perf_event_open(2)): opening and reading them, reading them without a
 * system call, and the rings to which the kernel writes event records.
 */
#ifndef RM_OS_PERF_H
#define RM_OS_PERF_H

#include <resmon/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* ---- opening and reading counters ------------------------------------------------------- */

struct perf_event_attr; /* <linux/perf_event.h> */

/** Opens any event.  Every event opened here is close-on-exec and tagged as ours (os/kept.h); -1
 * with errno. */
int rm_perf_open_event(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader);

#ifdef RM_FAULT_INJECTION
/** A test's replacement of perf_event_open(2).  Returns a descriptor that needs no start, or -1
 * with errno.  NULL: no replacement.  Set only while no event is opened. */
extern int (*rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid);
#endif

/** A counter of a PMU of the machine, on `cpu`, for all processes; -1 with errno. */
RM_SHARED int rm_perf_open(uint32_t type, uint64_t config, int cpu);

/** A software event of this thread, in user mode: needs the fewest privileges; -1 with errno. */
RM_SHARED int rm_perf_open_least(void);

/** A replacement of rm_perf_open() without a PMU: -1 with ENOENT. */
int rm_perf_open_none(uint32_t type, uint64_t config, int cpu);

/* A counter of a thread, on any CPU. */
struct rm_perf_request {
    uint32_t type;
    uint64_t config, config1, config2;
    int64_t tid;         /* 0: the calling thread */
    int leader;          /* descriptor of the group's first event; -1: this is the first event */
    bool inherits;       /* also counts threads and processes that the thread starts */
    bool skips_user;     /* counts in the kernel only */
    bool skips_kernel;   /* counts in user mode only */
    bool reads_as_group; /* for rm_perf_read_group() */
    bool waits;          /* for rm_perf_start(): set on the first event of a group */
};

/** A descriptor; -1 with errno.  EMFILE: half of the process's descriptor limit is reserved for the
 * program. */
int rm_perf_open_task(const struct rm_perf_request *request);

/** Replaces rm_perf_open_task() below another root: -1 with ENOENT, as without counters. */
int rm_perf_open_task_none(const struct rm_perf_request *request);

/* The value of a counter; it was running for `running` of the `enabled` ns of its thread. */
struct rm_perf_count {
    uint64_t value, enabled, running;
};

/** Starts all events of a waiting group at once.  An event that joins a running group may be left
 * out until the thread is scheduled next. */
bool rm_perf_start(int leader);

/** Whether the descriptor is still an event of ours: programs may close unknown descriptors. */
bool rm_perf_is_ours(int fd);

/** The kernel's unique id of the event.  Descriptors of ours may have been closed, and their
 * numbers reused by other events of ours. 0: not an event of ours, or the kernel gives no id. */
uint64_t rm_perf_id(int fd);

/** Whether a descriptor is still the event with this id.  If the kernel gives no id: whether it is
 * an event of ours. */
bool rm_perf_is_event(int fd, uint64_t id);

/** Closes the descriptor, if it is an event of ours. */
void rm_perf_close(int fd);

/** Reads an event, including inherited events; false: not ours any more, or not readable. */
bool rm_perf_read(int fd, struct rm_perf_count *ret_count);

#define RM_PERF_GROUP 8

/* The counts of a group, as the kernel writes them: struct read_format of perf_event_open(2). */
struct rm_perf_group {
    uint64_t count;
    uint64_t enabled, running;
    uint64_t values[RM_PERF_GROUP]; /* in the order of opening */
};

/** Reads all `count` events of a group through its leader, in one call.  False: the event is not
 * such a group, and `ret_group` is undefined.  The caller checks that the descriptor is ours, and
 * counts the call (os/own_io.h).  Not a cancellation point: a thread must not be cancelled
 * inside a scope's end. */
bool rm_perf_read_group(int fd, size_t count, struct rm_perf_group *ret_group);

/** Converts the time of a record to CLOCK_MONOTONIC of this process: the time in a record does not
 * include the offset of a time namespace (time_namespaces(7)). */
int64_t rm_perf_time_ns(uint64_t time);

/** Whether this process may count events in the kernel. */
bool rm_perf_sees_kernel(void);

/** Records the reason why `name` could not be opened; `has_pmu`: other hardware events could be
 * opened. */
resmon_status rm_perf_refuse(int error, const char *name, bool has_pmu);

/* ---- reading without the kernel --------------------------------------------------------- */

/*
 * Reads a counter of the calling thread without a system call: with the counter's shared page
 * (struct perf_event_mmap_page) and the RDPMC instruction.  Only on x86, where the kernel allows it
 * (/sys/devices/cpu/rdpmc).
 */

struct perf_event_mmap_page;

/** Maps the page of a hardware event; NULL: this way of reading is not possible. */
struct perf_event_mmap_page *rm_perf_page_map(int fd);
void rm_perf_page_unmap(struct perf_event_mmap_page *page);

/** Reads the counter.  False: the counter is not running now, or can never be read this way; use a
 * system call.  `wants_time`: also reads the times; one event of a group is enough for them.
 * Where the page has no clock, as in many virtual machines, the times lag for a counter that was
 * never descheduled.  Then enabled equals running, and both may be older than the times of a
 * read(2). */
bool rm_perf_page_read(const struct perf_event_mmap_page *page, bool wants_time,
                       struct rm_perf_count *ret_count);

/* The processor's instructions, or a test's replacement of them. */
struct rm_perf_processor {
    uint64_t (*rdpmc)(uint32_t index);
    uint64_t (*rdtsc)(void); /* NULL: the times are not needed */
};

bool rm_perf_page_read_by(const struct perf_event_mmap_page *page,
                          const struct rm_perf_processor *processor,
                          struct rm_perf_count *ret_count);

/* ---- a ring of records ------------------------------------------------------------------ */

/*
 * A ring to which the kernel writes records of performance events (perf_event_open(2)): its
 * mapping, the read position, and the reading of a record in parts.  Sizes in a record are checked
 * before use.
 */

/* Zeroed: not mapped.  Positions only increase, and are reduced by `mask`. */
struct rm_perf_buffer {
    void *memory; /* the kernel's page, followed by the ring */
    size_t bytes; /* of `memory` */
    const unsigned char *data;
    uint64_t mask; /* of positions in the data */
    uint64_t head; /* at the last look */
    uint64_t tail;
};

/** Maps the ring of a descriptor.  Its size is the largest that may be locked, between `least` and
 * `most` bytes; false with errno.  EPERM: the limit of locked memory is reached. */
bool rm_perf_buffer_map(struct rm_perf_buffer *buffer, int fd, size_t most, size_t least);
void rm_perf_buffer_unmap(struct rm_perf_buffer *buffer);

/** Updates `head` to the waiting records, without a system call; false: no record waits. */
bool rm_perf_buffer_look(struct rm_perf_buffer *buffer);

/* A record, or its unread rest: positions in the ring. */
struct rm_perf_cursor {
    const struct rm_perf_buffer *buffer;
    uint64_t at, end;
    uint32_t type; /* PERF_RECORD_* */
    uint16_t misc; /* PERF_RECORD_MISC_* */
};

/** The oldest record that was waiting at the last look; false: no record. */
bool rm_perf_buffer_peek(struct rm_perf_buffer *buffer, struct rm_perf_cursor *ret_cursor);

/** Pass skips a record and keeps its bytes in the ring; release frees the bytes of all skipped
 * records. */
void rm_perf_buffer_pass(struct rm_perf_buffer *buffer, const struct rm_perf_cursor *record);
void rm_perf_buffer_release(struct rm_perf_buffer *buffer);

/** Copies or skips the next bytes of a record, and advances the cursor; false: fewer bytes are
 * left. */
bool rm_perf_cursor_skip(struct rm_perf_cursor *cursor, uint64_t bytes);
bool rm_perf_cursor_take(struct rm_perf_cursor *cursor, void *target, size_t bytes);
bool rm_perf_cursor_word(struct rm_perf_cursor *cursor, uint64_t *ret_word);

/** Copies bytes at a position of the ring, of a record that is not released. */
void rm_perf_buffer_copy(const struct rm_perf_buffer *buffer, uint64_t position, void *target,
                         size_t bytes);

#endif
