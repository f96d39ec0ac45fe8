/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_TMPFILE */
#include "record/block_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/status.h"
#include "os/kept.h"
#include "os/mapping.h"
#include "os/own_io.h"
#include "store/events.h"
#include "store/layout.h"

/* ---- settling ------------------------------------------------------------------------------- */

#define SETTLE_TRIES 16 /* bounded: a scope may end again and again */

/* Position of the versions in a record; they are adjacent. */
struct versions {
    size_t bytes; /* of the record */
    size_t first;
    size_t count;
};

static const struct versions of_nodes = {sizeof(struct rm_scope_node),
                                         offsetof(struct rm_scope_node, wall_version), 2};

uint32_t rm_settled_section(size_t index)
{
    return index < RM_FACETS ? rm_facets[index].section : RM_SECTION_NODES;
}

static struct versions versions_of(uint32_t section)
{
    for (size_t i = 0; i < RM_FACETS; i++) {
        if (rm_facets[i].section == section) {
            return (struct versions){rm_facets[i].record_bytes, rm_facets[i].version, 1};
        }
    }
    return of_nodes;
}

/* Like rm_published_read(), but through a file.  Versions precede the data that they protect, and a
 * read copies in the order of addresses. */
resmon_status rm_settle_record(const struct rm_infile *live, uint32_t section, uint64_t offset,
                               void *record)
{
    const struct versions versions = versions_of(section);
    const uint64_t at = offset + versions.first;
    uint32_t before[2] = {0, 0}, after[2];
    const size_t bytes = versions.count * sizeof before[0];
    resmon_status status = rm_infile_read(live, at, before, bytes);
    for (int tries = 0; tries < SETTLE_TRIES && status == RESMON_OK; tries++) {
        status = rm_infile_read(live, offset, record, versions.bytes);
        memcpy((unsigned char *)record + versions.first, before, bytes);
        if (status == RESMON_OK) {
            status = rm_infile_read(live, at, after, bytes);
        }
        if (status != RESMON_OK || memcmp(before, after, bytes) == 0) {
            break;
        }
        memcpy(before, after, bytes);
    }
    return status;
}

/* ---- copying -------------------------------------------------------------------------------- */

/* See recording.c for the data that a live writer changes. */
#define TRIES       8 /* of the whole copy */
#define FRONT_TRIES 1024
#define HALF_BYTES  ((uint64_t)64 * 1024)

struct copying {
    const struct rm_infile *live;
    const struct rm_infile *copy;
    struct rm_block_header header;       /* as it was copied */
    unsigned char halves[2][HALF_BYTES]; /* live data, and the copy to compare */
};

static resmon_status write_at(const struct rm_infile *copy, uint64_t offset, const void *bytes,
                              uint64_t length)
{
    ssize_t done = RM_FAULT(RM_FAULT_WRITE) ? (errno = ENOSPC, -1)
                   : !rm_kept_is_ours(&copy->kept)
                       ? (errno = EBADF, -1)
                       : pwrite(rm_kept_fd(&copy->kept), bytes, (size_t)length, (off_t)offset);
    rm_own_io_note_write(done);
    return done == (ssize_t)length
               ? RESMON_OK
               : rm_error_errno(done < 0 ? errno : ENOSPC, "cannot copy the run in %s", copy->path);
}

static resmon_status copy_range(struct copying *copying, uint64_t from, uint64_t to)
{
    resmon_status status = RESMON_OK;
    for (uint64_t at = from; status == RESMON_OK; at += HALF_BYTES) {
        at = rm_infile_next_data(copying->live, at); /* the copy begins as zeroes */
        if (at >= to) {
            break;
        }
        uint64_t length = to - at < HALF_BYTES ? to - at : HALF_BYTES;
        status = rm_infile_read(copying->live, at, copying->halves[0], length);
        if (status == RESMON_OK) {
            status = write_at(copying->copy, at, copying->halves[0], length);
        }
    }
    return status;
}

static resmon_status read_live(const struct copying *copying, struct rm_block_header *ret_header)
{
    return rm_infile_read(copying->live, 0, ret_header, sizeof *ret_header);
}

/* Copies the front of the block, the header and the states, as of one commit. */
static resmon_status copy_front(struct copying *copying, uint64_t *ret_end)
{
    struct rm_block_header after;
    for (int tries = 0; tries < FRONT_TRIES; tries++) {
        resmon_status status = read_live(copying, &copying->header);
        *ret_end = rm_block_front(&copying->header, copying->live->bytes);
        if (status == RESMON_OK) {
            status = copy_range(copying, 0, *ret_end);
        }
        if (status == RESMON_OK) {
            status = write_at(copying->copy, 0, &copying->header, sizeof copying->header);
        }
        if (status == RESMON_OK) {
            status = read_live(copying, &after);
        }
        if (status != RESMON_OK || after.commit == copying->header.commit) {
            return status;
        }
    }
    return rm_error(RESMON_EBUSY, "the run changes too fast to be copied");
}

