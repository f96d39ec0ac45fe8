/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "engine/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sanitizer.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/mapping.h"
#include "os/memory_room.h"
#include "os/outfile.h"
#include "record/block_copy.h"
#include "record/leftover.h"
#include "record/record_file.h"
#include "record/recording.h"
#include "scope/session.h"

struct rm_recorder_pace rm_recorder_pace = {.usual_ns = 5 * RM_NS_PER_S,
                                            .remote_ns = 60 * RM_NS_PER_S,
                                            .hurried_ns = RM_NS_PER_S,
                                            .short_bytes = (uint64_t)1 << 30,
                                            .share = 0.005};

#define LAST_TRIES 3 /* attempts of the last copy */

/* Steps requested from the thread, in order; and the last one done. */
enum step { NOTHING, MAKE, PUBLISH, END };

struct rm_recorder {
    pthread_mutex_t lock; /* guards the next seven */
    struct rm_condition changed;
    enum step requested, done;
    bool is_given_up; /* END: a file that is not published is removed */
    int owners;       /* references: the monitor and the thread */
    resmon_status status;
    char text[RM_ERROR_TEXT_BYTES]; /* error text of the last step */
    pthread_t thread;               /* joined when it has ended, else abandoned */
    uint64_t cpu_ns;                /* atomic */
    struct rm_scope_session *session;
    struct rm_mapping mapping; /* until the monitor takes it over */
    /* Used by the thread only: */
    struct rm_memory_file memory;
    struct rm_outfile *pending; /* the file before it has its name */
    struct rm_kept file;        /* the file after it has its name */
    struct rm_record_file copies;
    uint64_t bytes;
    bool is_remote;
    char path[RM_BLOCK_RECORD_BYTES];
};

/* ---- making the two files ---------------------------------------------------------------------
 */

static resmon_status reserve(struct rm_recorder *recorder)
{
    const uint64_t bytes = rm_record_file_bytes(recorder->bytes);
    int error = rm_mapping_reserve(&recorder->pending->kept, bytes);
    return error == 0 ? RESMON_OK
                      : rm_error_errno(error, "cannot reserve %llu bytes for the recording %s",
                                       (unsigned long long)bytes, recorder->path);
}

static resmon_status make_file(struct rm_recorder *recorder)
{
    recorder->pending = rm_alloc(1, sizeof *recorder->pending);
    if (recorder->pending == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the recording %s", recorder->path);
    }
    resmon_status status = rm_outfile_open(recorder->pending, recorder->path, 0600);
    if (status != RESMON_OK) {
        rm_free(recorder->pending);
        recorder->pending = NULL;
        return status;
    }
    status = reserve(recorder);
    return status == RESMON_OK ? rm_record_file_open(&recorder->copies, &recorder->pending->kept,
                                                     recorder->path, recorder->bytes, true)
                               : status;
}

static resmon_status make(struct rm_recorder *recorder)
{
    resmon_status status =
        rm_memory_file_make(&recorder->memory, recorder->bytes, &recorder->mapping);
    return status == RESMON_OK ? make_file(recorder) : status;
}

/* ---- publishing -------------------------------------------------------------------------------
 */

static void begin_hold(void *session)
{
    rm_session_lock(session);
}

static void end_hold(void *session)
{
    rm_session_unlock(session);
}

static resmon_status write_copy(struct rm_recorder *recorder)
{
    struct rm_infile still;
    const struct rm_block_hold hold = {.begin = recorder->session != NULL ? begin_hold : NULL,
                                       .end = end_hold,
                                       .context = recorder->session};
    resmon_status status = rm_block_copy_make(&recorder->memory.content, &hold, &still);
    if (status == RESMON_OK) {
        status = rm_record_file_write(&recorder->copies, &still);
        rm_infile_close(&still);
    }
    rm_memory_file_touch(&recorder->memory);
    return status;
}

/* The descriptor is kept; that of the outfile is closed when it is renamed. */
static resmon_status give_name(struct rm_recorder *recorder)
{
    struct rm_outfile *pending = recorder->pending;
    int fd = rm_kept_is_ours(&pending->kept)
                 ? fcntl(rm_kept_fd(&pending->kept), F_DUPFD_CLOEXEC, rm_kept_fd(&pending->kept))
                 : -1;
    if (fd < 0) {
        return rm_error(RESMON_EIO, "the descriptor of the recording %s is lost", recorder->path);
    }
    recorder->file = pending->kept; /* the tag is on the open file, which both descriptors share */
    recorder->file.fd = fd;
    recorder->copies.kept = &recorder->file;
    recorder->pending = NULL;
    resmon_status status = rm_outfile_rename(pending); /* without a sync: as rm_mapping_publish() */
    rm_free(pending);
    return status;
}

