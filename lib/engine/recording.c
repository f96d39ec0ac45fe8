/* SPDX-License-Identifier: MIT */
#include "engine/recording.h"

#include <string.h>

#include "base/status.h"
#include "store/block.h"
#include "sys/mapping.h"

/*
 * A writer at work changes three things: the state that is not current (so a state that was current
 * before and after reading it is whole), rows behind those that the state knows of (no matter),
 * and, in a halving, the rows themselves (which merge_progress tells).  So: the state first, until
 * it held still; then everything; and again from the start if a halving went on meanwhile.  Scopes
 * and tags need no such care to be sound, only to be of the same instant.
 */
#define TRIES 64

struct pulse {
    uint64_t commit;
    uint64_t merge_progress;
};

static resmon_status read_header(const struct rm_infile *file, struct rm_block_header *ret_header)
{
    return rm_infile_read(file, 0, ret_header, sizeof *ret_header);
}

static resmon_status read_pulse(const struct rm_infile *file, struct pulse *ret_pulse)
{
    struct rm_block_header header;
    resmon_status status = read_header(file, &header);
    if (status == RESMON_OK) {
        *ret_pulse = (struct pulse){header.commit, header.merge_progress};
    }
    return status;
}

/* Where the states end: columns and states come first in a block. */
static uint64_t end_of_states(const struct rm_block_header *header, uint64_t bytes)
{
    const struct rm_section *states = &header->sections[RM_SECTION_STATES];
    uint64_t size = states->record_bytes < bytes ? states->record_bytes * states->count : bytes;
    uint64_t end = states->offset < bytes ? states->offset + size : bytes;
    return end < bytes && end >= sizeof *header ? end : bytes;
}

/* One try; *ret_is_whole: nothing moved that should not have. */
static resmon_status copy_once(const struct rm_infile *file, unsigned char *memory,
                               bool *ret_is_whole)
{
    struct pulse before, after;
    struct rm_block_header header;
    resmon_status status = rm_infile_read(file, 0, memory, file->bytes);
    if (status == RESMON_OK) {
        status = read_header(file, &header);
    }
    if (status != RESMON_OK) {
        return status;
    }
    /* The state of now, and then the rows that it knows of. */
    uint64_t front = end_of_states(&header, file->bytes);
    before = (struct pulse){header.commit, header.merge_progress};
    status = rm_infile_read(file, 0, memory, front);
    if (status == RESMON_OK) {
        status = read_pulse(file, &after);
    }
    bool has_state = status == RESMON_OK && after.commit == before.commit;
    if (status == RESMON_OK && has_state && front < file->bytes) {
        status = rm_infile_read(file, front, memory + front, file->bytes - front);
    }
    if (status == RESMON_OK) {
        status = read_pulse(file, &after);
    }
    *ret_is_whole = has_state && after.merge_progress == before.merge_progress;
    return status;
}

static resmon_status copy_and_decode(const struct rm_infile *file, struct rm_mapping *copy,
                                     struct resmon_run **ret_run)
{
    struct rm_block block;
    struct rm_decode how = {.parts = RM_PART_ALL};
    bool is_whole = false;
    resmon_status status = RESMON_OK;
    for (int tries = 0; tries < TRIES && !is_whole && status == RESMON_OK; tries++) {
        status = copy_once(file, copy->memory, &is_whole);
    }
    if (status == RESMON_OK) {
        status = rm_block_attach(&block, copy->memory, file->bytes);
    }
    return status == RESMON_OK ? rm_run_decode(&block, &how, ret_run) : status;
}

bool rm_recording_is(const struct rm_infile *file)
{
    char magic[8];
    return file->bytes > sizeof magic &&
           rm_infile_read(file, 0, magic, sizeof magic) == RESMON_OK &&
           memcmp(magic, RM_BLOCK_MAGIC, sizeof magic) == 0;
}

resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run)
{
    struct rm_mapping copy = {0};
    resmon_status status = RESMON_OK;
    if (file->bytes < sizeof(struct rm_block_header)) {
        return rm_error(RESMON_EFORMAT, "the recording is truncated: %llu bytes",
                        (unsigned long long)file->bytes);
    }
    status = rm_mapping_anonymous(&copy, file->bytes);
    if (status == RESMON_OK) {
        status = copy_and_decode(file, &copy, ret_run);
        rm_mapping_free(&copy);
    }
    return status;
}
