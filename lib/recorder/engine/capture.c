/* SPDX-License-Identifier: MIT */
#include "engine/capture.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/reader.h"
#include "run/decode_profile.h"
#include "run/join.h"
#include "run/run.h"
#include "scope/peak.h"
#include "scope/session.h"

#define MOST_PARTS 1024U

void rm_capture_open(struct rm_capture *capture)
{
    (void)pthread_mutex_init(&capture->parts_lock, NULL);
    (void)pthread_mutex_init(&capture->naming_lock, NULL);
}

void rm_capture_close(struct rm_capture *capture, bool is_inherited)
{
    if (!is_inherited) {
        (void)pthread_mutex_destroy(&capture->parts_lock);
        (void)pthread_mutex_destroy(&capture->naming_lock);
        if (capture->naming != NULL) {
            rm_reader()->free_naming(capture->naming);
        }
    }
    for (size_t i = 0; i < capture->part_count; i++) {
        rm_run_free(capture->parts[i]);
    }
    rm_free(capture->parts);
}

static bool is_live(const struct rm_capture *capture)
{
    return RM_LOAD_ACQUIRE(&capture->block->header->phase) == RM_PHASE_RUNNING;
}

/* ---- runs that are joined --------------------------------------------------------------- */

/* Called with parts_lock held. */
static resmon_status add_part(struct rm_capture *capture, struct resmon_run *part)
{
    if (capture->part_count == MOST_PARTS) {
        return rm_error(RESMON_ENOSPC, "at most %u processes can be joined to a run", MOST_PARTS);
    }
    struct resmon_run **parts =
        rm_grow(capture->parts, capture->part_count, &capture->part_room,
                sizeof(struct resmon_run *)) /* NOLINT(bugprone-sizeof-expression) */;
    if (parts == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the run of another process");
    }
    capture->parts = parts;
    capture->parts[capture->part_count++] = part;
    return RESMON_OK;
}

resmon_status rm_capture_join(struct rm_capture *capture, struct resmon_run *part)
{
    (void)pthread_mutex_lock(&capture->parts_lock);
    resmon_status status = add_part(capture, part);
    (void)pthread_mutex_unlock(&capture->parts_lock);
    return status;
}

/* Parts are only added, never removed. */
static resmon_status join_parts(struct rm_capture *capture, resmon_run *run)
{
    (void)pthread_mutex_lock(&capture->parts_lock);
    resmon_status status =
        capture->part_count > 0 ? rm_run_join(run, capture->parts, capture->part_count) : RESMON_OK;
    (void)pthread_mutex_unlock(&capture->parts_lock);
    return status;
}

/* ---- stacks ----------------------------------------------------------------------------- */

void rm_capture_name(struct rm_naming **naming, resmon_run *run)
{
    if (run->profile.place_count == 0) {
        return;
    }
    const struct rm_reader *reader = rm_reader();
    if (reader != NULL) {
        reader->name(naming, run);
    } else {
        rm_profile_leave_names_out(&run->profile, &run->strings, resmon_last_error());
    }
}

/* Only another capture may wait for this lock. */
static void add_names(struct rm_capture *capture, resmon_run *run)
{
    (void)pthread_mutex_lock(&capture->naming_lock);
    rm_capture_name(&capture->naming, run);
    (void)pthread_mutex_unlock(&capture->naming_lock);
}

/* While the program runs, no memory and time is used for symbolizing. */
static void add_stacks(struct rm_capture *capture, unsigned parts, resmon_run *run)
{
    rm_run_decode_stacks(capture->block, run);
    if (run->profile.place_count == 0) {
        return;
    }
    if ((parts & RM_PART_NAMES) != 0 && !is_live(capture)) {
        add_names(capture, run);
    } else {
        rm_profile_leave_names_out(&run->profile, &run->strings,
                                   "they are looked up when the run ends, or when it is loaded");
    }
}

/* ---- the run ---------------------------------------------------------------------------- */

/* The sampling thread, and a thread at the first visit of a call path, may wait for these locks. */
static void lock_block(struct rm_capture *capture)
{
    (void)pthread_mutex_lock(&capture->sampler->store_lock);
    if (capture->session != NULL) {
        rm_session_lock(capture->session);
    }
}

static void unlock_block(struct rm_capture *capture)
{
    if (capture->session != NULL) {
        rm_session_unlock(capture->session);
    }
    (void)pthread_mutex_unlock(&capture->sampler->store_lock);
}

/* Memory is allocated without a lock.  If the allocation fails, ret_run may still be set. */
static resmon_status copy_block(struct rm_capture *capture, unsigned parts, resmon_run **ret_run)
{
    const struct rm_block *block = capture->block;
    lock_block(capture);
    struct rm_run_extent extent = rm_run_measure(block);
    unlock_block(capture);
    resmon_status status = rm_run_prepare(block, extent, parts, ret_run);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_decode how = {
        .parts = parts,
        .is_live = is_live(capture),
        .now = rm_clock_read_pair(),
    };
    lock_block(capture);
    status = rm_run_fill(block, &how, *ret_run);
    unlock_block(capture);
    return status;
}

static resmon_status make(struct rm_capture *capture, unsigned parts, resmon_run **ret_run)
{
    resmon_run *run = NULL;
    const struct rm_block *block = capture->block;
    if (is_live(capture)) {
        rm_own_memory_note(capture->own);
    }
    resmon_status status = copy_block(capture, parts, &run);
    if (status == RESMON_OK) {
        status = rm_run_finish(block, run);
    }
    if (status == RESMON_OK) {
        status = rm_run_decode_processes(block, run);
    }
    if (status == RESMON_OK && (parts & RM_PART_SCOPES) != 0) {
        status = join_parts(capture, run);
    }
    if (status != RESMON_OK) {
        rm_run_free(run);
        return status;
    }
    if ((parts & RM_PART_STACKS) != 0) {
        add_stacks(capture, parts, run);
    }
    *ret_run = run;
    return RESMON_OK;
}

struct wish {
    struct rm_capture *capture;
    unsigned parts;
    resmon_run **ret_run;
};

static resmon_status grant(void *wish_)
{
    const struct wish *wish = wish_;
    struct rm_peak_work work;
    uint64_t bytes = 0;
    if (!wish->capture->own->is_self || !is_live(wish->capture)) {
        return make(wish->capture, wish->parts, wish->ret_run);
    }
    rm_peak_work_begin(&work);
    resmon_status status = make(wish->capture, wish->parts, wish->ret_run);
    if (rm_peak_work_end(&work, &bytes)) {
        rm_own_memory_note_rise(wish->capture->own, bytes);
    }
    return status;
}

resmon_status rm_capture_run(struct rm_capture *capture, unsigned parts, resmon_run **ret_run)
{
    struct wish wish = {capture, parts, ret_run};
    return rm_thread_call(grant, &wish);
}
