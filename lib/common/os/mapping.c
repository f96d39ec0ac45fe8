/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MADV_DONTDUMP, mincore */
#include "os/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/status.h"
#include "os/outfile.h"
#include "os/signal_guard.h"

static void *map(int fd, uint64_t bytes)
{
    if (RM_FAULT(RM_FAULT_MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    return mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

resmon_status rm_mapping_anonymous(struct rm_mapping *mapping, uint64_t bytes)
{
    void *memory = map(-1, bytes);
    if (memory == MAP_FAILED) {
        return rm_error_errno(errno, "cannot map %llu bytes of memory", (unsigned long long)bytes);
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return RESMON_OK;
}

/* Every block is allocated now.  (A file system that copies on write may still run full later; none
 * can promise more.) */
int rm_mapping_reserve(const struct rm_kept *kept, uint64_t bytes)
{
    struct rm_signal_guard guard;
    rm_signal_guard_begin(&guard);
    int error = RM_FAULT(RM_FAULT_WRITE) ? ENOSPC
                : rm_kept_is_ours(kept)  ? posix_fallocate(rm_kept_fd(kept), 0, (off_t)bytes)
                                         : EBADF;
    rm_signal_guard_end(&guard);
    return error;
}

/* Another thread of the program may close the descriptor, and have a file of its own under that
 * number: what was mapped counts only if it is still ours after that. */
int rm_mapping_of(struct rm_mapping *mapping, const struct rm_kept *kept, uint64_t bytes)
{
    int error = rm_mapping_reserve(kept, bytes);
    if (error != 0) {
        return error;
    }
    void *memory = map(rm_kept_fd(kept), bytes);
    if (memory == MAP_FAILED) {
        return errno;
    }
    if (!rm_kept_is_ours(kept)) {
        (void)munmap(memory, (size_t)bytes);
        return EBADF;
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return 0;
}

static void give_up(struct rm_outfile *file)
{
    rm_outfile_abandon(file);
    rm_free(file);
}

resmon_status rm_mapping_file(struct rm_mapping *mapping, const char *path, uint64_t bytes)
{
    struct rm_outfile *file = rm_alloc(1, sizeof *file);
    if (file == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the recording %s", path);
    }
    resmon_status status = rm_outfile_open(file, path, 0600);
    if (status != RESMON_OK) {
        rm_free(file);
        return status;
    }
    int error = rm_mapping_of(mapping, &file->kept, bytes);
    if (error != 0) {
        give_up(file);
        return rm_error_errno(error, "cannot reserve %llu bytes for the recording %s",
                              (unsigned long long)bytes, path);
    }
    mapping->pending = file;
    return RESMON_OK;
}

resmon_status rm_mapping_publish(struct rm_mapping *mapping)
{
    struct rm_outfile *file = mapping->pending;
    if (file == NULL) {
        return RESMON_OK;
    }
    /* Without a sync: a recording outlives the program, and does not claim to outlive the power. */
    mapping->pending = NULL;
    resmon_status status = rm_outfile_rename(file);
    rm_free(file);
    return status;
}

#define LOOK_PAGES 1024U

uint64_t rm_mapping_resident(const struct rm_mapping *mapping)
{
    unsigned char pages[LOOK_PAGES];
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t resident = 0;
    for (uint64_t at = 0; at < mapping->bytes; at += LOOK_PAGES * page_bytes) {
        uint64_t left = mapping->bytes - at;
        uint64_t length = left < LOOK_PAGES * page_bytes ? left : LOOK_PAGES * page_bytes;
        if (mincore((char *)mapping->memory + at, (size_t)length, pages) != 0) {
            return 0;
        }
        for (uint64_t i = 0; i * page_bytes < length; i++) {
            resident += pages[i] & 1U;
        }
    }
    return resident * page_bytes;
}

void rm_mapping_free(struct rm_mapping *mapping)
{
    if (mapping->pending != NULL) {
        give_up(mapping->pending);
    }
    if (mapping->memory != NULL) {
        (void)munmap(mapping->memory, (size_t)mapping->bytes);
    }
    *mapping = (struct rm_mapping){0};
}
