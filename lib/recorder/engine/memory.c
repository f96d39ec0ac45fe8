/* SPDX-License-Identifier: MIT */
#include "engine/memory.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "engine/energy_division.h"
#include "engine/recorder.h"
#include "job/path_pattern.h"
#include "os/file.h"
#include "os/memory_room.h"
#include "os/outfile.h"
#include "os/own_usage.h"
#include "record/recording.h"
#include "scope/session.h"
#include "scope/site.h"
#include "scope/thread_counters.h"
#include "stack/interpreter.h"
#include "store/layout.h"
#include "store/run_records.h"
#include "store/scope_records.h"

/* ---- the block ------------------------------------------------------------------------------ */

#define FACT_BYTES  17408 /* without labels */
#define LABEL_BYTES 10    /* of a label, beside its texts */
#define SITES       1024
#define STACKS      8192

/* For other processes: all processes that they start, and the names of their code.  Names, and more
 * stacks, are also for Python, whose frames are lines. */
#define OUTSIDE_STACKS 32768
#define STACK_TEXTS    1048576

/* ---- its size --------------------------------------------------------------------------- */

/* Site numbers are per process.  So the capacity includes all earlier sites, and one new site per
 * path. */
static uint64_t site_room(const struct rm_options *options)
{
    uint64_t fresh = options->values.scope_paths > SITES ? options->values.scope_paths : SITES;
    uint64_t room = rm_site_count() + fresh;
    return room < RM_MAX_SITES ? room : RM_MAX_SITES;
}

/* Sets the sizes for scopes; without scopes, the minimum sizes of a block. */
static void set_scope_sizes(const struct rm_options *options, bool is_self,
                            struct rm_block_sizes *sizes)
{
    const struct rm_counter_wish wish = rm_counter_wish_of(&options->scope_counters);
    sizes->sites = sizes->nodes = 2;
    sizes->threads = sizes->depth = 1;
    if (!options->wants_scopes) {
        return;
    }
    sizes->sites = site_room(options);
    sizes->nodes = options->values.scope_paths;
    sizes->threads = options->values.scope_threads;
    sizes->depth = options->values.scope_depth;
    if (is_self) {
        sizes->events = options->values.events;
        sizes->scope_energy = rm_energy_division_is_wanted(options->values.domains);
        sizes->lines = RM_LINES;
        sizes->scope_counters = rm_counter_plan_room(&wish);
        sizes->scope_tallies = (options->meters & RM_SUMMING_METERS) != 0;
    }
}

static uint64_t label_bytes(const resmon_monitor_options *values)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < values->label_count; i++) {
        bytes += LABEL_BYTES + strlen(values->labels[i].name) + strlen(values->labels[i].value);
    }
    return bytes;
}

static struct rm_block_sizes sizes_of(const struct rm_options *options,
                                      const struct rm_sampler *sampler)
{
    bool is_self = sampler->collect.is_self;
    bool has_each = !is_self && (options->values.flags & RESMON_FLAG_EACH) != 0;
    bool has_names = !is_self || rm_interpreter_is_here();
    struct rm_block_sizes sizes = {
        .columns = sampler->column_count,
        .rows = options->values.rows,
        .sources = sampler->source_count > 0 ? sampler->source_count : 1,
        .tags = options->values.tags,
        .fact_bytes = FACT_BYTES + label_bytes(&options->values),
        .stacks = options->values.stacks == 0 ? (has_each ? 1 : 0)
                  : !is_self                  ? OUTSIDE_STACKS
                  : has_names                 ? 2 * STACKS
                                              : STACKS,
        .processes = has_each ? RM_PROCESS_ROWS : 0,
        .stack_texts = options->values.stacks != 0 && has_names ? STACK_TEXTS : 0,
    };
    set_scope_sizes(options, is_self, &sizes);
    return sizes;
}

/* ---- where it is ------------------------------------------------------------------------ */

/* The path that a pattern expands to. */
static RM_COLD resmon_status settle_path(const char *pattern, char path[RM_PATH_BYTES])
{
    char expanded[RM_PATH_BYTES];
    resmon_status status = rm_path_expand(pattern, expanded);
    return status == RESMON_OK ? rm_outfile_settle(expanded, path) : status;
}