static resmon_status publish(struct rm_recorder *recorder)
{
    resmon_status status = write_copy(recorder);
    if (status == RESMON_OK) {
        status = rm_recording_set_aside(recorder->path);
    }
    return status == RESMON_OK ? give_name(recorder) : status;
}

/* ---- copies -----------------------------------------------------------------------------------
 */

/* Also compares the content, since the inode number of a removed file is reused. */
static bool is_record(const struct rm_recorder *recorder, const struct rm_kept *kept)
{
    struct rm_infile file = {
        .kept = *kept, .path = recorder->path, .bytes = rm_record_file_bytes(recorder->bytes)};
    struct rm_block_header header;
    resmon_status status = rm_record_file_choose(&file, &header);
    return (status == RESMON_OK || status == RESMON_EFORMAT) &&
           strncmp(header.memory_name, recorder->memory.name, sizeof header.memory_name) == 0;
}

/* Opens a file again that the program has closed, if its name is unchanged. */
static resmon_status revive(struct rm_recorder *recorder)
{
    struct rm_kept again;
    resmon_status status = rm_memory_file_revive(&recorder->memory);
    if (status != RESMON_OK || rm_kept_is_ours(&recorder->file)) {
        return status;
    }
    if (!rm_kept_open(&again, recorder->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)) {
        return rm_error_errno(errno, "cannot reopen %s, which the program has closed",
                              recorder->path);
    }
    if (!is_record(recorder, &again)) {
        rm_kept_close(&again);
        return rm_error(RESMON_EIO, "the program has closed %s, and another file now has this name",
                        recorder->path);
    }
    recorder->file = again;
    return RESMON_OK;
}

static void copy_out(struct rm_recorder *recorder)
{
    resmon_status status = revive(recorder);
    if (status == RESMON_OK) {
        status = write_copy(recorder);
    }
    if (status != RESMON_OK) {
        rm_log(RESMON_LOG_WARNING, "record: %s; libresmon tries again", resmon_last_error());
    }
}

static bool is_removed(const struct rm_recorder *recorder)
{
    struct stat info;
    return rm_kept_is_ours(&recorder->file) && fstat(rm_kept_fd(&recorder->file), &info) == 0 &&
           info.st_nlink == 0;
}

/* The user removed the file, and does not want it; or another program uses the path. */
static resmon_status check_removal(const struct rm_recorder *recorder)
{
    struct rm_infile other;
    bool is_replaced = rm_infile_open(&other, recorder->path, RM_MAX_RUN_BYTES) == RESMON_OK &&
                       rm_recording_is(&other);
    rm_infile_close(&other);
    return is_replaced ? rm_error(RESMON_EBUSY,
                                  "another recording has replaced %s: write '%%p' in the path so "
                                  "that each process has its own",
                                  recorder->path)
                       : RESMON_OK;
}

