/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "os/memory_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/file.h"
#include "os/identity.h"
#include "os/memory_room.h"

const char *rm_memory_directory = "/dev/shm";

#ifdef RM_FAULT_INJECTION
/* Tests that run beside each other do not fold each other's recordings.  Before a monitor that the
 * environment starts. */
__attribute__((constructor(101))) static void take_directory_of_test(void)
{
    const char *directory = secure_getenv("RESMON_TEST_MEMORY");
    rm_memory_directory = directory != NULL ? directory : rm_memory_directory;
}
#endif

#define PREFIX    "resmon-"
#define MOST_LIST 4096
#define TRIES     16

/* ---- names ---------------------------------------------------------------------------------- */

/* What a name says, in this order: whose it is; whether the lock is enough to know of its writer
 * (1), else os/identity of that. */
enum { USER, IS_LOCK_SAFE, BOOT, NAMESPACE, PROCESS, START, IMAGE, SERIAL, PARTS };

static void make_name(char name[RM_MEMORY_NAME_BYTES])
{
    static unsigned serial;
    const struct rm_identity self = rm_identity_self();
    (void)snprintf(
        name, RM_MEMORY_NAME_BYTES,
        PREFIX "%" PRIx64 "-%x-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%x",
        (uint64_t)geteuid(), rm_kept_is_isolated() ? 1U : 0U, self.boot_hash, self.pid_namespace,
        self.pid, self.start_ticks, self.image, RM_FETCH_ADD(&serial, 1) + 1);
}

static bool parse_name(const char *name, uint64_t parts[PARTS])
{
    struct rm_text text = rm_text_of(name, strlen(name));
    if (!rm_parse_literal(&text, PREFIX)) {
        return false;
    }
    for (int i = 0; i < PARTS; i++) {
        if (!rm_parse_hex(&text, &parts[i]) || (i + 1 < PARTS && !rm_parse_literal(&text, "-"))) {
            return false;
        }
    }
    return text.at == text.end;
}

static bool set_path(char path[2 * RM_MEMORY_NAME_BYTES], const char *name)
{
    uint64_t parts[PARTS];
    int length = snprintf(path, 2 * RM_MEMORY_NAME_BYTES, "%s/%s", rm_memory_directory, name);
    return parse_name(name, parts) && length > 0 && length < 2 * RM_MEMORY_NAME_BYTES;
}

static bool set_name(struct rm_memory_file *file, const char *name)
{
    size_t length = strlen(name);
    if (length >= sizeof file->name || !set_path(file->path, name)) {
        return false;
    }
    memmove(file->name, name, length + 1);
    return true;
}

/* ---- locks ---------------------------------------------------------------------------------- */

enum { WRITER, HEIR }; /* bytes */

static bool lock(const struct rm_kept *kept, int byte)
{
    struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return rm_kept_is_ours(kept) && fcntl(rm_kept_fd(kept), F_OFD_SETLK, &one) == 0;
}

static bool is_locked(const struct rm_kept *kept, int byte)
{
    struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return rm_kept_is_ours(kept) && fcntl(rm_kept_fd(kept), F_OFD_GETLK, &one) == 0 &&
           one.l_type != F_UNLCK;
}

/* ---- making --------------------------------------------------------------------------------- */

/* Such pages cannot be written back and taken away, as those of a file: where a limit is near, they
 * are what something is killed for. */
static resmon_status check_room(uint64_t bytes)
{
    struct rm_memory_room room;
    const struct rm_file_system system = rm_file_system_of(rm_memory_directory);
    if (!system.is_memory) {
        return rm_error(RESMON_ENOTSUP, "%s is not in memory (it is %s)", rm_memory_directory,
                        system.name);
    }
    rm_memory_room_look(NULL, &room);
    return room.bytes / 4 >= bytes
               ? RESMON_OK
               : rm_error(RESMON_ENOTSUP,
                          "%llu bytes are more than a quarter of the %llu that are left of %s",
                          (unsigned long long)bytes, (unsigned long long)room.bytes, room.limit);
}

