/* SPDX-License-Identifier: MIT */
/*
 * Owns performance counters (perf_event_open(2)): opening and reading them, reading without the
 * kernel's help, and the rings that it writes records of events to.
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

/** Any event: all that is opened here is close-on-exec and tagged as ours (os/kept.h); -1 with
 * errno. */
int rm_perf_open_event(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader);

#ifdef RM_FAULT_INJECTION
/** What a test has in place of the kernel's perf_event_open(2): a descriptor, or -1 with errno; it
 * needs no start.  NULL: nothing.  Set while nothing is opened. */
extern int (*rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid);
#endif

/** A counter of a PMU of the machine, on `cpu`, for all processes; -1 with errno. */
RM_SHARED int rm_perf_open(uint32_t type, uint64_t config, int cpu);

/** A software event of this thread, in user space: the least that can be asked for; -1 with errno.
 */
RM_SHARED int rm_perf_open_least(void);

/** There is no PMU: -1 with ENOENT. */
int rm_perf_open_none(uint32_t type, uint64_t config, int cpu);

/* A counter of a thread, wherever it runs. */
struct rm_perf_request {
    uint32_t type;
    uint64_t config, config1, config2;
    int64_t tid;         /* 0: the calling thread */
    int leader;          /* descriptor of the group's first event; -1: this is the first */
    bool inherits;       /* counts threads and processes that it makes, too */
    bool skips_user;     /* counts in the kernel only */
    bool skips_kernel;   /* counts in user mode only */
    bool reads_as_group; /* for rm_perf_read_group() */
    bool waits;          /* for rm_perf_start(), by the first of a group */
};

/** A descriptor; -1 with errno.  Half of the descriptors that the process may have stay the
 * program's: EMFILE. */
int rm_perf_open_task(const struct rm_perf_request *request);

/** Takes the place of rm_perf_open_task() below another root: -1 with ENOENT, as without counters.
 */
int rm_perf_open_task_none(const struct rm_perf_request *request);

/* What a counter has counted; it ran in `running` of the `enabled` ns of its thread. */
struct rm_perf_count {
    uint64_t value, enabled, running;
};

/** Starts a group whose first event waits, all at once: a member that joins a group at work may be
 * left out until the thread is scheduled next. */
bool rm_perf_start(int leader);

/** Whether the descriptor is still one of ours: programs close what they do not know. */
bool rm_perf_is_ours(int fd);

/** The number that the kernel gave the event, and no other: descriptors that are ours may have been
 * closed, and their numbers given to others of ours.  0: it is none of ours, or nobody tells. */
uint64_t rm_perf_id(int fd);

/** Whether a descriptor is still the event with this number; where the kernel does not tell the
 * number, whether it is one of ours. */
bool rm_perf_is_event(int fd, uint64_t id);

/** Closes the event of a descriptor, if it is ours. */
void rm_perf_close(int fd);

/** Reads one, with what it inherited; false: it is not ours any more, or cannot be read. */
bool rm_perf_read(int fd, struct rm_perf_count *ret_count);

#define RM_PERF_GROUP 8

/* The counts of a group, as the kernel writes them: struct read_format of perf_event_open(2). */
struct rm_perf_group {
    uint64_t count;
    uint64_t enabled, running;
    uint64_t values[RM_PERF_GROUP]; /* in the order in which they were opened */
};

/** Reads all `count` of a group, by its leader, in one call; false: it is no such group, and what
 * `ret_group` holds means nothing.  Whether it is ours is for the caller to know, and to note the
 * call (os/own_usage.h).  No cancellation point: a thread is not cancelled inside a scope's end. */
bool rm_perf_read_group(int fd, size_t count, struct rm_perf_group *ret_group);

/** CLOCK_MONOTONIC as it is here, of the time that a record tells: the kernel takes it without what
 * a time namespace (time_namespaces(7)) adds. */
int64_t rm_perf_time_ns(uint64_t time);

/** Whether this process may count what the kernel does. */
bool rm_perf_sees_kernel(void);