/* Reads those of `count` adjacent records again that have changed since they were copied. */
static resmon_status settle_range(struct copying *copying, uint32_t which, uint64_t from,
                                  uint64_t count)
{
    const uint64_t bytes = copying->header.sections[which].record_bytes;
    resmon_status status = rm_infile_read(copying->live, from, copying->halves[0], count * bytes);
    if (status == RESMON_OK) {
        status = rm_infile_read(copying->copy, from, copying->halves[1], count * bytes);
    }
    for (uint64_t i = 0; i < count && status == RESMON_OK; i++) {
        unsigned char *record = copying->halves[1] + i * bytes;
        if (memcmp(copying->halves[0] + i * bytes, record, (size_t)bytes) != 0) {
            status = rm_settle_record(copying->live, which, from + i * bytes, record);
            if (status == RESMON_OK) {
                status = write_at(copying->copy, from + i * bytes, record, bytes);
            }
        }
    }
    return status;
}

static resmon_status settle(struct copying *copying)
{
    resmon_status status = RESMON_OK;
    for (size_t k = 0; k < RM_SETTLED; k++) {
        const uint32_t which = rm_settled_section(k);
        const struct rm_section *section = &copying->header.sections[which];
        const uint64_t used = copying->header.node_count < section->count
                                  ? copying->header.node_count
                                  : section->count;
        const uint64_t most = section->record_bytes > 0 ? HALF_BYTES / section->record_bytes : 0;
        for (uint64_t i = 1; i < used && most > 0 && status == RESMON_OK; i += most) {
            status = settle_range(copying, which, section->offset + i * section->record_bytes,
                                  used - i < most ? used - i : most);
        }
    }
    return status;
}

/* Stores the current counts of the event rings in the copy: they show which events the writer may
 * have overwritten during the copy. */
static resmon_status note_events(struct copying *copying)
{
    const struct rm_section *section = &copying->header.sections[RM_SECTION_EVENTS];
    resmon_status status = RESMON_OK;
    for (uint64_t i = 0; i < section->count && status == RESMON_OK; i++) {
        uint64_t ring = section->offset + i * section->record_bytes;
        uint64_t count = 0;
        status = rm_infile_read(copying->live, ring + offsetof(struct rm_event_ring, count), &count,
                                sizeof count);
        if (status == RESMON_OK && count > 0) {
            status = write_at(copying->copy, ring + offsetof(struct rm_event_ring, count_then),
                              &count, sizeof count);
        }
    }
    return status;
}

static resmon_status copy_once(struct copying *copying, bool *ret_is_whole)
{
    struct rm_block_header after = {.retirements = 1};
    uint64_t front;
    resmon_status status = copy_front(copying, &front);
    if (status == RESMON_OK) {
        status = copy_range(copying, front, copying->live->bytes);
    }
    if (status == RESMON_OK) {
        status = settle(copying);
    }
    if (status == RESMON_OK) {
        status = note_events(copying);
    }
    if (status == RESMON_OK) {
        status = read_live(copying, &after);
    }
    *ret_is_whole = after.merge_progress == copying->header.merge_progress &&
                    after.retirements == copying->header.retirements && after.retirements % 2 == 0;
    return status;
}

/* A merge of rows during a copy is rare, but many threads may end.  So all tries after the first
 * one hold the threads. */
static resmon_status copy_all(struct copying *copying, const struct rm_block_hold *hold)
{
    for (int tries = 0; tries < TRIES; tries++) {
        bool is_whole;
        bool is_held = tries > 0 && hold->begin != NULL;
        if (is_held) {
            hold->begin(hold->context);
        }
        resmon_status status = copy_once(copying, &is_whole);
        if (is_held) {
            hold->end(hold->context);
        }
        if (status != RESMON_OK || is_whole) {
            return status;
        }
    }
    return rm_error(RESMON_EBUSY, "the run changes too fast to be copied");
}

resmon_status rm_block_copy_make(const struct rm_infile *live, const struct rm_block_hold *hold,
                                 struct rm_infile *ret_copy)
{
    struct copying *copying = rm_alloc(1, sizeof *copying);
    if (copying == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a copy of the run");
    }
    struct rm_infile copy = {.path = rm_memory_directory, .bytes = live->bytes};
    resmon_status status =
        rm_kept_open(&copy.kept, rm_memory_directory, O_TMPFILE | O_RDWR)
            ? RESMON_OK
            : rm_error_errno(errno, "cannot create a file in %s", rm_memory_directory);
    if (status == RESMON_OK) {
        copying->live = live;
        copying->copy = &copy;
        status = copy_all(copying, hold);
    }
    if (status == RESMON_OK) {
        *ret_copy = copy;
    } else {
        rm_infile_close(&copy);
    }
    rm_free(copying);
    return status;
}