static resmon_status fill(struct rm_memory_file *file, uint64_t bytes,
                          struct rm_mapping *ret_mapping)
{
    if (rm_mapping_of(ret_mapping, &file->content.kept, bytes) != 0) {
        return rm_error(RESMON_ENOTSUP, "cannot reserve %llu bytes in %s",
                        (unsigned long long)bytes, rm_memory_directory);
    }
    file->content.bytes = bytes;
    return RESMON_OK;
}

/* Once more: what is mapped stays open, and a child of the program has it mapped as well.  The lock
 * must end with this process. */
static bool open_for_lock(struct rm_memory_file *file)
{
    const dev_t device = file->content.kept.device;
    const ino_t inode = file->content.kept.inode;
    rm_kept_close(&file->content.kept);
    return rm_kept_open(&file->content.kept, file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK) &&
           file->content.kept.device == device && file->content.kept.inode == inode &&
           lock(&file->content.kept, WRITER);
}

static resmon_status create(struct rm_memory_file *file, uint64_t bytes,
                            struct rm_mapping *ret_mapping)
{
    if (!rm_kept_open(&file->content.kept, file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)) {
        return errno == EEXIST
                   ? RESMON_EBUSY
                   : rm_error(RESMON_ENOTSUP, "cannot create %s (errno %d)", file->path, errno);
    }
    resmon_status status = fill(file, bytes, ret_mapping);
    if (status == RESMON_OK && !open_for_lock(file)) {
        rm_mapping_free(ret_mapping);
        status = rm_error(RESMON_ENOTSUP, "cannot lock %s", file->path);
    }
    if (status != RESMON_OK) {
        (void)unlink(file->path);
        rm_memory_file_close(file);
    }
    return status;
}

resmon_status rm_memory_file_make(struct rm_memory_file *file, uint64_t bytes,
                                  struct rm_mapping *ret_mapping)
{
    char name[RM_MEMORY_NAME_BYTES];
    *file = (struct rm_memory_file){.content = {.path = file->path}};
    resmon_status status = check_room(bytes);
    if (status != RESMON_OK) {
        return status;
    }
    status = RESMON_EBUSY;
    for (int i = 0; i < TRIES && status == RESMON_EBUSY; i++) {
        make_name(name); /* one that is there is of a process that had this one's numbers */
        if (!set_name(file, name)) {
            return rm_error(RESMON_ENOTSUP, "the path %s is too long", rm_memory_directory);
        }
        status = create(file, bytes, ret_mapping);
    }
    return status != RESMON_EBUSY ? status
                                  : rm_error(RESMON_ENOTSUP, "%s already exists", file->path);
}

resmon_status rm_memory_file_revive(struct rm_memory_file *file)
{
    const uint64_t bytes = file->content.bytes;
    if (rm_kept_is_ours(&file->content.kept)) {
        return RESMON_OK;
    }
    char name[RM_MEMORY_NAME_BYTES];
    memcpy(name, file->name, sizeof name);
    resmon_status status = rm_memory_file_open(file, name, geteuid(), bytes);
    if (status == RESMON_OK &&
        (file->content.bytes != bytes || !lock(&file->content.kept, WRITER))) {
        rm_memory_file_close(file);
        status = rm_error(RESMON_EIO, "%s was replaced by another file", file->path);
    }
    file->content.bytes = bytes;
    return status;
}

void rm_memory_file_touch(const struct rm_memory_file *file)
{
    if (rm_kept_is_ours(&file->content.kept)) {
        (void)futimens(rm_kept_fd(&file->content.kept), NULL);
    }
}

/* ---- what is there -------------------------------------------------------------------------- */

static resmon_status check_owner(const struct rm_memory_file *file, uid_t owner)
{
    struct stat info;
    return fstat(rm_kept_fd(&file->content.kept), &info) == 0 && S_ISREG(info.st_mode) &&
                   info.st_uid == owner && info.st_nlink == 1
               ? RESMON_OK
               : rm_error(RESMON_EACCES, "%s belongs to another user", file->path);
}

