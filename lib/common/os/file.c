/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_usage.h"

#define SCRATCH_START ((size_t)16 * 1024)

static bool open_root(struct rm_root *root)
{
    int fd = RM_FAULT(RM_FAULT_OPEN) ? (errno = EMFILE, -1)
                                     : open(root->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        rm_kept_take(&root->kept, fd);
    }
    return fd >= 0;
}

resmon_status rm_root_open(struct rm_root *root, const char *path)
{
    *root = (struct rm_root){.path = path != NULL ? path : "/"};
    if (!open_root(root)) {
        return rm_error_errno(errno, "cannot open the file-system root '%s'", root->path);
    }
    root->device = root->kept.device;
    root->inode = root->kept.inode;
    struct stat real;
    root->is_live = stat("/", &real) == 0 && root->kept.device == real.st_dev &&
                    root->kept.inode == real.st_ino;
    return RESMON_OK;
}

void rm_root_close(struct rm_root *root)
{
    rm_kept_close(&root->kept);
}

void rm_root_revive(struct rm_root *root)
{
    if (rm_kept_is_ours(&root->kept)) {
        return;
    }
    /* The same path may by now be another directory: after chroot(), or chdir() for a relative one.
     */
    root->generation++;
    root->kept = (struct rm_kept){0};
    if (open_root(root) && (root->kept.device != root->device || root->kept.inode != root->inode)) {
        rm_kept_close(&root->kept);
    }
}

resmon_status rm_scratch_init(struct rm_scratch *scratch)
{
    scratch->bytes = rm_realloc(NULL, SCRATCH_START, 1); /* nobody reads it before it is written */
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
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_below(const struct rm_root *root, const char *path)
{
    if (RM_FAULT(RM_FAULT_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return openat(rm_kept_fd(&root->kept), path, FILE_FLAGS);
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

static resmon_status open_again(struct rm_file *file)
{
    int fd;
    rm_kept_close(&file->kept);
    resmon_status status = rm_fd_open(file->root, file->path, &fd);
    if (status == RESMON_OK) {
        rm_kept_take(&file->kept, fd);
        file->generation = file->root->generation;
    }
    return status;
}

resmon_status rm_file_open(struct rm_file *file, const struct rm_root *root, const char *path)
{
    *file = (struct rm_file){0};
    size_t length = strlen(path);
    if (length >= sizeof file->path) {
        return rm_error(RESMON_EINVAL, "path longer than %zu bytes: %s", sizeof file->path, path);
    }
    memcpy(file->path, path, length + 1);
    file->root = root;
    resmon_status status = open_again(file);
    if (status != RESMON_OK) {
        file->root = NULL;
    }
    return status;
}

resmon_status rm_file_reopen(struct rm_file *file)
{
    return open_again(file);
}

void rm_file_close(struct rm_file *file)
{
    rm_kept_close(&file->kept);
    file->root = NULL;
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
        rm_own_io_note_read(got);
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

/* That its descriptor is its own, and of the root that there is now. */
static resmon_status make_sure(struct rm_file *file)
{
    if (file->root == NULL) {
        return rm_error(RESMON_ESTATE, "/%s is not open", file->path);
    }
    /* Not after a failure alone: a file of the program may hold a number, too. */
    bool is_old = file->generation != file->root->generation || !rm_kept_is_ours(&file->kept);
    return is_old ? open_again(file) : RESMON_OK;
}

resmon_status rm_file_read_at(struct rm_file *file, uint64_t offset, void *bytes, size_t length)
{
    resmon_status status = make_sure(file);
    if (status != RESMON_OK) {
        return status;
    }
    ssize_t got = read_at(file->kept.fd, bytes, length, (size_t)offset);
    if (got < 0) {
        return rm_error_errno(errno, "cannot read /%s", file->path);
    }
    return (size_t)got == length ? RESMON_OK
                                 : rm_error(RESMON_EFORMAT, "/%s ends too early", file->path);
}

resmon_status rm_file_read(struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text)
{
    resmon_status status = make_sure(file);
    return status == RESMON_OK
               ? read_to_end(file->kept.fd, file->path, scratch, SURELY_THE_END, ret_text)
               : status;
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
    rm_kept_mark(fd);
    status = read_to_end(fd, path, scratch, 1, ret_text);
    rm_kept_drop(fd);
    return status;
}

static bool has_empty_line(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    for (const char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL;) {
        if (++at < end && *at == '\n') {
            return true;
        }
    }
    return false;
}

/* The kernel makes as many records as a read has room for. */
resmon_status rm_file_read_first(const struct rm_root *root, const char *path,
                                 struct rm_scratch *scratch, struct rm_text *ret_text)
{
    enum { PIECE = 512, MOST = 4096 };
    int fd;
    resmon_status status = rm_fd_open(root, path, &fd);
    if (status != RESMON_OK) {
        return status;
    }
    rm_kept_mark(fd);
    size_t length = 0;
    ssize_t got;
    do {
        got = read_at(fd, scratch->bytes + length, PIECE, length);
        status = got < 0 ? rm_error_errno(errno, "cannot read /%s", path) : RESMON_OK;
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0 && length + PIECE <= MOST && !has_empty_line(scratch->bytes, length));
    rm_kept_drop(fd);
    if (status == RESMON_OK) {
        *ret_text = rm_text_of(scratch->bytes, length);
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
    struct stat info;
    return fstatat(rm_kept_fd(&root->kept), path, &info, AT_SYMLINK_NOFOLLOW) == 0;
}
