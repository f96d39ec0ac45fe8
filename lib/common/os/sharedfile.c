/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "os/sharedfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fault.h"
#include "base/status.h"
#include "os/kept.h"
#include "os/outfile.h"
#include "os/own_usage.h"
#include "os/signal_guard.h"

#define MOST_FILES    100 /* PATH, PATH.1 ... */
#define LOCK_TRIES    500
#define LOCK_PAUSE_NS 10000000

/* Others hold it for as long as one line takes.  A file system without locks has none. */
static resmon_status lock(int fd, const char *path)
{
    const struct timespec pause = {0, LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_OFD_SETLK, &all) == 0 || (errno != EAGAIN && errno != EACCES)) {
            return RESMON_OK;
        }
        (void)nanosleep(&pause, NULL);
    }
    return rm_error(RESMON_EBUSY, "another process has locked %s", path);
}

/* Whether the file begins with the heading, or is empty; its lines may end in "\r\n". */
static resmon_status fits(int fd, const char *path, const char *heading, off_t bytes,
                          bool *ret_fits)
{
    char found[1024];
    size_t length = strlen(heading) - 1; /* without its '\n' */
    *ret_fits = true;
    if (bytes == 0 || length + 1 > sizeof found) {
        return RESMON_OK;
    }
    ssize_t got = RM_FAULT(RM_FAULT_READ) ? (errno = EIO, -1) : pread(fd, found, length + 1, 0);
    rm_own_io_note_read(got);
    if (got < 0) {
        return rm_error_errno(errno, "cannot read %s", path);
    }
    bool is_ended = (size_t)got == length || found[length] == '\n' || found[length] == '\r';
    *ret_fits = (size_t)got >= length && memcmp(found, heading, length) == 0 && is_ended;
    return RESMON_OK;
}

/* Goes on at *at. */
static resmon_status write_text(const struct rm_kept *file, const char *path, const char *text,
                                off_t *at)
{
    size_t left = strlen(text);
    while (left > 0) {
        if (!rm_kept_is_ours(file)) {
            return rm_error(RESMON_EIO, "the program closed %s while it was written", path);
        }
        struct rm_signal_guard guard;
        rm_signal_guard_begin(&guard);
        ssize_t done =
            RM_FAULT(RM_FAULT_WRITE) ? (errno = ENOSPC, -1) : pwrite(file->fd, text, left, *at);
        int error = done < 0 ? errno : EIO;
        rm_signal_guard_end(&guard);
        rm_own_io_note_write(done);
        if (done < 0 && error == EINTR) {
            continue;
        }
        if (done <= 0) {
            return rm_error_errno(error, "cannot write to %s", path);
        }
        text += done;
        *at += done;
        left -= (size_t)done;
    }
    return RESMON_OK;
}

/* What a killed process left of a line gets its end. */
static bool lacks_end(int fd, off_t bytes)
{
    char last = '\n';
    return bytes > 0 && pread(fd, &last, 1, bytes - 1) == 1 && last != '\n';
}

static resmon_status append(const struct rm_kept *file, const char *path, const char *heading,
                            const char *line, bool *ret_fits)
{
    struct stat info;
    const int fd = file->fd;
    resmon_status status = lock(fd, path);
    if (status != RESMON_OK) {
        return status;
    }
    if (fstat(fd, &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rm_error(RESMON_EINVAL, "%s exists and is not a regular file", path);
    }
    status = fits(fd, path, heading, info.st_size, ret_fits);
    if (status != RESMON_OK || !*ret_fits) {
        return status;
    }
    const char *const texts[] = {info.st_size == 0 ? heading : "",
                                 lacks_end(fd, info.st_size) ? "\n" : "", line};
    off_t at = info.st_size;
    for (size_t i = 0; i < RM_ARRAY_LEN(texts) && status == RESMON_OK; i++) {
        status = write_text(file, path, texts[i], &at);
    }
    if (status == RESMON_OK && fsync(fd) != 0 && errno != EINVAL) {
        status = rm_error_errno(errno, "cannot sync %s", path);
    }
    if (status != RESMON_OK && rm_kept_is_ours(file)) {
        int unused = ftruncate(fd, info.st_size); /* all of it, or the file is as it was */
        (void)unused;
    }
    return status;
}

resmon_status rm_sharedfile_append(const char *path, const char *heading, const char *line)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    for (int number = 0; number < MOST_FILES; number++) {
        char name[RM_PATH_BYTES];
        bool is_fit = false;
        int length = number == 0 ? snprintf(name, sizeof name, "%s", path)
                                 : snprintf(name, sizeof name, "%s.%d", path, number);
        if (length < 0 || (size_t)length >= sizeof name) {
            return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 1);
        }
        int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1) : open(name, flags, 0666);
        if (fd < 0) {
            bool is_other = errno == ELOOP || errno == ENXIO || errno == EISDIR;
            return is_other ? rm_error(RESMON_EINVAL, "%s exists and is not a regular file", name)
                            : rm_error_errno(errno, "cannot open %s", name);
        }
        struct rm_kept file;
        rm_kept_take(&file, fd);
        resmon_status status = append(&file, name, heading, line, &is_fit);
        rm_kept_close(&file); /* and gives the lock back */
        if (status != RESMON_OK || is_fit) {
            return status;
        }
    }
    return rm_error(RESMON_EBUSY, "%s and %d numbered files beside it have other column headings",
                    path, MOST_FILES - 1);
}
