/* SPDX-License-Identifier: MIT */
#include "os/own_io.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/parse.h"

static const struct rm_key keys[RM_IO_FIELDS] = {
    RM_KEY("rchar:", RM_IO_READ_CHARS),      RM_KEY("wchar:", RM_IO_WRITE_CHARS),
    RM_KEY("syscr:", RM_IO_READ_CALLS),      RM_KEY("syscw:", RM_IO_WRITE_CALLS),
    RM_KEY("read_bytes:", RM_IO_READ_BYTES), RM_KEY("write_bytes:", RM_IO_WRITE_BYTES),
};

static uint64_t ours[RM_IO_FIELDS]; /* atomic; of the whole process */

static void note(enum rm_io_field chars, enum rm_io_field calls, ssize_t got)
{
    (void)__atomic_add_fetch(&ours[chars], got > 0 ? (uint64_t)got : 0, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&ours[calls], 1, __ATOMIC_RELAXED);
}

void rm_own_io_note_reads(uint64_t bytes, uint64_t calls)
{
    (void)__atomic_add_fetch(&ours[RM_IO_READ_CHARS], bytes, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&ours[RM_IO_READ_CALLS], calls, __ATOMIC_RELAXED);
}

void rm_own_io_note_read(ssize_t got)
{
    note(RM_IO_READ_CHARS, RM_IO_READ_CALLS, got);
}

void rm_own_io_note_write(ssize_t got)
{
    note(RM_IO_WRITE_CHARS, RM_IO_WRITE_CALLS, got);
}

void rm_own_io_ours(uint64_t numbers[RM_IO_FIELDS])
{
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        numbers[f] = RM_LOAD(&ours[f]);
    }
}

bool rm_own_io_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/proc/self/io", O_RDONLY);
}

bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS])
{
    char bytes[512];
    uint64_t before[RM_IO_FIELDS];
    rm_own_io_ours(before);
    ssize_t length = rm_kept_is_ours(kept) ? pread(kept->fd, bytes, sizeof bytes, 0) : -1;
    if (length <= 0) {
        return false;
    }
    rm_own_io_note_read(length);
    uint64_t found = rm_parse_keys(rm_text_of(bytes, (size_t)length), keys, RM_IO_FIELDS, numbers);
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        /* A call of another thread may be counted by one side only, for a moment. */
        numbers[f] -= before[f] < numbers[f] ? before[f] : numbers[f];
    }
    return found == (1U << RM_IO_FIELDS) - 1;
}
