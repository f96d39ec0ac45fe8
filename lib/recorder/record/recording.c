/* SPDX-License-Identifier: MIT */
#include "record/recording.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "os/identity.h"
#include "os/mapping.h"
#include "os/outfile.h"
#include "record/block_copy.h"
#include "record/leftover.h"
#include "record/record_file.h"
#include "store/events.h"
#include "store/layout.h"
#include "store/run_records.h"

/*
 * A live writer changes these parts of a block:
 *
 *   state   Only the state that is not current.  So a state is consistent if it was current before
 *           and after it was read.
 *   rows    Rows after those in the state, which are not used.  When rows are decimated, all rows
 *           change; then merge_progress changes, too.
 *   trees   When a thread ends, its counts move between two trees; then retirements changes, too.
 *   nodes   If a scope ends twice while its node is read, the current record is overwritten.
 *   events  Rings are overwritten.
 *
 * So the state is read first, until it did not change during the read.  Then the rest is read.  If
 * merge_progress or retirements changed, all is read again.  Changed nodes are read again.  The
 * counts of events after the copy show which events were overwritten.
 */
#define TRY_NS      (2 * RM_NS_PER_S)
#define IMAGE_TRIES 64

/* A writer may be invisible, for example in another container.  Then it is alive if its recording
 * was written within this time, which is three intervals of the thread rm-record. */
#define FRESH_S 15.0

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

/* The result of one try to copy a block. */
struct look {
    bool was_written; /* the writer was alive before the copy */
    bool is_written;  /* the writer was alive after the copy */
    bool is_whole;    /* no change made the copy inconsistent */
    bool is_still;    /* there was no change */
};

static struct rm_identity writer_of(const struct rm_block_header *header)
{
    return (struct rm_identity){.pid = header->writer_pid,
                                .start_ticks = header->writer_start_ticks,
                                .boot_hash = header->writer_boot_hash,
                                .stack = header->writer_stack,
                                .image = header->writer_image};
}

/* Whether the writer is alive.  `memory` has the block; NULL: the block is in the file itself. */
static bool is_written(const struct rm_block_header *header, const struct rm_memory_file *memory)
{
    const struct rm_identity writer = writer_of(header);
    return header->phase != RM_PHASE_STOPPED &&
           (memory != NULL ? rm_memory_file_is_written(memory) : rm_identity_is_alive(&writer));
}

static resmon_status copy_once(const struct rm_infile *file, const struct rm_memory_file *live,
                               unsigned char *memory, struct look *ret_look)
{
    struct pulse middle, after;
    struct rm_block_header header;
    resmon_status status = rm_infile_read(file, 0, &header, sizeof header);
    if (status != RESMON_OK) {
        return status;
    }
    const struct pulse before = pulse_of(&header);
    const bool was_written =
        is_written(&header, live); /* must be checked before the copy, and not after it */
    uint64_t front = rm_block_front(&header, file->bytes);
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
        .is_written = is_written((const struct rm_block_header *)(const void *)memory, live),
        .is_whole = is_same && before.retirements % 2 == 0,
        .is_still = is_same && after.commit == before.commit,
    };
    return RESMON_OK;
}

static resmon_status settle(const struct rm_infile *file, const struct rm_block *block)
{
    uint64_t used = block->header->node_count;
    resmon_status status = RESMON_OK;
    for (size_t k = 0; k < RM_SETTLED; k++) {
        const uint32_t which = rm_settled_section(k);
        const struct rm_section *section = &block->header->sections[which];
        for (uint64_t i = 1; i < used && i < section->count && status == RESMON_OK; i++) {
            status = rm_settle_record(file, which, section->offset + i * section->record_bytes,
                                      rm_block_record(block, which, i));
        }
    }
    return status;
}

/* Reads the current counts of the event rings, after the events were copied. */
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

/* Repairs nodes and event counts in the copy of a live block; *ret_is_whole: no rows or trees moved
 * in that time. */
static resmon_status look_again(const struct rm_infile *file, const struct rm_block *block,
                                bool *ret_is_whole)
{
    struct pulse after;
    resmon_status status = settle(file, block);
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
 * Whether the copy can be used.  A copy of a block with a live writer must be consistent.  A block
 * without a live writer is used as it is, even if its writer was killed during a change.  It is
 * copied again if the writer ended during the copy, or if the block changes: then the writer is in
 * another PID namespace, and invisible.  Data in memory that was copied from a live block may be
 * inconsistent, and cannot be read again, so it is refused.
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
                          "%s is of a program that still runs, and its copy may be inconsistent: "
                          "load the file instead",
                          file->path)
               : rm_error(RESMON_EBUSY, "%s changes too fast to be read; try again", file->path);
}

