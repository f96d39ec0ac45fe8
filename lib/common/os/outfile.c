/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "os/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "os/file.h"
#include "os/own_io.h"
#include "os/program.h"

/* ---- what all of them do ------------------------------------------------------------------ */

int rm_write_at(const struct rm_kept *kept, const void *bytes, size_t length, int64_t offset)
{
    const char *at = bytes;
    while (length > 0) {
        struct rm_signal_guard guard;
        if (!rm_kept_is_ours(kept)) {
            return EBADF; /* the number may be another file's */
        }
        rm_signal_guard_begin(&guard);
        ssize_t done = RM_FAULT(RM_FAULT_WRITE) ? (errno = ENOSPC, -1)
                       : offset < 0             ? write(kept->fd, at, length)
                                                : pwrite(kept->fd, at, length, (off_t)offset);
        int error = done < 0 ? errno : EIO;
        rm_signal_guard_end(&guard);
        rm_own_io_note_write(done);
        if (done < 0 && error == EINTR) {
            continue;
        }
        if (done <= 0) {
            return error;
        }
        at += done;
        length -= (size_t)done;
        offset += offset < 0 ? 0 : done;
    }
    return 0;
}

/* Writes to storage, and counts the write as the library's own I/O. */
static int write_counted(const struct rm_kept *kept, const void *bytes, size_t length,
                         int64_t offset)
{
    struct rm_own_io_part part;
    rm_own_io_begin(&part);
    int error = rm_write_at(kept, bytes, length, offset);
    rm_own_io_end(&part);
    return error;
}

static resmon_status write_failed(int error, const char *verb, const char *path)
{
    return error == EBADF ? rm_error(RESMON_EIO, "the program closed %s while it was written", path)
                          : rm_error_errno(error, "cannot %s %s", verb, path);
}

static resmon_status not_regular(const char *path)
{
    return rm_error(RESMON_EINVAL, "%s exists and is not a regular file", path);
}

/* Opens an existing or new file under its final name, never through a link.  The check comes after
 * the open, so that the file cannot be replaced in between. */
static resmon_status open_regular(struct rm_kept *kept, const char *path, int flags,
                                  const char *verb)
{
    struct stat info;
    int fd = rm_open_at(AT_FDCWD, path, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0) {
        bool is_other = errno == ELOOP || errno == ENXIO || errno == EISDIR;
        return is_other ? not_regular(path) : rm_error_errno(errno, "cannot %s %s", verb, path);
    }
    rm_kept_take(kept, fd);
    resmon_status status = fstat(rm_kept_fd(kept), &info) != 0
                               ? rm_error_errno(errno, "cannot get the status of %s", path)
                           : S_ISREG(info.st_mode) ? RESMON_OK
                                                   : not_regular(path);
    if (status != RESMON_OK) {
        rm_kept_close(kept);
    }
    return status;
}

/* False: another process has locked the file.  On a file system without locks, always true. */
static bool lock_as(const struct rm_kept *kept, short type)
{
    struct flock all = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(rm_kept_fd(kept), F_OFD_SETLK, &all) == 0 || (errno != EAGAIN && errno != EACCES);
}

/* Removes the bytes that a failed write has left after the first `bytes`. */
static void cut(const struct rm_kept *kept, uint64_t bytes)
{
    if (rm_kept_is_ours(kept)) {
        int unused = ftruncate(kept->fd, (off_t)bytes);
        (void)unused;
    }
}

/* ---- whole files -------------------------------------------------------------------------- */

#define MOST_ASIDE 99

#define TRIES 64 /* attempts to find a free temporary name */

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
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode) ? not_regular(path) : RESMON_OK;
}

