/* SPDX-License-Identifier: MIT */
/*
 * Owns a ring that the kernel writes records of performance events to (perf_event_open(2)): its
 * mapping, how far it was read, and the reading of one record piece by piece.  Nothing that a
 * record says of its size is believed.
 */
#ifndef RM_OS_PERF_BUFFER_H
#define RM_OS_PERF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
