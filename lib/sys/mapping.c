/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MADV_DONTDUMP */
#include "sys/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/status.h"
#include "sys/outfile.h"
#include "sys/signal_guard.h"

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
        return rm_error_errno(errno, "cannot have %llu bytes of memory", (unsigned long long)bytes);
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return RESMON_OK;
}

static resmon_status fill_and_map(struct rm_mapping *mapping, int fd, const char *path,
                                  uint64_t bytes)
{
    /* Every block is allocated now.  (A file system that copies on write may still run full later;
     * none can promise more.) */
    struct rm_signal_guard guard;
    rm_signal_guard_begin(&guard);
    int error = RM_FAULT(RM_FAULT_WRITE) ? ENOSPC : posix_fallocate(fd, 0, (off_t)bytes);
    rm_signal_guard_end(&guard);
    if (error != 0) {
        return rm_error_errno(error, "cannot reserve %llu bytes for the recording %s",
                              (unsigned long long)bytes, path);
    }
    void *memory = map(fd, bytes);
    if (memory == MAP_FAILED) {
        return rm_error_errno(errno, "cannot map the recording %s", path);
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return RESMON_OK;
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
    status = fill_and_map(mapping, file->fd, path, bytes);
    if (status != RESMON_OK) {
        give_up(file);
        return status;
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