resmon_status rm_outfile_settle(const char *given, char path[RM_PATH_BYTES])
{
    char directory[RM_PATH_BYTES];
    size_t length = 0;
    if (given[0] != '/') {
        if (getcwd(path, RM_PATH_BYTES - 1) == NULL) {
            /* Not ENOENT, after which a caller would wait for the file. */
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

/* The name is unique among the threads and processes of a host.  Files of a killed process are the
 * exception: in a container, each start has the same pid.  O_EXCL detects them. */
static resmon_status create_temporary(struct rm_outfile *file, mode_t mode)
{
    static unsigned serial;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
    int error = EEXIST;
    for (int i = 0; i < TRIES && error == EEXIST; i++) {
        int length = snprintf(file->temporary, sizeof file->temporary, "%s.%ld.%u.tmp", file->path,
                              (long)getpid(), RM_FETCH_ADD(&serial, 1) + 1);
        if (length < 0 || length >= RM_PATH_BYTES) {
            return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 32);
        }
        int fd = rm_open_at(AT_FDCWD, file->temporary, flags, mode != 0 ? mode : 0666);
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
    size_t length = strlen(path);
    if (there >= sizeof part || length >= sizeof part) {
        return rm_error(RESMON_EINVAL, "%.200s...: the path is too long", path);
    }
    memcpy(part, path, length + 1); /* any bytes */
    for (char *at = strchr(part + there, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (at != part && mkdir(part, 0777) != 0 && errno != EEXIST) {
            return rm_error_errno(errno, "cannot make the directory %s", part);
        }
        *at = '/';
    }
    return RESMON_OK;
}

resmon_status rm_outfile_write(struct rm_outfile *file, const char *bytes, size_t length)
{
    int error = write_counted(&file->kept, bytes, length, RM_AFTER_LAST_WRITE);
    return error == 0 ? RESMON_OK : write_failed(error, "write", file->temporary);
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

resmon_status rm_outfile_rename(struct rm_outfile *file)
{
    /* All data was written before, even if the program has closed the descriptor. */
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
    bool is_lost = !rm_kept_is_ours(&file->kept); /* another file is not synced */
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

/* On a file system without links, the file is renamed instead. */
static int name_too(const char *path, const char *name)
{
    int done = link(path, name);
    return done == 0 || errno == EEXIST ? done : rm_rename_new(path, name);
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

/* Collects short pieces of the caller into long writes.  On the heap: its two paths are too long
 * for a stack frame. */
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

/* ---- files that are appended to ----------------------------------------------------------- */

/* Locked before it is emptied: another process may be writing it. */
static resmon_status lock_and_empty(const struct rm_kept *kept, const char *path)
{
    if (!lock_as(kept, F_WRLCK)) {
        return rm_error(RESMON_EBUSY,
                        "%s is being written by another process: write %%p in the path so that "
                        "each process has its own",
                        path);
    }
    return ftruncate(rm_kept_fd(kept), 0) == 0 ? RESMON_OK
                                               : rm_error_errno(errno, "cannot empty %s", path);
}

resmon_status rm_appendfile_open(struct rm_appendfile *file, const char *path)
{
    *file = (struct rm_appendfile){0};
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    resmon_status status = open_regular(&file->file, path, O_WRONLY, "create");
    status = status == RESMON_OK ? lock_and_empty(&file->file, path) : status;
    if (status != RESMON_OK) {
        rm_kept_close(&file->file);
    }
    return status;
}

/* Opens and locks the file again after the program has closed it: the lock ended with the
 * descriptor. */
static resmon_status revive(struct rm_appendfile *file)
{
    if (!file->file.is_open ||
        !rm_kept_open(&file->file, file->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)) {
        return rm_error(RESMON_EIO, "%s was closed by the program, and cannot be opened again",
                        file->path);
    }
    file->file.is_quick = false;
    if (!lock_as(&file->file, F_WRLCK)) {
        rm_kept_close(&file->file);
        return rm_error(RESMON_EBUSY, "%s was closed by the program, and another writes it now",
                        file->path);
    }
    return RESMON_OK;
}

resmon_status rm_appendfile_add(struct rm_appendfile *file, const char *bytes, size_t length)
{
    int error = write_counted(&file->file, bytes, length, (int64_t)file->bytes);
    while (error == EBADF && !rm_kept_is_ours(&file->file)) {
        resmon_status status = revive(file);
        if (status != RESMON_OK) {
            return status;
        }
        error = write_counted(&file->file, bytes, length, (int64_t)file->bytes);
    }
    if (error != 0) {
        cut(&file->file, file->bytes); /* removes an incomplete record, also if no record follows */
        return write_failed(error, "write to", file->path);
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
        (void)lock_as(&file->file, F_UNLCK); /* a forked child may have the file open, too */
    }
    rm_kept_close(&file->file);
}

/* ---- files that several processes append to ----------------------------------------------- */

#define MOST_FILES    100 /* PATH, PATH.1 ... */
#define LOCK_TRIES    500
#define LOCK_PAUSE_NS 10000000

/* Other processes hold the lock while they write one line. */
static resmon_status wait_for_lock(const struct rm_kept *kept, const char *path)
{
    const struct timespec pause = {0, LOCK_PAUSE_NS};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (lock_as(kept, F_WRLCK)) {
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
    ssize_t got = rm_fd_read_at(fd, found, length + 1, 0);
    if (got < 0) {
        return rm_error_errno(errno, "cannot read %s", path);
    }
    bool is_ended = (size_t)got == length || found[length] == '\n' || found[length] == '\r';
    *ret_fits = (size_t)got >= length && memcmp(found, heading, length) == 0 && is_ended;
    return RESMON_OK;
}

/* Whether a killed process has left a line without its end. */
static bool lacks_end(int fd, off_t bytes)
{
    char last = '\n';
    return bytes > 0 && pread(fd, &last, 1, bytes - 1) == 1 && last != '\n';
}

/* Writes the line as a whole, or leaves the file unchanged. */
static resmon_status write_line(const struct rm_kept *file, const char *path, const char *heading,
                                const char *line, off_t bytes)
{
    const char *const texts[] = {bytes == 0 ? heading : "", lacks_end(file->fd, bytes) ? "\n" : "",
                                 line};
    off_t at = bytes;
    int error = 0;
    for (size_t i = 0; i < RM_ARRAY_LEN(texts) && error == 0; i++) {
        error = write_counted(file, texts[i], strlen(texts[i]), at);
        at += (off_t)strlen(texts[i]);
    }
    resmon_status status = error == 0 ? RESMON_OK : write_failed(error, "write to", path);
    if (status == RESMON_OK && fsync(file->fd) != 0 && errno != EINVAL) {
        status = rm_error_errno(errno, "cannot sync %s", path);
    }
    if (status != RESMON_OK) {
        cut(file, (uint64_t)bytes);
    }
    return status;
}

static resmon_status append(const struct rm_kept *file, const char *path, const char *heading,
                            const char *line, bool *ret_fits)
{
    struct stat info;
    resmon_status status = wait_for_lock(file, path);
    if (status != RESMON_OK) {
        return status;
    }
    if (fstat(file->fd, &info) != 0) {
        return rm_error_errno(errno, "cannot get the status of %s", path);
    }
    status = fits(file->fd, path, heading, info.st_size, ret_fits);
    return status == RESMON_OK && *ret_fits ? write_line(file, path, heading, line, info.st_size)
                                            : status;
}

resmon_status rm_sharedfile_append(const char *path, const char *heading, const char *line)
{
    for (int number = 0; number < MOST_FILES; number++) {
        char name[RM_PATH_BYTES];
        bool is_fit = false;
        struct rm_kept file = {0};
        int length = number == 0 ? snprintf(name, sizeof name, "%s", path)
                                 : snprintf(name, sizeof name, "%s.%d", path, number);
        if (length < 0 || (size_t)length >= sizeof name) {
            return rm_error(RESMON_EINVAL, "path longer than %d bytes", RM_PATH_BYTES - 1);
        }
        resmon_status status = open_regular(&file, name, O_RDWR, "open");
        if (status == RESMON_OK) {
            status = append(&file, name, heading, line, &is_fit);
            rm_kept_close(&file); /* and unlocks it */
        }
        if (status != RESMON_OK || is_fit) {
            return status;
        }
    }
    return rm_error(RESMON_EBUSY, "%s and %d numbered files beside it have other column headings",
                    path, MOST_FILES - 1);
}
