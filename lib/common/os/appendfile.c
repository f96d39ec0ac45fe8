/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "os/appendfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"
#include "os/own_usage.h"
#include "os/signal_guard.h"

#define FLAGS (O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

/* False: another holds it.  A file system without locks has none. */
static bool lock_as(int fd, short type)
{
    struct flock all = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &all) == 0 || (errno != EAGAIN && errno != EACCES);
}

/* Opened first and looked at then, so that nobody can put something else in its place; emptied
 * last. */
static resmon_status check_opened(int fd, const char *path)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rm_error(RESMON_EINVAL, "%s exists and is not a regular file", path);
    }
    if (!lock_as(fd, F_WRLCK)) {
        return rm_error(RESMON_EBUSY,
                        "%s is being written by another process: write %%p in the path so that "
                        "each process has its own",
                        path);
    }
    return ftruncate(fd, 0) == 0 ? RESMON_OK : rm_error_errno(errno, "cannot empty %s", path);
}

resmon_status rm_appendfile_open(struct rm_appendfile *file, const char *path)
{
    *file = (struct rm_appendfile){0};
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : open(path, FLAGS | O_CREAT, 0666);
    if (fd < 0) {
        bool is_other = errno == ELOOP || errno == ENXIO || errno == EISDIR;
        return is_other ? rm_error(RESMON_EINVAL, "%s exists and is not a regular file", path)
                        : rm_error_errno(errno, "cannot create %s", path);
    }
    resmon_status status = check_opened(fd, path);
    if (status != RESMON_OK) {
        (void)close(fd);
        return status;
    }
    rm_kept_take(&file->file, fd);
    return RESMON_OK;
}

/* Opens it again where the program has closed it; the lock went with the descriptor. */
static resmon_status revive(struct rm_appendfile *file)
{
    if (rm_kept_is_ours(&file->file)) {
        return RESMON_OK;
    }
    if (!file->file.is_open || !rm_kept_open(&file->file, file->path, FLAGS)) {
        return rm_error(RESMON_EIO, "%s was closed by the program, and cannot be opened again",
                        file->path);
    }
    file->file.is_quick = false;
    if (!lock_as(rm_kept_fd(&file->file), F_WRLCK)) {
        rm_kept_close(&file->file);
        return rm_error(RESMON_EBUSY, "%s was closed by the program, and another writes it now",
                        file->path);
    }
    return RESMON_OK;
}

/* The number of bytes written, or -1 with errno. */
static ssize_t write_some(struct rm_appendfile *file, const char *bytes, size_t length,
                          uint64_t offset)
{
    struct rm_signal_guard guard;
    struct rm_own_io_part part;
    rm_own_io_begin(&part);
    rm_signal_guard_begin(&guard);
    ssize_t done = RM_FAULT(RM_FAULT_WRITE)
                       ? (errno = ENOSPC, -1)
                       : pwrite(rm_kept_fd(&file->file), bytes, length, (off_t)offset);
    int error = errno;
    rm_signal_guard_end(&guard);
    rm_own_io_note_write(done);
    rm_own_io_end(&part);
    errno = error;
    return done;
}

resmon_status rm_appendfile_add(struct rm_appendfile *file, const char *bytes, size_t length)
{
    size_t written = 0;
    while (written < length) {
        resmon_status revived = revive(file);
        if (revived != RESMON_OK) {
            return revived;
        }
        ssize_t done = write_some(file, bytes + written, length - written, file->bytes + written);
        if (done < 0 && (errno == EINTR || (errno == EBADF && !rm_kept_is_ours(&file->file)))) {
            continue;
        }
        if (done < 0) {
            resmon_status status = rm_error_errno(errno, "cannot write to %s", file->path);
            /* No half record: the next goes over it, but there may be none. */
            int unused = rm_kept_is_ours(&file->file)
                             ? ftruncate(rm_kept_fd(&file->file), (off_t)file->bytes)
                             : 0;
            (void)unused;
            return status;
        }
        written += (size_t)done;
    }
    file->bytes += length;
    return RESMON_OK;
}

resmon_status rm_appendfile_sync(struct rm_appendfile *file)
{
    if (!rm_kept_is_ours(&file->file)) {
        return RESMON_OK;
    }
    return fsync(rm_kept_fd(&file->file)) == 0
               ? RESMON_OK
               : rm_error_errno(errno, "cannot sync %s", file->path);
}

void rm_appendfile_close(struct rm_appendfile *file)
{
    if (rm_kept_is_ours(&file->file)) {
        (void)lock_as(rm_kept_fd(&file->file), F_UNLCK); /* a fork's child may have it open, too */
    }
    rm_kept_close(&file->file);
}
