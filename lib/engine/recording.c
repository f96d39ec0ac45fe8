/* SPDX-License-Identifier: MIT */
#include "engine/recording.h"

#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "stack/naming.h"
#include "store/block.h"
#include "store/events.h"
#include "store/scope_counts.h"
#include "store/scope_tree.h"
#include "sys/identity.h"
#include "sys/mapping.h"

/*
 * A writer at work changes these: the state that is not current (so a state that was current before
 * and after it was read is whole); rows behind those that the state knows of (no matter); in a
 * halving, the rows themselves (which merge_progress tells); and, when a thread ends, the trees
 * between which its counts move (which retirements tells).  So: the state first, until it held
 * still; then everything; and again from the start if one of the others went on meanwhile.  A node
 * of a scope is read once more if the scope ended twice meanwhile, which fills the record that was
 * current.  Events that were overwritten while they were copied are told by the counts after that.
 */
#define TRIES      1024
#define NODE_TRIES 16 /* a scope may end all the time */

struct pulse {
    uint64_t commit;
    uint64_t merge_progress;
    uint64_t retirements;
};

static struct pulse pulse_of(const struct rm_block_header *header)
{
    return (struct pulse){header->commit, header->merge_progress, header->retirements};
}

static resmon_status read_pulse(const struct rm_infile *file, struct pulse *ret_pulse)
{
    struct rm_block_header header;
    resmon_status status = rm_infile_read(file, 0, &header, sizeof header);
    if (status == RESMON_OK) {
        *ret_pulse = pulse_of(&header);
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

/* What one try at a copy is worth. */
struct look {
    bool was_written; /* the writer lived before it, */
    bool is_written;  /* and after it */
    bool is_whole;    /* nothing moved that should not have */
    bool is_still;    /* nothing moved at all */
};

static bool is_written(const struct rm_block_header *header)
{
    const struct rm_identity writer = {header->writer_pid, header->writer_start_ticks,
                                       header->writer_boot_hash};
    return header->phase != RM_PHASE_STOPPED && rm_identity_is_alive(&writer);
}

static resmon_status copy_once(const struct rm_infile *file, unsigned char *memory,
                               struct look *ret_look)
{
    struct pulse middle, after;
    struct rm_block_header header;
    resmon_status status = rm_infile_read(file, 0, &header, sizeof header);
    if (status != RESMON_OK) {
        return status;
    }
    const struct pulse before = pulse_of(&header);
    const bool was_written = is_written(&header); /* asked before the copy, and not after it */
    uint64_t front = end_of_states(&header, file->bytes);
    status = rm_infile_read(file, 0, memory, front);
    if (status == RESMON_OK) {
        status = read_pulse(file, &middle);
    }
    if (status == RESMON_OK && front < file->bytes) {
        status = rm_infile_read(file, front, memory + front, file->bytes - front);
    }
    if (status == RESMON_OK) {
        status = read_pulse(file, &after);
    }
    if (status != RESMON_OK) {
        return status;
    }
    bool is_same = middle.commit == before.commit &&
                   after.merge_progress == before.merge_progress &&
                   after.retirements == before.retirements;
    *ret_look = (struct look){
        .was_written = was_written,
        .is_written = is_written((const struct rm_block_header *)(const void *)memory),
        .is_whole = is_same && before.retirements % 2 == 0,
        .is_still = is_same && after.commit == before.commit,
    };
    return RESMON_OK;
}

static resmon_status settle_node(const struct rm_infile *file, uint64_t offset,
                                 struct rm_scope_node *node)
{
    struct {
        uint32_t wall, meter;
    } then = {0, 0};
    resmon_status status = RESMON_OK;
    for (int tries = 0; tries < NODE_TRIES && status == RESMON_OK; tries++) {
        status = rm_infile_read(file, offset + offsetof(struct rm_scope_node, wall_version), &then,
                                sizeof then);
        if (status == RESMON_OK && then.wall - node->wall_version <= 1 &&
            then.meter - node->meter_version <= 1) {
            break;
        }
        if (status == RESMON_OK) {
            status = rm_infile_read(file, offset, node, sizeof *node);
        }
    }
    return status;
}

static resmon_status settle_nodes(const struct rm_infile *file, const struct rm_block *block)
{
    const struct rm_section *section = &block->header->sections[RM_SECTION_NODES];
    uint64_t used = block->header->node_count;
    resmon_status status = RESMON_OK;
    for (uint64_t i = 1; i < used && i < section->count && status == RESMON_OK; i++) {
        status = settle_node(file, section->offset + i * section->record_bytes,
                             rm_block_record(block, RM_SECTION_NODES, i));
    }
    return status;
}

/* The same of what its counters have counted. */
static resmon_status settle_counts(const struct rm_infile *file, uint64_t offset,
                                   struct rm_scope_counts_record *record)
{
    uint32_t then = 0;
    resmon_status status = RESMON_OK;
    for (int tries = 0; tries < NODE_TRIES && status == RESMON_OK; tries++) {
        status = rm_infile_read(file, offset + offsetof(struct rm_scope_counts_record, version),
                                &then, sizeof then);
        if (status == RESMON_OK && then - record->version <= 1) {
            break;
        }
        if (status == RESMON_OK) {
            status = rm_infile_read(file, offset, record, sizeof *record);
        }
    }
    return status;
}

static resmon_status settle_all_counts(const struct rm_infile *file, const struct rm_block *block)
{
    const struct rm_section *section = &block->header->sections[RM_SECTION_SCOPE_COUNTERS];
    uint64_t used = block->header->node_count;
    resmon_status status = RESMON_OK;
    for (uint64_t i = 1; i < used && i < section->count && status == RESMON_OK; i++) {
        status = settle_counts(file, section->offset + i * section->record_bytes,
                               rm_block_record(block, RM_SECTION_SCOPE_COUNTERS, i));
    }
    return status;
}

/* How far the writer has come in its rings of events by now. */
static resmon_status read_event_counts(const struct rm_infile *file, const struct rm_block *block)
{
    const struct rm_section *section = &block->header->sections[RM_SECTION_EVENTS];
    resmon_status status = RESMON_OK;
    for (uint64_t i = 0; i < section->count && status == RESMON_OK; i++) {
        struct rm_event_ring *ring = rm_block_record(block, RM_SECTION_EVENTS, i);
        uint64_t offset = section->offset + i * section->record_bytes;
        status = rm_infile_read(file, offset + offsetof(struct rm_event_ring, count),
                                &ring->count_then, sizeof ring->count_then);
    }
    return status;
}

/* What can be put right in the copy of a live block; *ret_is_whole: nothing moved meanwhile. */
static resmon_status look_again(const struct rm_infile *file, const struct rm_block *block,
                                bool *ret_is_whole)
{
    struct pulse after;
    resmon_status status = settle_nodes(file, block);
    if (status == RESMON_OK) {
        status = settle_all_counts(file, block);
    }
    if (status == RESMON_OK) {
        status = read_event_counts(file, block);
    }
    if (status == RESMON_OK) {
        status = read_pulse(file, &after);
    }
    *ret_is_whole = status == RESMON_OK && after.merge_progress == block->header->merge_progress &&
                    after.retirements == block->header->retirements;
    return status;
}

/*
 * A live block as far as it is whole.  One that nobody writes is taken as it is, even if its writer
 * was killed in the middle of a change; but not one whose writer stopped while it was copied, nor
 * one that moves: its writer is in another namespace of processes, where it cannot be seen.
 * What somebody else has copied from a live block may be a mixture, and cannot be looked at again.
 */
static bool is_done(const struct rm_infile *file, const struct look *look)
{
    if (look->is_written) {
        return look->is_whole && file->memory == NULL;
    }
    return !look->was_written && look->is_still;
}

static resmon_status refuse(const struct rm_infile *file)
{
    return file->memory != NULL
               ? rm_error(RESMON_EBUSY,
                          "%s is of a program that still runs, and was copied at an unknown "
                          "moment: load the file instead",
                          file->path)
               : rm_error(RESMON_EBUSY, "%s changes too fast to be read; try again", file->path);
}

static resmon_status copy_and_decode(const struct rm_infile *file, struct rm_mapping *copy,
                                     struct resmon_run **ret_run)
{
    struct rm_block block;
    struct look look = {0};
    const int most = file->memory == NULL ? TRIES : 1;
    int tries = 0;
    resmon_status status;
    do {
        status = copy_once(file, copy->memory, &look);
        if (status == RESMON_OK) {
            status = rm_block_attach(&block, copy->memory, file->bytes);
        }
        if (status == RESMON_OK && look.is_whole && look.is_written) {
            status = look_again(file, &block, &look.is_whole);
        }
    } while (status == RESMON_OK && !is_done(file, &look) && ++tries < most);
    if (status != RESMON_OK) {
        return status;
    }
    if (!is_done(file, &look)) {
        return refuse(file);
    }
    const struct rm_decode how = {.parts = RM_PART_ALL, .is_written = look.is_written};
    struct resmon_run *run = NULL;
    status = rm_run_decode(&block, &how, &run);
    if (status == RESMON_OK && rm_naming_fill(NULL, run) == RESMON_ENOMEM) {
        rm_run_free(run);
        return rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    }
    if (status == RESMON_OK) {
        *ret_run = run;
    }
    return status;
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

resmon_status rm_recording_check_free(const char *path)
{
    struct rm_infile file;
    struct rm_block_header header;
    if (rm_infile_open(&file, path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return RESMON_OK; /* there is none: whether one can be made will be seen */
    }
    bool is_busy = file.bytes >= sizeof header && rm_recording_is(&file) &&
                   rm_infile_read(&file, 0, &header, sizeof header) == RESMON_OK &&
                   header.version == RM_BLOCK_VERSION && is_written(&header);
    rm_infile_close(&file);
    return is_busy
               ? rm_error(RESMON_EBUSY,
                          "%s is the recording of process %llu, which still runs; a '%%p' in the "
                          "path gives each process its own",
                          path, (unsigned long long)header.writer_pid)
               : RESMON_OK;
}
