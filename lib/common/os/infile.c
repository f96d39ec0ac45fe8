/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SEEK_DATA */
#include "os/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/status.h"
#include "os/kept.h"
#include "os/own_usage.h"

static resmon_status check_size(const struct rm_infile *file, uint64_t bound)
{
    return file->bytes <= bound
               ? RESMON_OK
               : rm_error(RESMON_EFORMAT, "%s has %llu bytes, more than %llu", file->path,
                          (unsigned long long)file->bytes, (unsigned long long)bound);
}

static resmon_status check(struct rm_infile *file, uint64_t bound)
{
    struct stat info;
    if (fstat(rm_kept_fd(&file->kept), &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", file->path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rm_error(RESMON_EFORMAT, "%s is not a regular file", file->path);
    }
    file->bytes = (uint64_t)info.st_size; /* a negative one is too large */
    return check_size(file, bound);
}

resmon_status rm_infile_open(struct rm_infile *file, const char *path, uint64_t bound)
{
    *file = (struct rm_infile){.path = path};
    if (!rm_kept_open(&file->kept, path, O_RDONLY | O_NONBLOCK | O_NOCTTY)) {
        return rm_error_errno(errno, "cannot open %s", path);
    }
    resmon_status status = check(file, bound);
    if (status != RESMON_OK) {
        rm_infile_close(file);
    }
    return status;
}

resmon_status rm_infile_of_memory(struct rm_infile *file, const char *name, const void *memory,
                                  uint64_t bytes, uint64_t bound)
{
    *file = (struct rm_infile){.path = name, .bytes = bytes, .memory = memory};
    return check_size(file, bound);
}

static void copy_memory(const struct rm_infile *file, uint64_t offset, void *bytes, uint64_t length)
{
    uint64_t left = offset < file->bytes ? file->bytes - offset : 0;
    uint64_t there = length < left ? length : left;
    if (there > 0) {
        memcpy(bytes, (const char *)file->memory + file->base + offset, (size_t)there);
    }
    memset((char *)bytes + there, 0, (size_t)(length - there));
}

resmon_status rm_infile_read(const struct rm_infile *file, uint64_t offset, void *bytes,
                             uint64_t length)
{
    uint64_t done = 0;
    if (file->memory != NULL) {
        copy_memory(file, offset, bytes, length);
        return RESMON_OK;
    }
    while (done < length) {
        ssize_t got = -1;
        if (RM_FAULT(RM_FAULT_READ)) {
            errno = EIO;
        } else {
            got = pread(rm_kept_fd(&file->kept), (char *)bytes + done, (size_t)(length - done),
                        (off_t)(file->base + offset + done));
            rm_own_io_note_read(got);
        }
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return rm_error_errno(errno, "cannot read %s", file->path);
        }
        if (got == 0) {
            memset((char *)bytes + done, 0, (size_t)(length - done));
            break;
        }
        done += (uint64_t)got;
    }
    return rm_kept_is_ours(&file->kept)
               ? RESMON_OK
               : rm_error(RESMON_EIO, "the program has closed the descriptor of %s", file->path);
}

uint64_t rm_infile_next_data(const struct rm_infile *file, uint64_t offset)
{
    if (file->memory != NULL || !rm_kept_is_ours(&file->kept)) {
        return offset;
    }
    off_t next = lseek(rm_kept_fd(&file->kept), (off_t)(file->base + offset), SEEK_DATA);
    return next >= 0 ? (uint64_t)next - file->base : errno == ENXIO ? file->bytes : offset;
}

resmon_status rm_infile_read_all(const struct rm_infile *file, char **ret_text)
{
    char *text = rm_alloc(file->bytes + 1, 1);
    *ret_text = NULL;
    if (text == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the %llu bytes of %s",
                        (unsigned long long)file->bytes, file->path);
    }
    resmon_status status = rm_infile_read(file, 0, text, file->bytes);
    if (status != RESMON_OK) {
        rm_free(text);
        return status;
    }
    *ret_text = text;
    return RESMON_OK;
}

void rm_infile_close(struct rm_infile *file)
{
    rm_kept_close(&file->kept);
}
