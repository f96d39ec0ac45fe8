/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, mincore, F_OFD_SETLK */
#include "os/mapping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/parse.h"
#include "base/status.h"
#include "os/identity.h"
#include "os/memory_room.h"
#include "os/outfile.h"
#include "os/program.h"

static void *map(int fd, uint64_t bytes)
{
    if (RM_FAULT(RM_FAULT_MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    return mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

resmon_status rm_mapping_anonymous(struct rm_mapping *mapping, uint64_t bytes)
{
    void *memory = map(-1, bytes);
    if (memory == MAP_FAILED) {
        return rm_error_errno(errno, "cannot map %llu bytes of memory", (unsigned long long)bytes);
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return RESMON_OK;
}

/* Every block is allocated now.  (A file system that copies on write may still become full later;
 * none promises more.) */
int rm_mapping_reserve(const struct rm_kept *kept, uint64_t bytes)
{
    struct rm_signal_guard guard;
    rm_signal_guard_begin(&guard);
    int error = RM_FAULT(RM_FAULT_WRITE) ? ENOSPC
                : rm_kept_is_ours(kept)  ? posix_fallocate(rm_kept_fd(kept), 0, (off_t)bytes)
                                         : EBADF;
    rm_signal_guard_end(&guard);
    return error;
}

/* Another thread of the program may close the descriptor, and open a file of its own under the same
 * number: the mapping counts only if the descriptor is still ours afterwards. */
int rm_mapping_of(struct rm_mapping *mapping, const struct rm_kept *kept, uint64_t bytes)
{
    int error = rm_mapping_reserve(kept, bytes);
    if (error != 0) {
        return error;
    }
    void *memory = map(rm_kept_fd(kept), bytes);
    if (memory == MAP_FAILED) {
        return errno;
    }
    if (!rm_kept_is_ours(kept)) {
        (void)munmap(memory, (size_t)bytes);
        return EBADF;
    }
    *mapping = (struct rm_mapping){.memory = memory, .bytes = bytes};
    return 0;
}

static void give_up(struct rm_outfile *file)
{
    rm_outfile_abandon(file);
    rm_free(file);
}

resmon_status rm_mapping_file(struct rm_mapping *mapping, const char *path, uint64_t bytes)
{
    struct rm_outfile *file = rm_alloc(1, sizeof *file);
    if (file == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the recording %s", path);
    }
    resmon_status status = rm_outfile_open(file, path, 0600);
    if (status != RESMON_OK) {
        rm_free(file);
        return status;
    }
    int error = rm_mapping_of(mapping, &file->kept, bytes);
    if (error != 0) {
        give_up(file);
        return rm_error_errno(error, "cannot reserve %llu bytes for the recording %s",
                              (unsigned long long)bytes, path);
    }
    mapping->pending = file;
    return RESMON_OK;
}

resmon_status rm_mapping_publish(struct rm_mapping *mapping)
{
    struct rm_outfile *file = mapping->pending;
    if (file == NULL) {
        return RESMON_OK;
    }
    /* Without a sync: a recording outlives the program, and does not claim to outlive the power. */
    mapping->pending = NULL;
    resmon_status status = rm_outfile_rename(file);
    rm_free(file);
    return status;
}

#define LOOK_PAGES 1024U

uint64_t rm_mapping_resident(const struct rm_mapping *mapping)
{
    unsigned char pages[LOOK_PAGES];
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t resident = 0;
    for (uint64_t at = 0; at < mapping->bytes; at += LOOK_PAGES * page_bytes) {
        uint64_t left = mapping->bytes - at;
        uint64_t length = left < LOOK_PAGES * page_bytes ? left : LOOK_PAGES * page_bytes;
        if (mincore((char *)mapping->memory + at, (size_t)length, pages) != 0) {
            return 0;
        }
        for (uint64_t i = 0; i * page_bytes < length; i++) {
            resident += pages[i] & 1U;
        }
    }
    return resident * page_bytes;
}

void rm_mapping_free(struct rm_mapping *mapping)
{
    if (mapping->pending != NULL) {
        give_up(mapping->pending);
    }
    if (mapping->memory != NULL) {
        (void)munmap(mapping->memory, (size_t)mapping->bytes);
    }
    *mapping = (struct rm_mapping){0};
}

/* ---- memory files ------------------------------------------------------------------------- */

const char *rm_memory_directory = "/dev/shm";

#ifdef RM_FAULT_INJECTION
/* Tests that run beside each other do not fold each other's recordings.  Runs before a monitor that
 * the environment starts. */
__attribute__((constructor(101))) static void take_directory_of_test(void)
{
    const char *directory = secure_getenv("RESMON_TEST_MEMORY");
    rm_memory_directory = directory != NULL ? directory : rm_memory_directory;
}
#endif

#define PREFIX    "resmon-"
#define MOST_LIST 4096
#define TRIES     16

/* ---- names of memory files ---------------------------------------------------------------- */

/* The parts of a name, in this order: the user; whether the lock alone decides that the writer
 * lives (1); the identity of the writer (os/identity), which decides otherwise. */
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

/* ---- locks of memory files ---------------------------------------------------------------- */

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

/* ---- new memory files --------------------------------------------------------------------- */

/* The kernel cannot reclaim such pages, as it does pages of a file on a disk: near a limit, they
 * make it kill a process. */
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

/* Opens the file once more: the mapped open file lives on in children of the program, which have it
 * mapped as well, but the lock must end with this process. */
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
        make_name(name); /* an existing one is of a process that had the same numbers */
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

/* ---- existing memory files ---------------------------------------------------------------- */

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
    /* For writing, without which it cannot be locked. */
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

/* The identity of the writer, from the name, which was checked when the file was opened. */
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

/* Reads the whole directory before any file is handled, which may have to wait for a disk. */
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