bool rm_block_memory_is_file(const struct rm_options *options, const char *path)
{
    char recording[RM_PATH_BYTES];
    const char *record = options->values.record;
    return record != NULL && settle_path(record, recording) == RESMON_OK &&
           rm_outfile_is_same(recording, path);
}

void rm_block_memory_unmap(void *mapping)
{
    rm_mapping_free(mapping);
    rm_free(mapping);
}

/* The block is in memory and is copied out, unless the file is in memory itself.  A file on another
 * machine is never mapped: if its server fails, that ends the program. */
static resmon_status map_file(struct rm_block_memory *memory, char path[RM_PATH_BYTES],
                              struct rm_mapping *mapping, uint64_t bytes)
{
    char *name = strrchr(path, '/') + 1;
    char first = *name;
    *name = '\0';
    const struct rm_file_system system = rm_file_system_of(path);
    *name = first;
    if (system.is_memory) {
        return rm_mapping_file(mapping, path, bytes);
    }
    memory->record_system = system.name;
    resmon_status status =
        rm_recorder_make(path, bytes, system.is_remote, mapping, &memory->recorder);
    if (status != RESMON_ENOTSUP || system.is_remote) {
        return status;
    }
    rm_log(RESMON_LOG_WARNING,
           "record: scopes wait if the file system of %s (%s) stalls, since the run cannot be kept "
           "in memory: %s",
           path, system.name, resmon_last_error());
    return rm_mapping_file(mapping, path, bytes);
}

/* `resmon run` finds the recording by a link. */
static resmon_status map_recording(struct rm_block_memory *memory, const struct rm_options *options,
                                   struct rm_mapping *mapping, uint64_t bytes)
{
    char path[RM_PATH_BYTES];
    resmon_status status = settle_path(options->values.record, path);
    status = status == RESMON_OK ? rm_recording_check_free(path) : status;
    status = status == RESMON_OK ? map_file(memory, path, mapping, bytes) : status;
    if (status == RESMON_OK && options->run_record != NULL &&
        symlink(path, options->run_record) != 0) {
        rm_log(RESMON_LOG_WARNING, "resmon run does not find the recording %s (errno %d)", path,
               errno);
    }
    return status;
}

static resmon_status map(struct rm_block_memory *memory, const struct rm_options *options,
                         struct rm_mapping *mapping, uint64_t bytes)
{
    const char *record = options->values.record;
    const char *wished = record == NULL ? options->run_record : NULL;
    memory->is_of_run = wished != NULL && rm_mapping_file(mapping, wished, bytes) == RESMON_OK;
    if (memory->is_of_run) {
        return RESMON_OK;
    }
    if (record == NULL) {
        return rm_mapping_anonymous(mapping, bytes);
    }
    resmon_status status = map_recording(memory, options, mapping, bytes);
    return status == RESMON_OK ? RESMON_OK : rm_error_within(status, "record");
}

resmon_status rm_block_memory_make(struct rm_block_memory *memory, const struct rm_options *options,
                                   const struct rm_sampler *sampler, struct rm_block *ret_block)
{
    uint64_t bytes;
    const struct rm_block_sizes sizes = sizes_of(options, sampler);
    resmon_status status = rm_block_measure(&sizes, &bytes);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_address_space_check(bytes);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_mapping *mapping = rm_alloc(1, sizeof *mapping);
    if (mapping == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a run");
    }
    status = map(memory, options, mapping, bytes);
    if (status != RESMON_OK) {
        rm_free(mapping);
        return status;
    }
    rm_block_format(ret_block, mapping->memory, &sizes);
    if (memory->recorder != NULL) {
        rm_recorder_mark(memory->recorder, ret_block->header);
    }
    memory->mapping = mapping;
    return RESMON_OK;
}

/* ---- its name --------------------------------------------------------------------------- */

/* A reference to the session, if it is the current session.  Else NULL: no scope changes this
 * block. */
static struct rm_scope_session *current(struct rm_scope_session *session)
{
    struct rm_scope_session *now = session != NULL ? rm_session_current() : NULL;
    if (now != NULL && now != session) {
        rm_session_unref(now);
        now = NULL;
    }
    return now;
}

