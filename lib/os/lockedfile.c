/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "os/lockedfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"
#include "os/infile.h"
#include "os/own_io.h"

static resmon_status lock(struct rm_lockedfile *file, uint64_t bound)
{
    struct stat info;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file->kept.fd, F_OFD_SETLK, &all) != 0) {
        return errno == EAGAIN || errno == EACCES
                   ? rm_error(RESMON_EBUSY, "another process is using %s", file->path)
                   : rm_error_errno(errno, "cannot lock %s", file->path);
    }
    if (fstat(file->kept.fd, &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", file->path);
    }
    if (!S_ISREG(info.st_mode) || info.st_size <= 0 || (uint64_t)info.st_size > bound) {
        return rm_error(RESMON_EFORMAT, "%s is not a regular file of 1 to %llu bytes", file->path,
                        (unsigned long long)bound);
    }
    if (info.st_nlink == 0) {
        return rm_error(RESMON_ENOENT, "%s was removed by the process that was using it",
                        file->path);
    }
    file->bytes = (uint64_t)info.st_size;
    file->owner = info.st_uid;
    return RESMON_OK;
}

resmon_status rm_lockedfile_open(struct rm_lockedfile *file, const char *path, uint64_t bound)
{
    *file = (struct rm_lockedfile){.path = path};
    int fd = RM_FAULT(RM_FAULT_OPEN)
                 ? (errno = EMFILE, -1)
                 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return errno == ELOOP
                   ? rm_error(RESMON_EFORMAT, "%s is a symbolic link, which is not followed", path)
                   : rm_error_errno(errno, "cannot open %s", path);
    }
    rm_kept_take(&file->kept, fd);
    resmon_status status = lock(file, bound);
    if (status != RESMON_OK) {
        rm_lockedfile_close(file);
    }
    return status;
}

resmon_status rm_lockedfile_read(const struct rm_lockedfile *file, char *bytes)
{
    const struct rm_infile same = {.kept = file->kept, .path = file->path, .bytes = file->bytes};
    return rm_infile_read(&same, 0, bytes, file->bytes);
}

resmon_status rm_lockedfile_put(const struct rm_lockedfile *file, uint64_t offset, char byte)
{
    if (!rm_kept_is_ours(&file->kept)) {
        return rm_error(RESMON_EIO, "the program closed %s while it was in use", file->path);
    }
    ssize_t done = RM_FAULT(RM_FAULT_WRITE) ? (errno = EIO, -1)
                                            : pwrite(file->kept.fd, &byte, 1, (off_t)offset);
    rm_own_io_note_write(done);
    if (done != 1 || fdatasync(file->kept.fd) != 0) {
        return rm_error_errno(errno, "cannot write to %s", file->path);
    }
    return RESMON_OK;
}

resmon_status rm_lockedfile_remove(const struct rm_lockedfile *file)
{
    return unlink(file->path) == 0 ? RESMON_OK
                                   : rm_error_errno(errno, "cannot remove %s", file->path);
}

void rm_lockedfile_close(struct rm_lockedfile *file)
{
    rm_kept_close(&file->kept); /* and gives the lock back */
}
