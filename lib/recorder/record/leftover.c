/* SPDX-License-Identifier: MIT */
#include "record/leftover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/record_file.h"

/* Memory files without a recording: the number that is kept, and for how long. */
#define MOST_LOST  8
#define LONG_AGO_S (24.0 * 3600.0)

static bool is_same_run(const struct rm_block_header *a, const struct rm_block_header *b)
{
    return a->writer_pid == b->writer_pid && a->writer_start_ticks == b->writer_start_ticks &&
           a->writer_boot_hash == b->writer_boot_hash &&
           a->start_realtime_ns == b->start_realtime_ns && a->total_bytes == b->total_bytes;
}

/* False for a finished recording, which names no memory. */
static bool is_its_memory(const struct rm_block_header *record, const struct rm_block_header *live)
{
    return is_same_run(record, live) &&
           strncmp(record->memory_name, live->memory_name, sizeof live->memory_name) == 0;
}

static bool read_header(const struct rm_memory_file *memory, struct rm_block_header *ret_header)
{
    return memory->content.bytes >= sizeof *ret_header &&
           rm_infile_read(&memory->content, 0, ret_header, sizeof *ret_header) == RESMON_OK &&
           memchr(ret_header->record_path, '\0', sizeof ret_header->record_path) != NULL;
}

