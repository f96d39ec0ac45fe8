/* SPDX-License-Identifier: MIT */
#include "sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/status.h"
#include "base/text.h"

#define SCRATCH_START ((size_t)16 * 1024)

resmon_status rm_root_open(struct rm_root *root, const char *path)
{
    const char *name = path != NULL ? path : "/";
    int fd = RM_FAULT(RM_FAULT_OPEN) ? -1 : open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open the file-system root '%s'", name);
    }
    struct stat chosen, real;
    bool is_live = fstat(fd, &chosen) == 0 && stat("/", &real) == 0 &&
                   chosen.st_dev == real.st_dev && chosen.st_ino == real.st_ino;
    *root = (struct rm_root){.fd = fd, .is_live = is_live};
    return RESMON_OK;
}

void rm_root_close(struct rm_root *root)
{
    if (root->fd >= 0) {
        (void)close(root->fd);
    }
    root->fd = -1;
}

resmon_status rm_scratch_init(struct rm_scratch *scratch)
{
    scratch->bytes = rm_alloc(SCRATCH_START, 1);
    if (scratch->bytes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a read buffer");
    }
    scratch->capacity = SCRATCH_START;
    return RESMON_OK;
}

void rm_scratch_free(struct rm_scratch *scratch)
{
    rm_free(scratch->bytes);
    *scratch = (struct rm_scratch){0};
}

static resmon_status grow(struct rm_scratch *scratch, const char *path)
{
    if (scratch->capacity >= RM_SCRATCH_BOUND) {
        return rm_error(RESMON_EFORMAT, "/%s is larger than %zu bytes", path, RM_SCRATCH_BOUND);
    }
    char *bytes = rm_realloc(scratch->bytes, scratch->capacity, 2);
    if (bytes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory reading /%s", path);
    }
    scratch->bytes = bytes;
    scratch->capacity *= 2;
    return RESMON_OK;
}

/* Opens without blocking, so that a FIFO planted in a fixture tree cannot hang the sampler. */
static int open_below(const struct rm_root *root, const char *path)
{
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return openat(root->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

resmon_status rm_fd_open(const struct rm_root *root, const char *path, int *ret_fd)
{
    *ret_fd = -1;
    int fd = open_below(root, path);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open /%s", path);
    }
    *ret_fd = fd;
    return RESMON_OK;
}

resmon_status rm_file_open(struct rm_file *file, const struct rm_root *root, const char *path)
{
    file->fd = -1;
    (void)rm_text_set(file->path, sizeof file->path, path);
    if (strlen(path) >= sizeof file->path) {
        return rm_error(RESMON_EINVAL, "path longer than %zu bytes: %s", sizeof file->path, path);
    }
    return rm_fd_open(root, path, &file->fd);
}

void rm_file_close(struct rm_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    file->fd = -1;
}

static ssize_t read_at(int fd, char *bytes, size_t room, size_t offset)
{
    if (RM_FAULT(RM_FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    ssize_t got;
    do {
        got = pread(fd, bytes, room, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got;
}

/*
 * seq_file hands out one buffer (4096 bytes) a read, ending where the next record does not fit.
 * So a read shorter than this is the end of the file, as long as its records are shorter than the
 * rest of the buffer: true of every file that is re-read.  Saves one system call a file.
 */
#define SURELY_THE_END 2048

static resmon_status read_to_end(int fd, const char *path, struct rm_scratch *scratch,
                                 size_t shortest_middle, struct rm_text *ret_text)
{
    size_t length = 0;
    for (;;) {
        ssize_t got = read_at(fd, scratch->bytes + length, scratch->capacity - length, length);
        if (got < 0) {
            return rm_error_errno(errno, "cannot read /%s", path);
        }
        length += (size_t)got;
        if ((size_t)got < shortest_middle) {
            break;
        }
        if (length == scratch->capacity) {
            resmon_status status = grow(scratch, path);
            if (status != RESMON_OK) {
                return status;
            }
        }
    }
    if (length == 0) {
        return rm_error(RESMON_EFORMAT, "/%s is empty", path);
    }
    *ret_text = rm_text_of(scratch->bytes, length);
    return RESMON_OK;
}

resmon_status rm_file_read(const struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text)
{
    if (file->fd < 0) {
        return rm_error(RESMON_ESTATE, "/%s is not open", file->path);
    }
    return read_to_end(file->fd, file->path, scratch, SURELY_THE_END, ret_text);
}

resmon_status rm_fd_read(int fd, const char *path, struct rm_scratch *scratch,
                         struct rm_text *ret_text)
{
    return read_to_end(fd, path, scratch, SURELY_THE_END, ret_text);
}

resmon_status rm_file_read_once(const struct rm_root *root, const char *path,
                                struct rm_scratch *scratch, struct rm_text *ret_text)
{
    int fd;
    resmon_status status = rm_fd_open(root, path, &fd);
    if (status != RESMON_OK) {
        return status;
    }
    status = read_to_end(fd, path, scratch, 1, ret_text);
    (void)close(fd);
    return status;
}

resmon_status rm_file_read_head(const struct rm_root *root, const char *path,
                                struct rm_scratch *scratch, struct rm_text *ret_text)
{
    int fd;
    resmon_status status = rm_fd_open(root, path, &fd);
    if (status != RESMON_OK) {
        return status;
    }
    ssize_t got = read_at(fd, scratch->bytes, 4096, 0);
    status = got < 0 ? rm_error_errno(errno, "cannot read /%s", path) : RESMON_OK;
    (void)close(fd);
    if (status == RESMON_OK) {
        *ret_text = rm_text_of(scratch->bytes, (size_t)got);
    }
    return status;
}

resmon_status rm_file_read_u64(const struct rm_root *root, const char *path,
                               struct rm_scratch *scratch, uint64_t *ret_value)
{
    struct rm_text text;
    resmon_status status = rm_file_read_once(root, path, scratch, &text);
    if (status != RESMON_OK) {
        return status;
    }
    if (rm_parse_literal(&text, "max")) {
        *ret_value = UINT64_MAX;
        return RESMON_OK;
    }
    if (!rm_parse_u64(&text, ret_value)) {
        return rm_error(RESMON_EFORMAT, "/%s does not hold a number", path);
    }
    return RESMON_OK;
}

bool rm_file_exists(const struct rm_root *root, const char *path)
{
    return faccessat(root->fd, path, F_OK, 0) == 0;
}
