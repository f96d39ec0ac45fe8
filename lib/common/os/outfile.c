/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* renameat2 */
#include "os/outfile.h"

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
#include "base/text.h"
#include "os/own_usage.h"
#include "os/signal_guard.h"

#define MOST_ASIDE 99

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
    if (path[0] == '\0') {
        return rm_error(RESMON_EINVAL, "the path is empty");
    }
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode)
               ? rm_error(RESMON_EINVAL, "%s exists and is not a regular file", path)
               : RESMON_OK;
}

resmon_status rm_outfile_settle(const char *given, char path[RM_PATH_BYTES])
{
    char directory[RM_PATH_BYTES];
    size_t length = 0;
    if (given[0] != '/') {
        if (getcwd(path, RM_PATH_BYTES - 1) == NULL) {
            /* No ENOENT: what that is of may still come. */
            return rm_error(
                RESMON_EINVAL,
                "the working directory has no path (it was removed, perhaps), and %s is "
                "relative to it: give a path that begins with '/'",
                given);
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

bool rm_outfile_is_same(const char *a, const char *b)
{
    char directory[RM_PATH_BYTES];
    struct stat of_a, of_b;
    const char *name_a = strrchr(a, '/');
    const char *name_b = strrchr(b, '/');
    if (strcmp(a, b) == 0 || name_a == NULL || name_b == NULL || strcmp(name_a, name_b) != 0) {
        return strcmp(a, b) == 0;
    }
    directory_of(a, directory);
    bool is_known = stat(directory, &of_a) == 0;
    directory_of(b, directory);
    is_known = is_known && stat(directory, &of_b) == 0;
    return is_known && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
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
        int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1)
                                         : open(file->temporary, flags, mode != 0 ? mode : 0666);
        if (fd >= 0) {
            rm_kept_take(&file->kept, fd);
            return RESMON_OK;
        }
        error = errno;
    }
    return rm_error_errno(error, "cannot create %s", file->temporary);
}

resmon_status rm_outfile_open(struct rm_outfile *file, const char *path, mode_t mode)
{
    file->kept = (struct rm_kept){0};
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    resmon_status status = check_target(path);
    return status == RESMON_OK ? create_temporary(file, mode) : status;
}

resmon_status rm_outfile_make_directories(const char *path, size_t there)
{
    char part[RM_PATH_BYTES];
    (void)rm_text_set(part, sizeof part, path);
    if (there >= sizeof part || strlen(path) >= sizeof part) {
        return rm_error(RESMON_EINVAL, "%.200s...: the path is too long", path);
    }
    for (char *at = strchr(part + there, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (at != part && mkdir(part, 0777) != 0 && errno != EEXIST) {
            return rm_error_errno(errno, "cannot make the directory %s", part);
        }
        *at = '/';
    }
    return RESMON_OK;
}

/* The number of bytes written, or -1 with errno. */
static ssize_t write_some(const struct rm_outfile *file, const char *bytes, size_t length)
{
    struct rm_signal_guard guard;
    struct rm_own_io_part part;
    ssize_t done = -1;
    rm_own_io_begin(&part);
    rm_signal_guard_begin(&guard);
    if (RM_FAULT(RM_FAULT_WRITE)) {
        errno = ENOSPC;
    } else if (!rm_kept_is_ours(&file->kept)) {
        errno = EBADF; /* the number may be another file's */
    } else {
        done = write(file->kept.fd, bytes, length);
    }
    int error = errno;
    rm_signal_guard_end(&guard);
    rm_own_io_note_write(done);
    rm_own_io_end(&part);
    errno = error;
    return done;
}

resmon_status rm_outfile_write(struct rm_outfile *file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = write_some(file, bytes, length);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0 && errno == EBADF) {
            return rm_error(RESMON_EIO, "the program closed %s while it was written",
                            file->temporary);
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
        rm_kept_mark(fd);
        (void)fsync(fd);
        rm_kept_drop(fd);
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

resmon_status rm_outfile_rename(struct rm_outfile *file)
{
    /* Where the program has closed it, all was written by then. */
    int closed = rm_kept_is_ours(&file->kept) ? close(file->kept.fd) : 0;
    file->kept = (struct rm_kept){0};
    if (RM_FAULT(RM_FAULT_WRITE)) {
        closed = -1;
        errno = EIO;
    }
    if (closed != 0) {
        resmon_status status = rm_error_errno(errno, "cannot close %s", file->temporary);
        rm_outfile_abandon(file);
        return status;
    }
    if (rename(file->temporary, file->path) != 0) {
        resmon_status status =
            rm_error_errno(errno, "cannot rename %s to %s", file->temporary, file->path);
        rm_outfile_abandon(file);
        return status;
    }
    return RESMON_OK;
}

/* On failure the temporary file is gone. */
static resmon_status sync_file(struct rm_outfile *file)
{
    bool is_lost = !rm_kept_is_ours(&file->kept); /* fsync(2) of another would wait for it */
    if (RM_FAULT(RM_FAULT_WRITE) || is_lost ? (errno = EIO, true) : fsync(file->kept.fd) != 0) {
        resmon_status status = rm_error_errno(errno, "cannot sync %s", file->temporary);
        rm_outfile_abandon(file);
        return status;
    }
    return RESMON_OK;
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

/* A file system without links gives it the name instead. */
static int name_too(const char *path, const char *name)
{
    int done = link(path, name);
    return done == 0 || errno == EEXIST ? done : rename_new(path, name);
}

resmon_status rm_outfile_set_aside(const char *path)
{
    char name[RM_PATH_BYTES + 8];
    for (int i = 1; i <= MOST_ASIDE; i++) {
        (void)snprintf(name, sizeof name, "%s.%d", path, i);
        if (name_too(path, name) == 0) {
            return RESMON_OK;
        }
        if (errno != EEXIST) {
            return rm_error_errno(errno, "cannot keep %s as %s", path, name);
        }
    }
    return rm_error(RESMON_EBUSY,
                    "%s and %d numbered files beside it already exist: move or remove them", path,
                    MOST_ASIDE);
}

void rm_outfile_abandon(struct rm_outfile *file)
{
    rm_kept_close(&file->kept);
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

/* A file in long pieces, whatever those of its writer are: the heap has it, for two paths are too
 * long for a stack frame, too. */
struct saving {
    struct rm_outfile file;
    size_t length;
    char piece[64 << 10];
};

static resmon_status flush(struct saving *saving)
{
    size_t length = saving->length;
    saving->length = 0;
    return rm_outfile_write(&saving->file, saving->piece, length);
}

static resmon_status collect_piece(void *context, const char *bytes, size_t length)
{
    struct saving *saving = context;
    resmon_status status = RESMON_OK;
    if (length > sizeof saving->piece - saving->length) {
        status = flush(saving);
    }
    if (status != RESMON_OK || length > sizeof saving->piece) {
        return status != RESMON_OK ? status : rm_outfile_write(&saving->file, bytes, length);
    }
    memcpy(saving->piece + saving->length, bytes, length);
    saving->length += length;
    return RESMON_OK;
}

static resmon_status save(struct saving *saving, const char *path, mode_t mode,
                          resmon_status (*write)(const struct rm_output *, const void *),
                          const void *what)
{
    const struct rm_output output = {collect_piece, saving};
    resmon_status status = rm_outfile_open(&saving->file, path, mode);
    if (status != RESMON_OK) {
        return status;
    }
    status = write(&output, what);
    status = status == RESMON_OK ? flush(saving) : status;
    if (status != RESMON_OK) {
        rm_outfile_abandon(&saving->file);
        return status;
    }
    return rm_outfile_commit(&saving->file);
}

resmon_status rm_outfile_save(const char *path, mode_t mode,
                              resmon_status (*write)(const struct rm_output *, const void *),
                              const void *what)
{
    struct saving *saving = rm_alloc(1, sizeof *saving);
    if (saving == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory to write %s", path);
    }
    resmon_status status = save(saving, path, mode, write, what);
    rm_free(saving);
    return status;
}
