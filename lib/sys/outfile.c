/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* renameat2 */
#include "sys/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/status.h"
#include "sys/own_io.h"
#include "sys/signal_guard.h"

#define TRIES 64 /* at a name for the temporary file */

static void directory_of(const char *path, char directory[RM_PATH_BYTES])
{
    (void)snprintf(directory, RM_PATH_BYTES, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL) {
        (void)snprintf(directory, RM_PATH_BYTES, ".");
    } else {
        slash[slash == directory ? 1 : 0] = '\0';
    }
}

/* Renaming over a device, a FIFO or a link would destroy it: "json=/dev/null", as root. */
static resmon_status check_target(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode)
               ? rm_error(RESMON_EINVAL, "%s is there and is not a regular file", path)
               : RESMON_OK;
}

resmon_status rm_outfile_settle(const char *given, char path[RM_PATH_BYTES])
{
    char directory[RM_PATH_BYTES];
    size_t length = 0;
    if (given[0] != '/') {
        if (getcwd(path, RM_PATH_BYTES - 1) == NULL) {
            return rm_error_errno(errno, "cannot tell the directory that %s is in", given);
        }
        length = strlen(path);
        path[length++] = '/';
    }
    if (length + strlen(given) >= RM_PATH_BYTES) {
        return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 1);
    }
    memcpy(path + length, given, strlen(given) + 1);
    directory_of(path, directory);
    if (access(directory, W_OK | X_OK) != 0) {
        return rm_error_errno(errno, "cannot write to the directory %s", directory);
    }
    return check_target(path);
}

/* Unique among the threads and processes of a host, but for what was left of one that was killed:
 * in a container, each start has the same pid.  O_EXCL tells. */
static resmon_status create_temporary(struct rm_outfile *file, mode_t mode)
{
    static unsigned serial;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int error = EEXIST;
    for (int i = 0; i < TRIES && error == EEXIST; i++) {
        int length = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.%u.tmp", file->path,
                              (long)getpid(), RM_FETCH_ADD(&serial, 1) + 1);
        if (length < 0 || length >= RM_PATH_BYTES) {
            return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 32);
        }
        file->fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1)
                                           : open(file->temporary, flags, mode != 0 ? mode : 0666);
        if (file->fd >= 0) {
            return RESMON_OK;
        }
        error = errno;
    }
    return rm_error_errno(error, "cannot create %s", file->temporary);
}

resmon_status rm_outfile_open(struct rm_outfile *file, const char *path, mode_t mode)
{
    file->fd = -1;
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    resmon_status status = check_target(path);
    return status == RESMON_OK ? create_temporary(file, mode) : status;
}

resmon_status rm_outfile_write(struct rm_outfile *file, const char *bytes, size_t length)
{
    while (length > 0) {
        struct rm_signal_guard guard;
        rm_signal_guard_begin(&guard);
        ssize_t done =
            RM_FAULT(RM_FAULT_WRITE) ? (errno = ENOSPC, -1) : write(file->fd, bytes, length);
        rm_signal_guard_end(&guard);
        rm_own_io_note_write(done);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return rm_error_errno(errno, "cannot write %s", file->temporary);
        }
        bytes += done;
        length -= (size_t)done;
    }
    return RESMON_OK;
}

/* The rename itself must survive a crash too; a directory that cannot be synced is no failure. */
static void sync_directory(const char *path)
{
    char directory[RM_PATH_BYTES];
    directory_of(path, directory);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
}

/* Without renameat2() (a kernel, a file system), somebody may come in between. */
static int rename_new(const char *from, const char *to)
{
    struct stat info;
    int done = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (done == 0 || (errno != ENOSYS && errno != EINVAL)) {
        return done;
    }
    if (lstat(to, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static resmon_status close_and_rename(struct rm_outfile *file, bool replaces)
{
    int closed = close(file->fd);
    if (RM_FAULT(RM_FAULT_WRITE)) {
        closed = -1;
        errno = EIO;
    }
    file->fd = -1;
    if (closed != 0) {
        resmon_status status = rm_error_errno(errno, "cannot close %s", file->temporary);
        rm_outfile_abandon(file);
        return status;
    }
    int renamed =
        replaces ? rename(file->temporary, file->path) : rename_new(file->temporary, file->path);
    if (renamed != 0) {
        resmon_status status =
            errno == EEXIST
                ? rm_error(RESMON_EBUSY, "%s is there already", file->path)
                : rm_error_errno(errno, "cannot rename %s to %s", file->temporary, file->path);
        rm_outfile_abandon(file);
        return status;
    }
    return RESMON_OK;
}

resmon_status rm_outfile_rename(struct rm_outfile *file)
{
    return close_and_rename(file, true);
}

/* On failure the temporary file is gone. */
static resmon_status sync_file(struct rm_outfile *file)
{
    if (RM_FAULT(RM_FAULT_WRITE) ? (errno = EIO, true) : fsync(file->fd) != 0) {
        resmon_status status = rm_error_errno(errno, "cannot sync %s", file->temporary);
        rm_outfile_abandon(file);
        return status;
    }
    return RESMON_OK;
}

resmon_status rm_outfile_commit_new(struct rm_outfile *file)
{
    resmon_status status = sync_file(file);
    if (status != RESMON_OK) {
        return status;
    }
    if (link(file->temporary, file->path) == 0) {
        rm_outfile_abandon(file); /* the file has its name, and loses the other */
        sync_directory(file->path);
        return RESMON_OK;
    }
    if (errno == EEXIST) {
        return rm_error(RESMON_EBUSY, "%s is there already", file->path);
    }
    return close_and_rename(file, false); /* a file system without links */
}

resmon_status rm_outfile_commit(struct rm_outfile *file)
{
    resmon_status status = sync_file(file);
    if (status != RESMON_OK) {
        return status;
    }
    status = rm_outfile_rename(file);
    if (status == RESMON_OK) {
        sync_directory(file->path);
    }
    return status;
}

void rm_outfile_abandon(struct rm_outfile *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
        file->fd = -1;
    }
    (void)unlink(file->temporary);
}

static resmon_status write_piece(void *file, const char *bytes, size_t length)
{
    return rm_outfile_write(file, bytes, length);
}

struct rm_output rm_outfile_output(struct rm_outfile *file)
{
    return (struct rm_output){write_piece, file};
}

static resmon_status write_all(struct rm_outfile *file, const char *path,
                               resmon_status (*write)(const struct rm_output *, const void *),
                               const void *what)
{
    const struct rm_output output = rm_outfile_output(file);
    resmon_status status = rm_outfile_open(file, path, 0);
    if (status != RESMON_OK) {
        return status;
    }
    status = write(&output, what);
    if (status != RESMON_OK) {
        rm_outfile_abandon(file);
        return status;
    }
    return rm_outfile_commit(file);
}

resmon_status rm_outfile_save(const char *path,
                              resmon_status (*write)(const struct rm_output *, const void *),
                              const void *what)
{
    struct rm_outfile *file = rm_alloc(1, sizeof *file); /* two paths: too big for a stack frame */
    if (file == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory to write %s", path);
    }
    resmon_status status = write_all(file, path, write, what);
    rm_free(file);
    return status;
}