static resmon_status copy_and_decode(const struct rm_infile *file,
                                     const struct rm_memory_file *live, struct rm_mapping *copy,
                                     struct resmon_run **ret_run)
{
    struct rm_block block;
    struct look look = {0};
    const int64_t until_ns = rm_clock_monotonic_ns() + (file->memory == NULL ? TRY_NS : 0);
    resmon_status status;
    do {
        status = copy_once(file, live, copy->memory, &look);
        if (status == RESMON_OK) {
            status = rm_block_attach(&block, copy->memory, copy->bytes);
        }
        if (status == RESMON_OK && copy->bytes > file->bytes) {
            status = rm_block_clip(&block, file->bytes);
        }
        if (status == RESMON_OK && look.is_whole && look.is_written) {
            status = look_again(file, &block, &look.is_whole);
        }
    } while (status == RESMON_OK && !is_done(file, &look) && rm_clock_monotonic_ns() < until_ns);
    if (status != RESMON_OK) {
        return status;
    }
    if (!is_done(file, &look)) {
        return refuse(file);
    }
    const struct rm_decode how = {.parts = RM_PART_ALL, .is_written = look.is_written};
    return rm_run_decode(&block, &how, ret_run);
}

static bool has_magic(const struct rm_infile *file, const char *wanted)
{
    char magic[8];
    return file->bytes > sizeof magic &&
           rm_infile_read(file, 0, magic, sizeof magic) == RESMON_OK &&
           memcmp(magic, wanted, sizeof magic) == 0;
}

/* Compares the common part of both magics: the writer may be changing one into the other. */
bool rm_recording_is(const struct rm_infile *file)
{
    char magic[RM_BLOCK_MAGIC_COMMON];
    return file->bytes > sizeof magic &&
           rm_infile_read(file, 0, magic, sizeof magic) == RESMON_OK &&
           memcmp(magic, RM_BLOCK_MAGIC, sizeof magic) == 0;
}

/* Adds the fact that the file is truncated, as by a full disk or a broken connection. */
static resmon_status tell_cut(const struct rm_infile *file, uint64_t bytes, struct resmon_run *run)
{
    char text[96];
    struct rm_fact *facts = rm_arena_alloc(&run->strings, run->fact_count + 1, sizeof *facts);
    (void)snprintf(text, sizeof text, "%llu of %llu bytes", (unsigned long long)file->bytes,
                   (unsigned long long)bytes);
    const char *value = rm_arena_text(&run->strings, text, strlen(text));
    if (facts == NULL || value == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the facts of a run");
    }
    memcpy(facts, run->facts, run->fact_count * sizeof *facts);
    facts[run->fact_count++] =
        (struct rm_fact){.group = "run", .key = RM_FACT_CUT, .value = value, .kind = RM_FACT_TEXT};
    run->facts = facts;
    return RESMON_OK;
}

/* The full size of the block, also if the file is truncated. */
static uint64_t bytes_of(const struct rm_infile *file)
{
    struct rm_block_header header;
    bool is_cut = rm_infile_read(file, 0, &header, sizeof header) == RESMON_OK &&
                  header.total_bytes > file->bytes && header.total_bytes <= RM_MAX_RUN_BYTES;
    return is_cut ? header.total_bytes : file->bytes;
}

static resmon_status load_block(const struct rm_infile *file, const struct rm_memory_file *live,
                                struct resmon_run **ret_run)
{
    struct rm_mapping copy = {0};
    uint64_t bytes = bytes_of(file);
    resmon_status status = rm_mapping_anonymous(&copy, bytes);
    if (status == RESMON_OK) {
        status = copy_and_decode(file, live, &copy, ret_run);
        rm_mapping_free(&copy);
    }
    if (status == RESMON_OK && bytes > file->bytes) {
        status = tell_cut(file, bytes, *ret_run);
        if (status != RESMON_OK) {
            rm_run_free(*ret_run);
        }
    }
    return status;
}

/* ---- copies of a block in memory ------------------------------------------------------------ */

static bool is_at_work(const struct rm_infile *image, const struct rm_block_header *header)
{
    struct stat info;
    const struct rm_identity writer = writer_of(header);
    if (is_written(header, NULL) || header->phase == RM_PHASE_STOPPED ||
        rm_identity_is_gone(&writer)) {
        return is_written(header, NULL);
    }
    return image->memory == NULL && fstat(rm_kept_fd(&image->kept), &info) == 0 &&
           difftime(rm_clock_realtime_ns() / RM_NS_PER_S, info.st_mtim.tv_sec) < FRESH_S;
}

/* An image does not change in parts, but the writer may replace the whole image.  Then *ret_is_same
 * is false. */