static resmon_status copy_last(struct rm_recorder *recorder)
{
    resmon_status status = RESMON_EIO;
    for (int tries = 0; tries < LAST_TRIES && status != RESMON_OK; tries++) {
        status = revive(recorder);
        if (status == RESMON_OK && is_removed(recorder)) {
            rm_memory_file_remove(recorder->memory.name);
            return check_removal(recorder);
        }
        if (status == RESMON_OK) {
            status = rm_record_file_end(&recorder->copies, &recorder->memory.content);
        }
    }
    if (status == RESMON_OK) {
        rm_memory_file_remove(recorder->memory.name);
    }
    return status;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static void note_cost(struct rm_recorder *recorder)
{
    RM_STORE(&recorder->cpu_ns, (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
}

static void say_done(struct rm_recorder *recorder, enum step step, resmon_status status)
{
    note_cost(recorder);
    (void)pthread_mutex_lock(&recorder->lock);
    recorder->status = status;
    (void)rm_text_set(recorder->text, sizeof recorder->text,
                      status != RESMON_OK ? resmon_last_error() : "");
    recorder->done = step;
    rm_condition_signal(&recorder->changed);
    (void)pthread_mutex_unlock(&recorder->lock);
}

/* The requested step, or NOTHING at `until_ns`. */
static enum step wait_for(struct rm_recorder *recorder, enum step least, int64_t until_ns)
{
    (void)pthread_mutex_lock(&recorder->lock);
    while (recorder->requested < least &&
           rm_condition_wait(&recorder->changed, &recorder->lock, until_ns)) {
    }
    enum step requested = recorder->requested;
    (void)pthread_mutex_unlock(&recorder->lock);
    return requested;
}

static void free_recorder(struct rm_recorder *recorder)
{
    (void)pthread_mutex_destroy(&recorder->lock);
    rm_free(recorder);
}

/* Releases a reference; the last release frees the recorder. */
static void leave(struct rm_recorder *recorder)
{
    (void)pthread_mutex_lock(&recorder->lock);
    bool is_last = --recorder->owners == 0;
    (void)pthread_mutex_unlock(&recorder->lock);
    if (is_last) {
        free_recorder(recorder);
    }
}

static void *fold_left(void *unused)
{
    rm_kept_isolate_thread();
    rm_leftover_fold_all();
    return unused;
}

/* On a thread of its own, as the recordings of dead programs may be on a slow file system. */
static void merge_leftovers(void)
{
    pthread_t thread;
    const struct rm_thread_work work = {"rm-fold", RM_STACK_SMALL, fold_left, NULL};
    if (rm_leftover_is_there() && rm_thread_start(&thread, &work) == RESMON_OK) {
        (void)pthread_detach(thread);
    }
}

/* Copies are more frequent if memory is short: a container that kills the program also frees the
 * memory file. */
static bool is_due(const struct rm_recorder *recorder, int64_t since_ns, int64_t cost_ns)
{
    struct rm_memory_room room;
    const int64_t waited_ns = rm_clock_monotonic_ns() - since_ns;
    if ((double)cost_ns > rm_recorder_pace.share * (double)waited_ns) {
        return false;
    }
    if (waited_ns >=
        (recorder->is_remote ? rm_recorder_pace.remote_ns : rm_recorder_pace.usual_ns)) {
        return true;
    }
    if (!rm_kept_is_isolated() && !rm_sanitizer_is_here()) {
        return false; /* the check opens thirty descriptors, in a table shared with the program */
    }
    rm_memory_room_look(NULL, &room);
    return room.bytes < rm_recorder_pace.short_bytes;
}

static void copy_until_end(struct rm_recorder *recorder)
{
    int64_t copied_ns = rm_clock_monotonic_ns(), cost_ns = 0;
    while (wait_for(recorder, END, rm_clock_monotonic_ns() + rm_recorder_pace.hurried_ns) != END) {
        if (is_due(recorder, copied_ns, cost_ns)) {
            const int64_t before_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
            copied_ns = rm_clock_monotonic_ns();
            copy_out(recorder);
            cost_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        }
        note_cost(recorder);
    }
}

static void close_files(struct rm_recorder *recorder)
{
    if (recorder->pending != NULL) {
        rm_outfile_abandon(recorder->pending);
        rm_free(recorder->pending);
        recorder->pending = NULL;
    }
    rm_record_file_close(&recorder->copies);
    rm_kept_close(&recorder->file);
    rm_memory_file_close(&recorder->memory);
}

/* Returns the status of the last step. */
static resmon_status work(struct rm_recorder *recorder)
{
    resmon_status status = make(recorder);
    if (status == RESMON_OK) {
        say_done(recorder, MAKE, status);
        (void)wait_for(recorder, PUBLISH, RM_WAIT_FOR_EVER);
        status = recorder->is_given_up ? RESMON_ESTATE : publish(recorder);
    }
    if (status != RESMON_OK) {
        rm_memory_file_remove(recorder->memory.name); /* the recording never began */
        return status;
    }
    say_done(recorder, PUBLISH, status);
    merge_leftovers();
    copy_until_end(recorder);
    return copy_last(recorder);
}

static void *run_thread(void *recorder_)
{
    struct rm_recorder *recorder = recorder_;
    rm_kept_isolate_thread();
    resmon_status status = work(recorder);
    close_files(recorder);
    if (recorder->session != NULL) {
        rm_session_unref(recorder->session);
    }
    say_done(recorder, END, status);
    leave(recorder);
    return NULL;
}

/* ---- calls by the monitor ---------------------------------------------------------------------
 */

static void ask(struct rm_recorder *recorder, enum step step)
{
    (void)pthread_mutex_lock(&recorder->lock);
    recorder->requested = recorder->requested > step ? recorder->requested : step;
    rm_condition_signal(&recorder->changed);
    (void)pthread_mutex_unlock(&recorder->lock);
}

/* False: the deadline has passed. */
static bool wait_until_done(struct rm_recorder *recorder, enum step step, int64_t until_ns,
                            resmon_status *ret_status)
{
    (void)pthread_mutex_lock(&recorder->lock);
    while (recorder->done < step &&
           rm_condition_wait(&recorder->changed, &recorder->lock, until_ns)) {
    }
    bool is_done = recorder->done >= step;
    *ret_status = recorder->status;
    (void)pthread_mutex_unlock(&recorder->lock);
    if (is_done && *ret_status != RESMON_OK) {
        *ret_status = rm_error(*ret_status, "%s", recorder->text);
    }
    return is_done;
}

static struct rm_recorder *new_recorder(const char *path, uint64_t bytes)
{
    struct rm_recorder *recorder = rm_alloc(1, sizeof *recorder);
    if (recorder != NULL) {
        (void)pthread_mutex_init(&recorder->lock, NULL);
        (void)rm_text_set(recorder->path, sizeof recorder->path, path);
        recorder->bytes = bytes;
        recorder->owners = 1;
    }
    return recorder;
}

resmon_status rm_recorder_make(const char *path, uint64_t bytes, bool is_remote,
                               struct rm_mapping *ret_mapping, struct rm_recorder **ret_recorder)
{
    if (strlen(path) >= RM_BLOCK_RECORD_BYTES) {
        return rm_error(RESMON_ENOTSUP, "a path longer than %d bytes", RM_BLOCK_RECORD_BYTES - 1);
    }
    if (rm_record_file_bytes(bytes) > (uint64_t)RM_MAX_RUN_BYTES) {
        return rm_error(
            RESMON_ENOTSUP,
            "the recording has two copies of the run, which would be too large to load");
    }
    struct rm_recorder *recorder = new_recorder(path, bytes);
    if (recorder == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the recording %s", path);
    }
    const struct rm_thread_work thread_work = {"rm-record", RM_STACK_SMALL, run_thread, recorder};
    recorder->owners = 2;
    recorder->is_remote = is_remote;
    if (rm_thread_start(&recorder->thread, &thread_work) != RESMON_OK) {
        free_recorder(recorder);
        return rm_error(RESMON_ENOTSUP, "cannot start the thread that writes the recording");
    }
    resmon_status status;
    (void)wait_until_done(recorder, MAKE, RM_WAIT_FOR_EVER, &status);
    *ret_mapping = recorder->mapping;
    if (status != RESMON_OK) {
        rm_mapping_free(ret_mapping);
        rm_recorder_free(recorder, false);
        return status;
    }
    *ret_recorder = recorder;
    return RESMON_OK;
}

void rm_recorder_mark(const struct rm_recorder *recorder, struct rm_block_header *header)
{
    (void)rm_text_set(header->memory_name, sizeof header->memory_name, recorder->memory.name);
    (void)rm_text_set(header->record_path, sizeof header->record_path, recorder->path);
}

resmon_status rm_recorder_publish(struct rm_recorder *recorder, struct rm_scope_session *session)
{
    resmon_status status;
    recorder->session = session;
    ask(recorder, PUBLISH);
    (void)wait_until_done(recorder, PUBLISH, RM_WAIT_FOR_EVER, &status);
    return status;
}

uint64_t rm_recorder_cpu_ns(const struct rm_recorder *recorder)
{
    return RM_LOAD(&recorder->cpu_ns);
}

void rm_recorder_end(struct rm_recorder *recorder)
{
    ask(recorder, END);
}

resmon_status rm_recorder_wait(struct rm_recorder *recorder, int64_t deadline_ns)
{
    resmon_status status;
    if (wait_until_done(recorder, END, deadline_ns, &status)) {
        return status;
    }
    rm_log(RESMON_LOG_WARNING, "record: %s was not written in time and may be incomplete",
           recorder->path);
    return rm_error(RESMON_ETIMEDOUT,
                    "the recording %s was not written in time: the rest of its data is in %s",
                    recorder->path, rm_memory_directory);
}

void rm_recorder_free(struct rm_recorder *recorder, bool is_inherited)
{
    resmon_status status;
    if (recorder == NULL || is_inherited) {
        return; /* a forked child has no thread, and its memory ends with it */
    }
    (void)pthread_mutex_lock(&recorder->lock);
    recorder->is_given_up = recorder->requested < PUBLISH;
    bool only_waits = recorder->requested < END;
    (void)pthread_mutex_unlock(&recorder->lock);
    if (only_waits) {
        ask(recorder, END);
    }
    bool is_done = wait_until_done(recorder, END, only_waits ? RM_WAIT_FOR_EVER : 0, &status);
    (void)(is_done ? pthread_join(recorder->thread, NULL) : pthread_detach(recorder->thread));
    leave(recorder);
}