resmon_status rm_memory_file_open(struct rm_memory_file *file, const char *name, uid_t owner,
                                  uint64_t bound)
{
    struct stat info;
    *file = (struct rm_memory_file){.content = {.path = file->path}};
    if (!set_name(file, name)) {
        return rm_error(RESMON_EFORMAT, "'%s' is not the name of a memory file", name);
    }
    if (lstat(file->path, &info) != 0) {
        return rm_error_errno(errno, "cannot open %s", file->path);
    }
    if (!S_ISREG(info.st_mode)) {
        return rm_error(RESMON_EACCES, "%s is not a regular file", file->path);
    }
    if ((uint64_t)info.st_size > bound) {
        return rm_error(RESMON_EFORMAT, "%s has more than %llu bytes", file->path,
                        (unsigned long long)bound);
    }
    /* For writing: only so can it be locked. */
    if (!rm_kept_open(&file->content.kept, file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)) {
        return rm_error_errno(errno, "cannot open %s", file->path);
    }
    file->content.bytes = (uint64_t)info.st_size;
    resmon_status status = check_owner(file, owner);
    if (status != RESMON_OK) {
        rm_memory_file_close(file);
    }
    return status;
}

void rm_memory_file_close(struct rm_memory_file *file)
{
    rm_infile_close(&file->content);
}

/* Of the maker, by the name, which was looked at when it was opened. */
static struct rm_identity maker_of(const struct rm_memory_file *file, bool *ret_is_lock_safe)
{
    uint64_t parts[PARTS] = {0};
    (void)parse_name(file->name, parts);
    *ret_is_lock_safe = parts[IS_LOCK_SAFE] == 1;
    return (struct rm_identity){.pid = parts[PROCESS],
                                .start_ticks = parts[START],
                                .boot_hash = parts[BOOT],
                                .image = parts[IMAGE],
                                .pid_namespace = parts[NAMESPACE]};
}

bool rm_memory_file_is_written(const struct rm_memory_file *file)
{
    bool is_lock_safe;
    const struct rm_identity maker = maker_of(file, &is_lock_safe);
    return is_locked(&file->content.kept, WRITER) ||
           (!is_lock_safe && rm_identity_is_alive(&maker));
}

bool rm_memory_file_seize(const struct rm_memory_file *file)
{
    struct stat info;
    bool is_lock_safe;
    const struct rm_identity maker = maker_of(file, &is_lock_safe);
    return lock(&file->content.kept, HEIR) && !is_locked(&file->content.kept, WRITER) &&
           (is_lock_safe || rm_identity_is_gone(&maker)) &&
           fstat(rm_kept_fd(&file->content.kept), &info) == 0 && info.st_nlink == 1;
}

double rm_memory_file_age(const struct rm_memory_file *file)
{
    struct stat info;
    struct timespec now;
    if (!rm_kept_is_ours(&file->content.kept) ||
        fstat(rm_kept_fd(&file->content.kept), &info) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return 0.0;
    }
    return difftime(now.tv_sec, info.st_mtim.tv_sec);
}

void rm_memory_file_remove(const char *name)
{
    char path[2 * RM_MEMORY_NAME_BYTES];
    if (set_path(path, name)) {
        (void)unlink(path);
    }
}

static bool is_own(int directory, const char *name)
{
    uint64_t parts[PARTS];
    struct stat info;
    return strlen(name) < RM_MEMORY_NAME_BYTES && parse_name(name, parts) &&
           fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
           info.st_uid == geteuid();
}

/* Read to its end before anything is done about any: that may take as long as a disk likes. */
char (*rm_memory_file_list(size_t *ret_count))[RM_MEMORY_NAME_BYTES]
{
    char(*names)[RM_MEMORY_NAME_BYTES] = NULL;
    DIR *directory = opendir(rm_memory_directory);
    *ret_count = 0;
    if (directory == NULL) {
        return NULL;
    }
    for (const struct dirent *entry;
         *ret_count < MOST_LIST && (entry = readdir(directory)) != NULL;) {
        if (!is_own(dirfd(directory), entry->d_name)) {
            continue;
        }
        void *more = rm_realloc(names, *ret_count + 1, sizeof *names);
        if (more == NULL) {
            break;
        }
        names = more;
        memcpy(names[(*ret_count)++], entry->d_name, strlen(entry->d_name) + 1);
    }
    (void)closedir(directory);
    return names;
}
