/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SEEK_DATA, DT_DIR */
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/libc.h"
#include "base/status.h"
#include "base/text.h"
#include "os/own_io.h"

/* ---- the root ---------------------------------------------------------------------------- */

static bool open_root(struct rm_root *root)
{
    int fd = rm_open_at(AT_FDCWD, root->path, O_RDONLY | O_DIRECTORY, 0);
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

/* ---- files below the root ---------------------------------------------------------------- */

#define SCRATCH_START ((size_t)16 * 1024)

resmon_status rm_scratch_init(struct rm_scratch *scratch)
{
    scratch->bytes = rm_realloc(NULL, SCRATCH_START, 1); /* written before it is read */
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

/* Without blocking, so that a FIFO planted in a fixture tree cannot hang the sampler. */
#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

static int open_below(const struct rm_root *root, const char *path)
{
    return rm_open_at(rm_kept_fd(&root->kept), path, FILE_FLAGS, 0);
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

static ssize_t read_counted(int fd, void *bytes, size_t capacity, uint64_t offset)
{
    ssize_t got;
    do {
        got = pread(fd, bytes, capacity, (off_t)offset);
        rm_own_io_note_read(got);
    } while (got < 0 && errno == EINTR);
    return got;
}

ssize_t rm_fd_read_at(int fd, void *bytes, size_t capacity, uint64_t offset)
{
    if (RM_FAULT(RM_FAULT_READ)) {
        errno = EIO;
        return -1;
    }
    return read_counted(fd, bytes, capacity, offset);
}

/*
 * The kernel's seq_file returns one buffer (4096 bytes) per read, which ends where the next record
 * does not fit.  So a read shorter than this is the end of the file, as long as records are shorter
 * than the rest of the buffer: true of every file that is read repeatedly.  Saves one system call
 * per file.
 */
#define SURELY_THE_END 2048

static resmon_status read_to_end(int fd, const char *path, struct rm_scratch *scratch,
                                 size_t shortest_middle, struct rm_text *ret_text)
{
    size_t length = 0;
    for (;;) {
        ssize_t got =
            rm_fd_read_at(fd, scratch->bytes + length, scratch->capacity - length, length);
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

/* Opens the file again unless its descriptor is still ours, and below the present root. */
static resmon_status ensure_open(struct rm_file *file)
{
    if (file->root == NULL) {
        return rm_error(RESMON_ESTATE, "/%s is not open", file->path);
    }
    /* Before each read, not only after a failed one: a file of the program may have the number, and
     * contain a number, too. */
    bool is_old = file->generation != file->root->generation || !rm_kept_is_ours(&file->kept);
    return is_old ? open_again(file) : RESMON_OK;
}

resmon_status rm_file_read_at(struct rm_file *file, uint64_t offset, void *bytes, size_t length)
{
    resmon_status status = ensure_open(file);
    if (status != RESMON_OK) {
        return status;
    }
    ssize_t got = rm_fd_read_at(file->kept.fd, bytes, length, offset);
    if (got < 0) {
        return rm_error_errno(errno, "cannot read /%s", file->path);
    }
    return (size_t)got == length ? RESMON_OK
                                 : rm_error(RESMON_EFORMAT, "/%s ends too early", file->path);
}

resmon_status rm_file_read(struct rm_file *file, struct rm_scratch *scratch,
                           struct rm_text *ret_text)
{
    resmon_status status = ensure_open(file);
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

/* Reads small pieces: the kernel generates as many records as the buffer of a read can hold. */
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
        got = rm_fd_read_at(fd, scratch->bytes + length, PIECE, length);
        status = got < 0 ? rm_error_errno(errno, "cannot read /%s", path) : RESMON_OK;
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0 && length + PIECE <= MOST && !has_empty_line(scratch->bytes, length));
    rm_kept_drop(fd);
    if (status == RESMON_OK) {
        *ret_text = rm_text_of(scratch->bytes, length);
    }
    return status;
}

/* Without fault injection of tests: the callers can continue without the file. */
struct rm_text rm_file_read_short(const struct rm_root *root, const char *path, char *bytes,
                                  size_t capacity)
{
    const int directory = root != NULL ? rm_kept_fd(&root->kept) : AT_FDCWD;
    int fd = openat(directory, path, FILE_FLAGS | O_CLOEXEC);
    ssize_t got = 0;
    if (fd >= 0) {
        rm_kept_mark(fd);
        got = read_counted(fd, bytes, capacity, 0);
        rm_kept_drop(fd);
    }
    return rm_text_of(bytes, got > 0 ? (size_t)got : 0);
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

static resmon_status check_device(const struct rm_root *root, const char *path)
{
    return faccessat(rm_kept_fd(&root->kept), path, R_OK | W_OK, AT_EACCESS) == 0
               ? RESMON_OK
               : rm_error_errno(errno, "cannot open the device /%s", path);
}

resmon_status rm_access_read(const struct rm_root *root, const char *path)
{
    struct stat facts;
    int fd;
    if (fstatat(rm_kept_fd(&root->kept), path, &facts, 0) == 0 &&
        (S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))) {
        return check_device(root, path);
    }
    resmon_status status = rm_fd_open(root, path, &fd);
    if (status == RESMON_OK) {
        (void)close(fd);
    }
    return status;
}

bool rm_access_is_of_group(const struct rm_root *root, const char *path)
{
    struct stat facts;
    return fstatat(rm_kept_fd(&root->kept), path, &facts, 0) == 0 && facts.st_gid != 0 &&
           (facts.st_mode & S_IRGRP) != 0;
}

/* ---- directories below the root ---------------------------------------------------------- */

static bool is_self_or_parent(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Returns 0 at the end, 1 when `visit` ended it, -1 with errno on failure. */
static int visit_entries(int fd, bool wants_all, rm_dir_visit_fn visit, void *context)
{
    _Alignas(struct rm_directory_entry) char bytes[4096];
    for (;;) {
        ssize_t got = rm_directory_read(fd, bytes, sizeof bytes);
        if (got <= 0) {
            return (int)got;
        }
        for (ssize_t at = 0; at < got;) {
            const struct rm_directory_entry *entry = (const void *)(bytes + at);
            bool is_wanted =
                (wants_all || entry->type == DT_DIR) && !is_self_or_parent(entry->name);
            if (is_wanted && !visit(context, entry->name)) {
                return 1;
            }
            at += entry->bytes;
        }
    }
}

static resmon_status visit_dir(const struct rm_root *root, const char *path, bool wants_all,
                               rm_dir_visit_fn visit, void *context)
{
    int fd = rm_open_at(rm_kept_fd(&root->kept), path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        return rm_error_errno(errno, "cannot open /%s", path);
    }
    rm_kept_mark(fd);
    int result = visit_entries(fd, wants_all, visit, context);
    int error = errno;
    rm_kept_drop(fd);
    return result < 0 ? rm_error_errno(error, "cannot list /%s", path) : RESMON_OK;
}

resmon_status rm_dir_visit(const struct rm_root *root, const char *path, rm_dir_visit_fn visit,
                           void *context)
{
    return visit_dir(root, path, true, visit, context);
}

resmon_status rm_dir_visit_below(const struct rm_root *root, const char *path,
                                 rm_dir_visit_fn visit, void *context)
{
    return visit_dir(root, path, false, visit, context);
}

static bool count_entry(void *context, const char *name)
{
    *(uint64_t *)context += name[0] >= '0' && name[0] <= '9' ? 1 : 0;
    return true;
}

bool rm_fd_count_kept(const struct rm_kept *directory, uint64_t *ret_count)
{
    struct stat info;
    bool is_known = fstat(rm_kept_fd(directory), &info) == 0 && info.st_size > 0;
    *ret_count = is_known ? (uint64_t)info.st_size : 0;
    return is_known;
}

resmon_status rm_fd_count(const struct rm_root *root, const char *proc_dir, uint64_t *ret_count)
{
    char path[RM_FILE_PATH_BYTES];
    struct stat info;
    uint64_t count = 0;
    (void)snprintf(path, sizeof path, "%s/fd", proc_dir);
    if (root->is_live && fstatat(rm_kept_fd(&root->kept), path, &info, 0) == 0 &&
        info.st_size > 0) {
        *ret_count = (uint64_t)info.st_size;
        return RESMON_OK;
    }
    resmon_status status = rm_dir_visit(root, path, count_entry, &count);
    if (status == RESMON_OK) {
        *ret_count = count;
    }
    return status;
}

/* ---- files that users name --------------------------------------------------------------- */

static resmon_status check_size(const struct rm_infile *file, uint64_t bound)
{
    return file->bytes <= bound
               ? RESMON_OK
               : rm_error(RESMON_EFORMAT, "%s has %llu bytes, more than %llu", file->path,
                          (unsigned long long)file->bytes, (unsigned long long)bound);
}

static resmon_status check_opened(struct rm_infile *file, uint64_t bound)
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
    if (!rm_kept_open(&file->kept, path, FILE_FLAGS)) {
        return rm_error_errno(errno, "cannot open %s", path);
    }
    resmon_status status = check_opened(file, bound);
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
        ssize_t got = rm_fd_read_at(rm_kept_fd(&file->kept), (char *)bytes + done,
                                    (size_t)(length - done), file->base + offset + done);
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

/* ---- file systems ------------------------------------------------------------------------ */

/* Numbers of the kernel's include/uapi/linux/magic.h, and of file systems outside of it. */
static const struct kind {
    uint32_t number;
    struct rm_file_system system;
} known[] = {
    {0x01021994, {"tmpfs", true, false, false}},     {0x858458f6, {"ramfs", true, false, false}},
    {0x0000ef53, {"ext4", false, false, false}},     {0x58465342, {"xfs", false, false, false}},
    {0x9123683e, {"btrfs", false, false, false}},    {0x2fc12fc1, {"zfs", false, false, false}},
    {0x794c7630, {"overlay", false, false, false}},  {0xf2f52010, {"f2fs", false, false, false}},
    {0x65735546, {"fuse", false, false, true}},      {0x01021997, {"9p", false, false, false}},
    {0x6a656a63, {"virtiofs", false, false, false}}, {0x00006969, {"nfs", false, true, false}},
    {0xff534d42, {"cifs", false, true, false}},      {0xfe534d42, {"smb2", false, true, false}},
    {0x0000517b, {"smb", false, true, false}},       {0x0bd00bd0, {"lustre", false, true, false}},
    {0x47504653, {"gpfs", false, true, false}},      {0x19830326, {"beegfs", false, true, false}},
    {0x00c36400, {"ceph", false, true, false}},      {0x5346414f, {"afs", false, true, false}},
    {0xaad7aaea, {"panfs", false, true, false}},     {0x20030528, {"orangefs", false, true, false}},
};

static struct rm_file_system file_system_of(uint32_t number)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(known); i++) {
        if (known[i].number == number) {
            return known[i].system;
        }
    }
    return (struct rm_file_system){.name = "an unknown file system"};
}

#ifdef RM_FAULT_INJECTION
uint32_t rm_file_system_number;
bool rm_file_system_is_all;
#else
#define rm_file_system_number 0
#define rm_file_system_is_all false
#endif

struct rm_file_system rm_file_system_of(const char *path)
{
    struct statfs info;
    if (statfs(path, &info) != 0) {
        return file_system_of(0);
    }
    const struct rm_file_system system = file_system_of((uint32_t)info.f_type);
    bool is_made = rm_file_system_number != 0 && (rm_file_system_is_all || !system.is_memory);
    return is_made ? file_system_of(rm_file_system_number) : system;
}