/** Records why `name` could not be opened; `has_pmu`: other hardware events could. */
resmon_status rm_perf_refuse(int error, const char *name, bool has_pmu);

/* ---- reading without the kernel --------------------------------------------------------- */

/*
 * Reading a counter of the calling thread without the kernel, by the page that it shares of the
 * counter (struct perf_event_mmap_page) and the processor's RDPMC: x86, where the kernel allows it
 * (/sys/devices/cpu/rdpmc).
 */

struct perf_event_mmap_page;

/** Maps the page of a hardware event; NULL: it cannot be read this way. */
struct perf_event_mmap_page *rm_perf_page_map(int fd);
void rm_perf_page_unmap(struct perf_event_mmap_page *page);

/** Reads it; false: the counter does not run just now, or never can: the kernel has to be asked.
 * `wants_time`: the times are needed, and not only the count: one event of a group tells them.
 * Where the page has no clock, as in many virtual machines, the times of a counter that was never
 * descheduled lag: enabled and running are the same, and may be older than those of a read(2). */
bool rm_perf_page_read(const struct perf_event_mmap_page *page, bool wants_time,
                       struct rm_perf_count *ret_count);

/* The processor, or what tests put in its place. */
struct rm_perf_processor {
    uint64_t (*rdpmc)(uint32_t index);
    uint64_t (*rdtsc)(void); /* NULL: the times are not wanted */
};

bool rm_perf_page_read_by(const struct perf_event_mmap_page *page,
                          const struct rm_perf_processor *processor,
                          struct rm_perf_count *ret_count);

/* ---- a ring of records ------------------------------------------------------------------ */

/*
 * A ring that the kernel writes records of performance events to (perf_event_open(2)): its mapping,
 * how far it was read, and the reading of one record piece by piece.  Nothing that a record says of
 * its size is believed.
 */

/* Zeroed: not mapped.  Positions grow without end. */
struct rm_perf_buffer {
    void *memory; /* a page of the kernel's and the ring */
    size_t bytes; /* of that */
    const unsigned char *data;
    uint64_t mask; /* of positions in the data */
    uint64_t head; /* as of the latest look */
    uint64_t tail;
};

/** Maps the ring of a descriptor: as near to `most` bytes as may be locked, `least` at the least;
 * false with errno.  EPERM: no more memory may be locked. */
bool rm_perf_buffer_map(struct rm_perf_buffer *buffer, int fd, size_t most, size_t least);
void rm_perf_buffer_unmap(struct rm_perf_buffer *buffer);

/** Takes note of what waits, without asking the kernel; false: nothing. */
bool rm_perf_buffer_look(struct rm_perf_buffer *buffer);

/* A record, or what is left of it to be read: positions in the ring. */
struct rm_perf_cursor {
    const struct rm_perf_buffer *buffer;
    uint64_t at, end;
    uint32_t type; /* PERF_RECORD_* */
    uint16_t misc; /* PERF_RECORD_MISC_* */
};

/** The oldest record of those that waited when it was looked last; false: there is none. */
bool rm_perf_buffer_peek(struct rm_perf_buffer *buffer, struct rm_perf_cursor *ret_cursor);

/** Passes over a record without giving its room back, and gives back all that was passed. */
void rm_perf_buffer_pass(struct rm_perf_buffer *buffer, const struct rm_perf_cursor *record);
void rm_perf_buffer_release(struct rm_perf_buffer *buffer);

/** The next bytes of a record, which are passed over; false: there are not as many. */
bool rm_perf_cursor_skip(struct rm_perf_cursor *cursor, uint64_t bytes);
bool rm_perf_cursor_take(struct rm_perf_cursor *cursor, void *target, size_t bytes);
bool rm_perf_cursor_word(struct rm_perf_cursor *cursor, uint64_t *ret_word);

/** Bytes of the ring at a position of a record that was not released. */
void rm_perf_buffer_copy(const struct rm_perf_buffer *buffer, uint64_t position, void *target,
                         size_t bytes);

#endif
