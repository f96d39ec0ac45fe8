/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* usleep */
#include "os/own_io.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fork.h"

static const struct rm_key io_keys[RM_IO_FIELDS] = {
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

/* ---- storage ------------------------------------------------------------------------------ */

static uint64_t parts_begun; /* atomic; incremented before a part does anything */
static uint64_t parts_ended; /* atomic; incremented after the part was added to `ours` */

#define WAIT_US    100
#define MOST_WAITS 50

static bool read_thread(struct rm_own_io_part *part)
{
    char bytes[512];
    uint64_t numbers[RM_IO_FIELDS] = {0};
    const unsigned wanted = 1U << RM_IO_READ_BYTES | 1U << RM_IO_WRITE_BYTES;
    ssize_t got = 0;
    int fd = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        rm_kept_mark(fd);
        got = read(fd, bytes, sizeof bytes);
        rm_own_io_note_read(got);
        rm_kept_drop(fd);
    }
    uint64_t found =
        rm_parse_keys(rm_text_of(bytes, got > 0 ? (size_t)got : 0), io_keys, RM_IO_FIELDS, numbers);
    part->read_bytes = numbers[RM_IO_READ_BYTES];
    part->write_bytes = numbers[RM_IO_WRITE_BYTES];
    return (found & wanted) == wanted;
}

/* The child of a fork does not have the threads of these parts. */
static void forget_parts(void)
{
    parts_ended = parts_begun;
}

static const struct rm_fork_part at_fork = {.in_child = forget_parts};

void rm_own_io_begin(struct rm_own_io_part *part)
{
    rm_fork_take_part(RM_FORK_STORAGE, &at_fork);
    (void)__atomic_add_fetch(&parts_begun, 1, __ATOMIC_SEQ_CST);
    part->is_known = read_thread(part);
}

void rm_own_io_end(const struct rm_own_io_part *part)
{
    struct rm_own_io_part now;
    if (part->is_known && read_thread(&now)) {
        (void)RM_FETCH_ADD(&ours[RM_IO_READ_BYTES], now.read_bytes - part->read_bytes);
        (void)RM_FETCH_ADD(&ours[RM_IO_WRITE_BYTES], now.write_bytes - part->write_bytes);
    }
    (void)__atomic_add_fetch(&parts_ended, 1, __ATOMIC_SEQ_CST);
}

/* ---- I/O of the program ---------------------------------------------------------------------- */

static bool is_under_way(uint64_t *ret_begun)
{
    uint64_t ended = __atomic_load_n(&parts_ended, __ATOMIC_SEQ_CST);
    *ret_begun = __atomic_load_n(&parts_begun, __ATOMIC_SEQ_CST);
    return *ret_begun != ended;
}

void rm_own_io_before(struct rm_own_io *before)
{
    for (int waits = 0; is_under_way(&before->parts) && waits < MOST_WAITS; waits++) {
        (void)usleep(WAIT_US);
    }
    before->is_settled = !is_under_way(&before->parts);
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        before->numbers[f] = RM_LOAD(&ours[f]);
    }
}

void rm_own_io_after(struct rm_own_io *before)
{
    uint64_t begun = __atomic_load_n(&parts_begun, __ATOMIC_SEQ_CST);
    before->is_settled = before->is_settled && begun == before->parts;
}

uint64_t rm_own_io_rest(const struct rm_own_io *own, enum rm_io_field field, uint64_t found,
                        uint64_t before)
{
    bool is_storage = field == RM_IO_READ_BYTES || field == RM_IO_WRITE_BYTES;
    uint64_t number = own->numbers[field];
    uint64_t rest = found > number ? found - number : 0;
    return (is_storage && !own->is_settled) || rest < before ? before : rest;
}

bool rm_own_io_open(struct rm_kept *kept)
{
    return rm_kept_open(kept, "/proc/self/io", O_RDONLY);
}

bool rm_own_io_read(const struct rm_kept *kept, uint64_t numbers[RM_IO_FIELDS])
{
    char bytes[512];
    uint64_t before[RM_IO_FIELDS];
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        before[f] = RM_LOAD(&ours[f]);
    }
    ssize_t length = rm_kept_is_ours(kept) ? pread(kept->fd, bytes, sizeof bytes, 0) : -1;
    if (length <= 0) {
        return false;
    }
    rm_own_io_note_read(length);
    uint64_t found =
        rm_parse_keys(rm_text_of(bytes, (size_t)length), io_keys, RM_IO_FIELDS, numbers);
    for (size_t f = 0; f < RM_IO_FIELDS; f++) {
        /* For a moment, only one of the two counters may include a call of another thread. */
        numbers[f] -= before[f] < numbers[f] ? before[f] : numbers[f];
    }
    return found == (1U << RM_IO_FIELDS) - 1;
}