static resmon_status decode_image(const struct rm_infile *image,
                                  const struct rm_block_header *header, void *memory,
                                  struct resmon_run **ret_run, bool *ret_is_same)
{
    struct rm_block block;
    uint64_t number = 0;
    resmon_status status = rm_infile_read(image, 0, memory, image->bytes);
    if (status == RESMON_OK) {
        status =
            rm_infile_read(image, offsetof(struct rm_block_header, image), &number, sizeof number);
    }
    *ret_is_same =
        status == RESMON_OK && number == header->image && has_magic(image, RM_BLOCK_MAGIC);
    if (!*ret_is_same) {
        return status;
    }
    status = rm_block_attach(&block, memory, image->bytes);
    const struct rm_decode how = {.parts = RM_PART_ALL, .is_written = is_at_work(image, header)};
    return status == RESMON_OK ? rm_run_decode(&block, &how, ret_run) : status;
}

static resmon_status load_image(const struct rm_infile *image, const struct rm_block_header *header,
                                struct resmon_run **ret_run, bool *ret_is_same)
{
    struct rm_mapping copy = {0};
    resmon_status status = rm_mapping_anonymous(&copy, image->bytes);
    if (status == RESMON_OK) {
        status = decode_image(image, header, copy.memory, ret_run, ret_is_same);
        rm_mapping_free(&copy);
    }
    return status;
}

/* Loads the run from the memory file, which is newer than the recording; false: no memory file. */
static bool load_from_memory(const struct rm_infile *file, const struct rm_block_header *header,
                             struct resmon_run **ret_run, resmon_status *ret_status)
{
    struct rm_memory_file memory;
    struct stat info;
    if (file->memory != NULL || fstat(rm_kept_fd(&file->kept), &info) != 0 ||
        !rm_leftover_open(&memory, header, info.st_uid)) {
        return false;
    }
    *ret_status = load_block(&memory.content, &memory, ret_run);
    if (*ret_status == RESMON_OK) {
        rm_leftover_fold(&memory, file);
    }
    rm_memory_file_close(&memory);
    return true;
}

resmon_status rm_recording_load(const struct rm_infile *file, struct resmon_run **ret_run)
{
    if (file->bytes < sizeof(struct rm_block_header)) {
        return rm_error(RESMON_EFORMAT, "the recording is truncated: %llu bytes",
                        (unsigned long long)file->bytes);
    }
    for (int tries = 0; tries < IMAGE_TRIES; tries++) {
        struct rm_infile view = *file;
        struct rm_block_header header;
        char why[RM_ERROR_TEXT_BYTES];
        bool is_same = false;
        resmon_status chosen = rm_record_file_choose(&view, &header);
        resmon_status status = chosen;
        if (chosen == RESMON_OK && header.image == 0) {
            return load_block(file, NULL, ret_run);
        }
        if (chosen != RESMON_OK && chosen != RESMON_EFORMAT) {
            return chosen;
        }
        (void)rm_text_set(why, sizeof why, resmon_last_error());
        if (load_from_memory(file, &header, ret_run, &status) &&
            (status != RESMON_EBUSY || chosen != RESMON_OK)) {
            return status; /* else the memory changes too fast, and the last image is used */
        }
        if (chosen != RESMON_OK) {
            return rm_error(chosen, "%s", why);
        }
        status = load_image(&view, &header, ret_run, &is_same);
        if (status != RESMON_OK || is_same) {
            return status;
        }
    }
    return refuse(file);
}

/* False: no readable recording is at `path`. */
static bool read_header(const char *path, struct rm_block_header *ret_header)
{
    struct rm_infile file;
    if (rm_infile_open(&file, path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return false;
    }
    bool is_recording = file.bytes >= sizeof *ret_header && rm_recording_is(&file) &&
                        rm_record_file_choose(&file, ret_header) == RESMON_OK &&
                        ret_header->version == RM_BLOCK_VERSION;
    rm_infile_close(&file);
    return is_recording;
}

resmon_status rm_recording_set_aside(const char *path)
{
    struct rm_block_header header;
    if (!read_header(path, &header)) {
        return RESMON_OK;
    }
    const struct rm_identity writer = writer_of(&header);
    if (!rm_identity_is_earlier_image(&writer)) {
        rm_leftover_drop(path);
        return RESMON_OK;
    }
    rm_leftover_fold_one(path); /* the memory would not be found by the new name */
    return rm_outfile_set_aside(path);
}

static bool is_busy(const struct rm_block_header *header)
{
    struct rm_memory_file memory;
    if (!rm_leftover_open(&memory, header, geteuid())) {
        return is_written(header, NULL);
    }
    bool is_so = is_written(header, &memory);
    rm_memory_file_close(&memory);
    return is_so;
}

resmon_status rm_recording_check_free(const char *path)
{
    struct rm_block_header header;
    return read_header(path, &header) && is_busy(&header)
               ? rm_error(RESMON_EBUSY,
                          "%s is the recording of process %llu, which still runs: write '%%p' in "
                          "the path so that each process has its own",
                          path, (unsigned long long)header.writer_pid)
               : RESMON_OK;
}