bool rm_leftover_open(struct rm_memory_file *memory, const struct rm_block_header *header,
                      uid_t owner)
{
    struct rm_block_header live;
    if (memchr(header->memory_name, '\0', sizeof header->memory_name) == NULL ||
        header->memory_name[0] == '\0' ||
        rm_memory_file_open(memory, header->memory_name, owner, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return false;
    }
    bool is_it = memory->content.bytes == header->total_bytes && read_header(memory, &live) &&
                 is_its_memory(header, &live);
    if (!is_it) {
        rm_memory_file_close(memory);
    }
    return is_it;
}

/* Whether another file is at the recording's path.  Then this recording is a copy, and the file at
 * the path needs the memory, too. */
static bool is_copy(const struct rm_block_header *header, const struct rm_kept *kept)
{
    struct stat info;
    return stat(header->record_path, &info) == 0 &&
           (info.st_dev != kept->device || info.st_ino != kept->inode);
}

/* Reads the header of the newest complete image of a recording, else of the first image. */
static bool choose(const struct rm_infile *record, struct rm_block_header *ret_header)
{
    struct rm_infile view = *record;
    resmon_status status = rm_record_file_choose(&view, ret_header);
    return status == RESMON_OK || status == RESMON_EFORMAT;
}

/* Called with the lock of the memory file, so that no other process changes the recording. */
static void fold_locked(const struct rm_memory_file *memory, const struct rm_infile *record)
{
    struct rm_block_header header, live;
    struct rm_record_file file;
    if (!choose(record, &header) || !read_header(memory, &live) || !is_its_memory(&header, &live) ||
        rm_record_file_open(&file, &record->kept, record->path, memory->content.bytes, false) !=
            RESMON_OK) {
        return;
    }
    file.image = header.image;
    if (rm_record_file_end(&file, &memory->content) == RESMON_OK &&
        !is_copy(&live, &record->kept)) {
        rm_memory_file_remove(memory->name);
    }
    rm_record_file_close(&file);
}

void rm_leftover_fold(const struct rm_memory_file *memory, const struct rm_infile *record)
{
    struct rm_infile again = {.path = record->path, .bytes = record->bytes};
    if (!rm_memory_file_seize(memory) ||
        !rm_kept_open(&again.kept, record->path, O_RDWR | O_NONBLOCK | O_NOCTTY)) {
        return;
    }
    struct stat info;
    if (fstat(rm_kept_fd(&again.kept), &info) == 0 && info.st_size >= 0 &&
        info.st_dev == record->kept.device && info.st_ino == record->kept.inode) {
        again.bytes = (uint64_t)info.st_size;
        fold_locked(memory, &again);
    }
    rm_kept_close(&again.kept);
}

/* Opens the recording at `path`, and its memory. */
static bool open_both(const char *path, struct rm_infile *record, struct rm_memory_file *memory)
{
    struct rm_block_header header;
    if (rm_infile_open(record, path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return false;
    }
    if (choose(record, &header) && rm_leftover_open(memory, &header, geteuid())) {
        return true;
    }
    rm_infile_close(record);
    return false;
}

void rm_leftover_fold_one(const char *path)
{
    struct rm_infile record;
    struct rm_memory_file memory;
    if (open_both(path, &record, &memory)) {
        rm_leftover_fold(&memory, &record);
        rm_memory_file_close(&memory);
        rm_infile_close(&record);
    }
}

void rm_leftover_drop(const char *path)
{
    struct rm_infile record;
    struct rm_memory_file memory;
    if (open_both(path, &record, &memory)) {
        if (rm_memory_file_seize(&memory)) {
            rm_memory_file_remove(memory.name);
        }
        rm_memory_file_close(&memory);
        rm_infile_close(&record);
    }
}

/* ---- of all runs of this user --------------------------------------------------------------- */

/* A memory file whose recording is not found: removed, moved, or in another mount namespace. */
struct lost {
    const char *name;
    double age_s;
};

/* True: the recording of `memory` is not found. */
static bool fold(const struct rm_memory_file *memory)
{
    struct rm_infile record;
    struct rm_block_header left, header;
    if (!read_header(memory, &left) ||
        rm_infile_open(&record, left.record_path, RM_MAX_RUN_BYTES) != RESMON_OK) {
        return true;
    }
    bool is_its = choose(&record, &header) && is_same_run(&header, &left);
    if (is_its && is_its_memory(&header, &left)) {
        rm_leftover_fold(memory, &record);
    } else if (is_its && rm_memory_file_seize(memory)) {
        rm_memory_file_remove(memory->name); /* left after the recording was finished */
    }
    rm_infile_close(&record);
    return !is_its;
}

static int compare_age(const void *a_, const void *b_)
{
    const struct lost *a = a_, *b = b_;
    return (a->age_s > b->age_s) - (a->age_s < b->age_s);
}

static void remove_lost(const char *name)
{
    struct rm_memory_file memory;
    if (rm_memory_file_open(&memory, name, geteuid(), RM_MAX_RUN_BYTES) == RESMON_OK) {
        if (rm_memory_file_seize(&memory)) {
            rm_memory_file_remove(name);
        }
        rm_memory_file_close(&memory);
    }
}

static void forget(struct lost *lost, size_t count)
{
    if (count > 0) { /* without elements, the array may be NULL */
        qsort(lost, count, sizeof *lost, compare_age);
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= MOST_LOST || lost[i].age_s > LONG_AGO_S) {
            remove_lost(lost[i].name);
        }
    }
}

bool rm_leftover_is_there(void)
{
    size_t count;
    rm_free(rm_memory_file_list(&count));
    return count > 0;
}

void rm_leftover_fold_all(void)
{
    size_t count, lost_count = 0;
    char(*names)[RM_MEMORY_NAME_BYTES] = rm_memory_file_list(&count);
    struct lost *lost = rm_alloc(count, sizeof *lost);
    for (size_t i = 0; i < count && lost != NULL; i++) {
        struct rm_memory_file memory;
        if (rm_memory_file_open(&memory, names[i], geteuid(), RM_MAX_RUN_BYTES) != RESMON_OK) {
            continue;
        }
        if (!rm_memory_file_is_written(&memory) && fold(&memory)) {
            lost[lost_count++] = (struct lost){names[i], rm_memory_file_age(&memory)};
        }
        rm_memory_file_close(&memory);
    }
    forget(lost, lost_count);
    rm_free(lost);
    rm_free(names);
}
