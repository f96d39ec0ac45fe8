/* SPDX-License-Identifier: MIT */
#include "os/perf_buffer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
        buffer->tail = buffer->head; /* cannot be */
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