resmon_status rm_block_memory_publish(struct rm_block_memory *memory,
                                      struct rm_scope_session *session)
{
    resmon_status status = RESMON_OK;
    if (memory->recorder != NULL) {
        return rm_recorder_publish(memory->recorder, current(session));
    }
    if (memory->mapping->pending != NULL) {
        status = rm_recording_set_aside(memory->mapping->pending->path);
    }
    return status == RESMON_OK ? rm_mapping_publish(memory->mapping) : status;
}

void rm_block_memory_free(struct rm_block_memory *memory, bool is_given_away, bool is_inherited)
{
    if (memory->mapping != NULL && !is_given_away) {
        rm_block_memory_unmap(memory->mapping);
    }
    rm_recorder_free(memory->recorder, is_inherited);
}

/* ---- a monitor's own ------------------------------------------------------------------------ */

uint64_t rm_own_memory_rss(void)
{
    struct rm_kept file = {0};
    uint64_t bytes = 0;
    if (!rm_own_rss_open(&file) || !rm_own_rss_read(&file, &bytes)) {
        bytes = 0;
    }
    rm_kept_close(&file);
    return bytes;
}

/* Pages of the block become resident as it is written, and as it is read.  Therefore the RSS is
 * noted before reading; it includes pages that earlier readings touched. */
void rm_own_memory_note(const struct rm_own_memory *own)
{
    if (own->start_rss_1 > 0) {
        RM_STORE(&own->header->own_rss_1, own->start_rss_1 + rm_mapping_resident(own->mapping));
    }
}

/* Memory that other threads of the program allocate at the same time is included. */
void rm_own_memory_note_start(struct rm_own_memory *own, uint64_t rss_before)
{
    if (!own->is_self) {
        return;
    }
    uint64_t rss = rm_own_memory_rss();
    uint64_t known = rm_mapping_resident(own->mapping) + RM_LOAD(&own->header->own_stacks_rss);
    if (rss_before > 0 && rss > 0) {
        uint64_t grown = rss > rss_before ? rss - rss_before : 0;
        own->start_rss_1 = (grown > known ? grown - known : 0) + 1;
    }
    rm_own_memory_note(own);
}

void rm_own_memory_note_rise(const struct rm_own_memory *own, uint64_t bytes)
{
    uint64_t known = RM_LOAD(&own->header->own_work_rss_1);
    while (own->is_self && known < bytes + 1 &&
           !__atomic_compare_exchange_n(&own->header->own_work_rss_1, &known, bytes + 1, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

#define MIB (UINT64_C(1) << 20)

/* glibc gives each allocating thread a heap of its own, and reserves 64 MiB for it. */
#define TIGHT_BYTES (512 * MIB)

/* Four threads with their stacks and buffers, and a run while it is written. */
#define OWN_BYTES (10 * MIB)

/* A thread with the usual stack of 8 MiB, and as much again. */
#define PROGRAM_BYTES (16 * MIB)

void rm_address_space_save(void)
{
#ifdef M_ARENA_MAX
    struct rm_memory_room room;
    rm_memory_room_of_process(NULL, &room);
    if (room.bytes < TIGHT_BYTES) {
        (void)mallopt(M_ARENA_MAX, 1);
    }
#endif
}

resmon_status rm_address_space_decide(const struct rm_memory_room *room, uint64_t block_bytes)
{
    uint64_t own = block_bytes + OWN_BYTES;
    if (room->bytes >= own + PROGRAM_BYTES) {
        return RESMON_OK;
    }
    char left[RM_HUMAN_BYTES], needed[RM_HUMAN_BYTES], programs[RM_HUMAN_BYTES];
    rm_human_bytes(left, (double)room->bytes);
    rm_human_bytes(needed, (double)own);
    rm_human_bytes(programs, (double)PROGRAM_BYTES);
    return rm_error(RESMON_ENOMEM,
                    "only %s of memory are left of %s: observing needs about %s, which leaves the "
                    "program less than %s",
                    left, room->limit, needed, programs);
}

resmon_status rm_address_space_check(uint64_t block_bytes)
{
    struct rm_memory_room room;
    rm_memory_room_of_process(NULL, &room);
    return rm_address_space_decide(&room, block_bytes);
}
